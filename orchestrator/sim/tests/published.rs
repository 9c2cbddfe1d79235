//! Comparison with the authors' published outputs for Figure 1, if these files are present.

use std::{fs, path::Path};

use lab_artifact::{
    Agreement, LinkAgreement, RoutingTable, parse_fct, parse_utilisation,
    published::{self, FLOWS, POLICIES, ROUTES, TOPOLOGY, UTILISATION, beside},
};
use lab_plan::{Engine, Plan, PlanOptions};
use lab_sim::{
    Job, RunOptions,
    replay::{Replay, replay},
    semantics::NextHopOrder,
};
use lab_units::Nanos;

fn read(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join(name)).expect("a published file")
}

fn plan(directory: &Path) -> Plan {
    let flows = read(directory, FLOWS);
    let text = published::scenario(&read(directory, TOPOLOGY), &flows).expect("a scenario");
    let scenario = lab_scenario::parse("figure1.yaml", text.as_bytes()).expect("a scenario");
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    let files = [(FLOWS.to_owned(), flows)];
    let mut plan = lab_plan::resolve(&scenario, &text, &files.into(), &options).expect("a plan");
    // 1 ms is the interval of the artifact's monitor.
    plan.measure.links_ns = Nanos::from_millis(1);
    plan
}

fn replay_all(directory: &Path, plan: &Plan) -> Vec<Replay> {
    let table = RoutingTable::parse(ROUTES, &read(directory, ROUTES)).expect("a table");
    let order = NextHopOrder {
        neighbours: table.in_plan(plan).expect("the plan's nodes"),
    };
    let options = RunOptions {
        threads: 2,
        ..RunOptions::default()
    };
    let policy = |policy| {
        let job = Job {
            order: Some(&order),
            ..Job::new(plan, policy, 0)
        };
        replay(job, &options, &mut |_| {}).expect("a simulation")
    };
    (0..POLICIES.len()).map(policy).collect()
}

/// The relative difference |ΔFCT| / FCT is at most 0.1 % for half of the flows and at most 3 % for 99 % of them. The
/// remaining difference is due to random numbers: the artifact marks packets by a different random sequence. Link
/// utilisations differ by at most 1 %.
#[test]
fn every_policy_agrees_with_the_published_outputs() {
    let Some(directory) = beside(
        env!("CARGO_MANIFEST_DIR"),
        "every_policy_agrees_with_the_published_outputs",
    ) else {
        return;
    };
    let plan = plan(&directory);
    let replays = replay_all(&directory, &plan);
    let (columns, averages) =
        parse_utilisation(UTILISATION, &read(&directory, UTILISATION)).expect("averages");
    let span = replays
        .iter()
        .map(Replay::last_end)
        .max()
        .expect("policies");
    for ((label, output), replay) in POLICIES.into_iter().zip(&replays) {
        let name = published::fct(output);
        let rows = parse_fct(&name, &read(&directory, &name)).expect("an output");
        let flows = Agreement::of(&rows, &replay.flows);
        let all = flows.published;
        assert_eq!(
            (flows.compared, flows.same_standalone),
            (all, all),
            "{label}\n{flows}"
        );
        let [p50, p99] = [50, 99].map(|percent| flows.percentile(percent));
        assert!(p50.is_some_and(|p50| p50 <= 1e-3), "{label}\n{flows}");
        assert!(p99.is_some_and(|p99| p99 <= 0.03), "{label}\n{flows}");
        let column = columns.iter().position(|column| column == output);
        let links = LinkAgreement::of(&averages, column.expect("a column"), |between| {
            replay.utilisation(&plan, between, span)
        });
        assert_eq!(links.len(), 6, "{label}");
        for link in links {
            assert!(link.relative() <= 0.01, "{label}\n{link}");
        }
    }
}
