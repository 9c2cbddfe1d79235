//! Tests of link changes in plans.

use lab_plan::{FaultChange, FaultPlan, PathCostUpdate, Plan, ScoredCandidate};
use lab_units::Nanos;

use crate::common;

fn with_faults(faults: &str) -> String {
    format!("{}\nfaults:\n{faults}", common::testbed_text())
}

#[test]
fn faults_are_scaled_and_in_order_of_time() {
    let plan = common::plan(&with_faults(
        "  - { at: 60 ms, link: [dc6, dc1], up: true }\n  - { at: 30 ms, link: [dc1, dc6], down: true }\n",
    ));
    let faults: Vec<_> = plan
        .faults
        .iter()
        .map(|fault| {
            (
                fault.at_ns,
                plan.links[fault.link.index()].name.as_str(),
                fault.change,
            )
        })
        .collect();
    assert_eq!(
        faults,
        [
            (Nanos::from_millis(300), "dc1-dc6", FaultChange::Down),
            (Nanos::from_millis(600), "dc1-dc6", FaultChange::Up),
        ]
    );
}

/// The scale's time factor is 10. Crashes change neither flows nor candidates.
#[test]
fn crashes_of_agents_are_scaled_and_change_nothing_else() {
    let plan = common::plan(&with_faults(
        "  - { at: 25 ms, agent: dc2, up: true }\n  - { at: 9 ms, agent: dc6, down: true }\n  \
         - { at: 5 ms, agent: dc2, down: true }\n",
    ));
    let crashes: Vec<_> = plan
        .agent_crashes
        .iter()
        .map(|crash| {
            let restart = crash.restart.map(|restart| restart.at_ns);
            (
                plan.dcs[crash.dc.index()].name.as_str(),
                crash.at_ns,
                restart,
            )
        })
        .collect();
    let ms = Nanos::from_millis;
    let expected = [("dc2", ms(50), Some(ms(250))), ("dc6", ms(90), None)];
    assert_eq!(crashes, expected);
    let without = common::plan(&common::testbed_text());
    assert_eq!(plan.flows, without.flows);
    assert_eq!(plan.switches, without.switches);
    assert!(plan.faults.is_empty() && plan.reconvergences.is_empty());
}

#[test]
fn a_change_keeps_those_before_it() {
    let plan = common::plan(&with_faults(
        "  - { at: 20 ms, link: [dc1, dc6], delay: 8 ms }\n  - { at: 10 ms, link: [dc1, dc6], rate: 20 Gbit }\n",
    ));
    let wires: Vec<_> = plan
        .faults
        .iter()
        .map(|fault| match fault.change {
            FaultChange::Wire(wire) => (wire.rate_bps.to_string(), wire.delay_ns.to_string()),
            FaultChange::Down | FaultChange::Up => panic!("{fault:?}"),
        })
        .collect();
    let expected = [("10 Mbit", "50 ms"), ("10 Mbit", "80 ms")];
    assert!(
        wires
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .eq(expected),
        "{wires:?}"
    );
}

/// Returns the datacenters whose switches get updates after a fault.
fn updated_dcs(plan: &Plan, fault: &FaultPlan) -> Vec<String> {
    let switch = |change: &PathCostUpdate| {
        assert_eq!(plan.policies[change.policy].label, "lcmp");
        let node = plan.switches[change.switch].node;
        plan.dcs[plan.nodes[node.index()].dc.index()].name.clone()
    };
    fault.path_cost_updates.iter().map(switch).collect()
}

/// Returns DC1's updated paths to DC8 after a fault: next datacenter and path cost of each.
fn updates_of_dc1(plan: &Plan, fault: &FaultPlan) -> Vec<(String, u8)> {
    let change = fault
        .path_cost_updates
        .iter()
        .find(|change| change.switch == 0 && change.candidates.len() == 6);
    let next = |scored: &ScoredCandidate| {
        let node = plan.ports[scored.candidate.port.peer().index()].node;
        let dc = plan.nodes[node.index()].dc;
        (plan.dcs[dc.index()].name.clone(), scored.c_path)
    };
    change.unwrap().candidates.iter().map(next).collect()
}

