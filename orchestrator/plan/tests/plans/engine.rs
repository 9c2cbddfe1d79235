//! Tests of differences between plans for the kernel engine and for the simulator.

use lab_plan::{Engine, Plan, PlanOptions, Scale};

use crate::common;

fn simulated(text: &str, is_scaled: bool) -> Plan {
    let options = PlanOptions {
        engine: Engine::Sim,
        is_scaled,
        ..PlanOptions::default()
    };
    common::try_plan(text, &options).unwrap()
}

#[test]
fn the_simulator_scales_nothing_by_default() {
    let text = common::scenario_text("8dc.yaml");
    let plan = simulated(&text, false);
    assert_eq!(plan.scale, Scale::PAPER);
    assert!(plan.links.iter().all(|link| link.paper == link.emu));
    for flow in &plan.flows {
        assert_eq!(
            (flow.messages, flow.message_bytes),
            (1, flow.paper_size_bytes)
        );
        assert_eq!(flow.start_ns, flow.paper_start_ns);
    }
}

/// A scaled simulation models SoftRoCE hosts, so messages and ideal FCTs equal the kernel engine's, too.
#[test]
fn the_scaled_simulator_plays_the_kernels_plan() {
    for scenario in ["8dc.yaml", "failover.yaml"] {
        let text = common::scenario_text(scenario);
        let scaled = simulated(&text, true);
        let kernel = common::plan(&text);
        assert_eq!((scaled.scale, &scaled.links), (kernel.scale, &kernel.links));
        assert_eq!(scaled.flows, kernel.flows, "{scenario}");
        assert_eq!(scaled.transport, kernel.transport, "{scenario}");
    }
}

#[test]
fn the_flows_are_the_kernels() {
    let text = common::scenario_text("8dc.yaml");
    let drawn = |plan: &Plan| -> Vec<_> {
        plan.flows
            .iter()
            .take_while(|flow| flow.repetition == 0)
            .map(|flow| {
                (
                    flow.src,
                    flow.dst,
                    flow.paper_size_bytes,
                    flow.paper_start_ns,
                )
            })
            .collect()
    };
    assert_eq!(drawn(&simulated(&text, false)), drawn(&common::plan(&text)));
}

/// Other tests check the formulas for ideal FCTs; this test checks which formula a plan uses.
#[test]
fn ideals_are_the_authors_where_the_semantics_is() {
    let text = common::scenario_text("8dc-fabric.yaml").replace("40 Gbit", "25 Gbit");
    let theirs = simulated(
        &format!("{text}\ntransport: {{ semantics: artifact }}\n"),
        false,
    );
    assert!(
        theirs
            .flows
            .iter()
            .all(|flow| flow.base_rtt_ns.get() == 20_013_000)
    );
    let ours = simulated(&text, false);
    assert!(
        ours.flows
            .iter()
            .all(|flow| flow.base_rtt_ns.get() != 20_013_000)
    );
}

#[test]
fn nothing_of_the_kernel_is_warned_of() {
    let text = common::scenario_text("8dc-fabric.yaml");
    let codes = |plan: &Plan| -> Vec<_> {
        plan.warnings
            .iter()
            .map(|warning| warning.code.clone())
            .collect()
    };
    assert!(codes(&common::plan(&text)).contains(&"perftest-load".to_owned()));
    assert!(
        codes(&simulated(&text, false))
            .iter()
            .all(|code| code == "link-overload")
    );
}

/// `sim --scaled` has as many repetitions as the lab, because `fidelity` compares the simulation with the lab's run
/// flow by flow.
#[test]
fn an_engine_repeats_as_often_as_the_scenario_gives_it() {
    let text = common::scenario_text("smoke.yaml") + "\nrepetitions: { lab: 2, sim: 3 }\n";
    let plans = [
        common::plan(&text),
        simulated(&text, true),
        simulated(&text, false),
    ];
    for (plan, repetitions) in plans.iter().zip([2, 2, 3]) {
        assert_eq!(plan.repetitions, repetitions);
        assert_eq!(plan.flows.last().unwrap().repetition, repetitions - 1);
    }
}

#[test]
fn inputs_are_all_but_what_a_plan_says_of_itself() {
    let text = common::scenario_text("8dc.yaml");
    let plan = common::plan(&text);
    let mut reworded = plan.clone();
    reworded.estimate.forwarding_percent += 1;
    reworded.warnings.clear();
    assert_ne!(plan, reworded);
    assert_eq!(plan.clone().inputs(), reworded.inputs());
    let reseeded = text.replace("\nseed: ", "\nseed: 1");
    assert_ne!(plan.inputs(), common::plan(&reseeded).inputs());
}