fn names(candidates: &[(String, u8)]) -> Vec<&str> {
    candidates.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn another_delay_is_another_score_and_place_and_back_again() {
    let plan = common::plan(&with_faults(
        "  - { at: 10 ms, link: [dc1, dc6], delay: 300 ms }\n  - { at: 20 ms, link: [dc1, dc6], delay: 5 ms }\n",
    ));
    let before = plan.policies[1].path_scores[0][0].clone();
    let [slower, back] = [0, 1].map(|fault| updates_of_dc1(&plan, &plan.faults[fault]));
    let others = ["dc4", "dc2", "dc7", "dc5"];
    assert_eq!(names(&slower), [&others[..], &["dc6", "dc3"]].concat());
    // The path's delay is 305 ms instead of 10 ms; the costs of other paths are unchanged.
    assert!(slower[4].1 > before[0] && slower[4].1 < before[5]);
    let unchanged = slower[..4].iter().chain(&slower[5..]);
    assert!(
        unchanged
            .map(|(_, score)| *score)
            .eq(before[1..].iter().copied())
    );
    assert_eq!(names(&back), [&["dc6"], &others[..], &["dc3"]].concat());
    assert!(back.iter().map(|(_, score)| *score).eq(before));
    // DC8 sends over the same link, so it is updated as well.
    assert!(updated_dcs(&plan, &plan.faults[0]).contains(&"dc8".to_owned()));
}

#[test]
fn less_capacity_far_away_changes_the_score_and_not_the_order() {
    let plan = common::plan(&with_faults(
        "  - { at: 10 ms, link: [dc2, dc8], rate: 20 Gbit }\n",
    ));
    let candidates = updates_of_dc1(&plan, &plan.faults[0]);
    let order = ["dc6", "dc4", "dc2", "dc7", "dc5", "dc3"];
    assert_eq!(names(&candidates), order);
    assert!(candidates[2].1 > plan.policies[1].path_scores[0][0][2]);
}

/// A legacy switch hashes over its kernel routes, which do not change with the order of the candidates.
#[test]
fn a_legacy_switch_gets_no_path_costs() {
    let faults = "  - { at: 10 ms, link: [dc1, dc6], delay: 300 ms }\n";
    let legacy = with_faults(faults).replacen("name: dc1,", "name: dc1, agent: legacy,", 1);
    let plan = common::plan(&legacy);
    assert!(plan.dcs[0].legacy);
    let updated = updated_dcs(&plan, &plan.faults[0]);
    assert!(updated.contains(&"dc8".to_owned()) && !updated.contains(&"dc1".to_owned()));
}

#[test]
fn cuts_and_losses_rescore_nothing() {
    let plan = common::plan(&with_faults(
        "  - { at: 10 ms, link: [dc1, dc6], down: true }\n  - { at: 20 ms, link: [dc1, dc6], up: true }\n  - { at: 30 ms, link: [dc1, dc6], loss: 1/1000 }\n",
    ));
    assert!(
        plan.faults
            .iter()
            .all(|fault| fault.path_cost_updates.is_empty())
    );
}

/// Returns the ideal FCTs in ns of 1,000 B flows that start at `starts`, in a scenario with `links` and `faults`.
fn ideals(links: &str, starts: &[&str], faults: &str) -> Vec<u64> {
    let flow = |start: &&str| {
        format!("      - {{ from: dc1/h1, to: dc3/h1, size: 1000 B, start: {start} }}\n")
    };
    let flows: String = starts.iter().map(flow).collect();
    let text = format!(
        "name: ideals
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2 }}, {{ name: dc3, hosts: 1 }}]
  links: [{links}]
traffic:
  - flows:
{flows}policies: [ecmp]
faults: [{faults}]
"
    );
    let plan = common::simulated(&text);
    plan.flows
        .iter()
        .map(|flow| flow.ideal_fct_ns.get())
        .collect()
}

/// Part of the ideal FCT of a 1,000 B flow over two inter-DC links that is not inter-DC delay, in ns. On four links,
/// 1,058 B at 100 Gbit/s take 84.64 ns each and an ACK 4.96 ns; the two host links add 1 µs each way: 4 · 89.6 ns + 4
/// µs, rounded down.
const REST: u64 = 4_358;

const MS: u64 = 1_000_000;

/// A flow has the delays at its start. If a delay decreases at 500 ms, 50 ms after a flow's start, the flow's ideal FCT
/// is at least these 50 ms, and at least the 4 ms that it would take with the new delays.
#[test]
fn ideal_fcts_follow_the_delays_in_force() {
    let links = "{ between: [dc1, dc2], rate: 100 Gbit, delay: 99 ms }, \
                 { between: [dc2, dc3], rate: 100 Gbit, delay: 1 ms }";
    let found = ideals(
        links,
        &["0 ms", "450 ms", "500 ms", "1700 ms", "2100 ms"],
        "{ at: 500 ms, link: [dc1, dc2], delay: 1 ms }, { at: 600 ms, link: [dc1, dc2], loss: 0.1 }, \
         { at: 2 s, link: [dc1, dc2], delay: 299 ms }",
    );
    let expected = [
        200 * MS + REST,
        50 * MS,
        4 * MS + REST,
        4 * MS + REST,
        600 * MS + REST,
    ];
    assert_eq!(found, expected);
}

/// At 1 ms, one link's delay decreases and the other's increases. A packet between the links at that time takes 1 ms on
/// each, so the ideal FCT counts both links at their best, 2 · 2 ms, although a round trip takes 202 ms before and
/// after.
#[test]
fn ideal_fcts_are_under_those_of_flows_that_meet_each_link_at_its_best() {
    let links = "{ between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }, \
                 { between: [dc2, dc3], rate: 100 Gbit, delay: 100 ms }";
    let swap = "{ at: 1 ms, link: [dc1, dc2], delay: 100 ms }, { at: 1 ms, link: [dc2, dc3], delay: 1 ms }";
    assert_eq!(ideals(links, &["0 ms"], swap), [4 * MS + REST]);
}

/// Cuts do not enter the ideal FCT; the time that they cost appears in the flow's slowdown.
#[test]
fn ideal_fcts_do_not_follow_cuts() {
    let links = "{ between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }, \
                 { between: [dc2, dc3], rate: 100 Gbit, delay: 1 ms }";
    let cut =
        "{ at: 1 ms, link: [dc1, dc2], down: true }, { at: 9 ms, link: [dc1, dc2], up: true }";
    assert_eq!(ideals(links, &["0 ms", "2 ms"], cut), [4 * MS + REST; 2]);
}
