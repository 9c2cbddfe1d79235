//! Tests of a plan's policies.

use lab_parameters::{TeConfig, UcmpConfig};
use lab_plan::{FaultChange, Plan, PolicyPlan};
use lab_units::Nanos;

use crate::common;

/// Returns the testbed's scenario with other policies.
fn testbed(policies: &str) -> String {
    let text = common::testbed_text();
    let start = text.find("policies:").unwrap();
    let end = text.find("# 200 Gbit becomes").unwrap();
    format!("{}policies:\n{policies}\n{}", &text[..start], &text[end..])
}

fn label(plan: &Plan, at: usize) -> &str {
    &plan.policies[at].label
}

#[test]
fn every_policy_in_the_table() {
    let plan = common::plan(&testbed(
        "  - ecmp\n  - wcmp\n  - ucmp\n  - ucmp: { label: ucmp-aged, ageing: true, alpha: 0.7 }\n  \
         - ucmp-artifact\n  - te-100ms\n  - te: { interval: 1 s, buckets: 16 }\n  \
         - rm-alpha: { max_delay: 524288 us }\n  - rm-beta: { max_delay: 524288 us }\n  \
         - lcmp: { max_delay: 524288 us }\n  - own: { name: two-choice }",
    ));
    let table = lab_plan::render_table(&plan);
    let policies: Vec<_> = table
        .split("Policies (paper units)\n")
        .nth(1)
        .unwrap()
        .lines()
        .take_while(|line| !line.is_empty())
        .collect();
    insta::assert_snapshot!(policies.join("\n"));
}

#[test]
fn ablations_are_lcmp_without_a_weight() {
    let plan = common::plan(&testbed(
        "  - rm-alpha\n  - rm-beta: { alpha: 2, label: path-only }",
    ));
    assert_eq!(
        (label(&plan, 0), label(&plan, 1)),
        ("rm-alpha", "path-only")
    );
    let weights = |at: usize| {
        let config = plan.policies[at].policy.lcmp().unwrap();
        (config.alpha, config.beta)
    };
    assert_eq!((weights(0), weights(1)), ((0, 1), (2, 0)));
    assert!(!plan.policies[0].path_scores.is_empty());
}

#[test]
fn a_first_packet_takes_the_shortest_path_under_ucmp() {
    let plan = common::plan(&testbed(
        "  - ucmp\n  - ucmp: { quantum: 15 ms, label: coarse }",
    ));
    // Candidates are in the order DC6, DC4, DC2, DC7, DC5, DC3, with delays of 10, 20, 50 ms and more.
    assert_eq!(plan.policies[0].buckets[0][0], [1, 0, 0, 0, 0, 0]);
    assert_eq!(plan.policies[1].buckets[0][0], [1, 1, 0, 0, 0, 0]);
    assert_eq!(plan.switches[0].destinations[0].hops, 2);
    assert_eq!(
        plan.policies[0].policy,
        PolicyPlan::Ucmp(UcmpConfig::DEFAULT)
    );
}

#[test]
fn traffic_engineering_begins_with_capacity_and_its_interval_is_scaled() {
    let plan = common::plan(&testbed("  - wcmp\n  - te-100ms"));
    assert_eq!(plan.policies[0].buckets, plan.policies[1].buckets);
    // The time scale is ten.
    let expected = TeConfig {
        interval_ns: Nanos::from_millis(1_000),
        buckets: 100,
    };
    assert_eq!(plan.policies[1].policy, PolicyPlan::Te(expected));
}

#[test]
fn policies_that_the_kernel_engine_cannot_run_are_warned_of() {
    let text = testbed(
        "  - te-100ms\n  - own: { name: delay-only }\n  - ucmp: { ageing: true, label: aged }\n  \
         - ucmp",
    );
    let plan = common::plan(&text);
    let said: Vec<_> = plan
        .warnings
        .iter()
        .filter(|warning| warning.code == "policy-not-in-kernel")
        .map(|warning| warning.text.split(':').next().unwrap())
        .collect();
    let (before, _) = text.split_once("  - own:").unwrap();
    let line = before.lines().count() + 1;
    assert_eq!(said, [format!("policy `delay-only` (line {line})")]);
}

#[test]
fn a_user_defined_switch_program_has_scores_that_separate_all_paths() {
    let plan = common::plan(&testbed("  - ecmp\n  - ebpf: own/two-choice.bpf.o"));
    let run = &plan.policies[1];
    assert_eq!(run.label, "two-choice");
    let PolicyPlan::Ebpf(own) = &run.policy else {
        panic!("{run:?}")
    };
    assert_eq!(own.object, "own/two-choice.bpf.o");
    let scores = &run.path_scores[0];
    let mut row = scores.iter().max_by_key(|row| row.len()).unwrap().clone();
    let count = row.len();
    row.sort_unstable();
    row.dedup();
    assert_eq!(row.len(), count, "{scores:?}");
}

#[test]
fn a_policy_that_is_not_compiled_in_is_refused_with_those_that_are() {
    let text = testbed("  - own: { name: two-choices }");
    let error = common::try_plan(&text, &lab_plan::PlanOptions::default());
    assert_eq!(
        error.unwrap_err().to_string(),
        "`policies[0].own.name`: there is no policy `two-choices` (hint: the policies compiled in are \
         `delay-only`, `two-choice`, `template`)"
    );
}

/// If a link's rate is halved, its number of buckets is halved, too; a cut link keeps its buckets.
#[test]
fn buckets_follow_a_links_new_rate() {
    let faults = "faults:\n  - { at: 10 ms, link: [dc2, dc8], rate: 100 Gbit }\n  \
                  - { at: 20 ms, link: [dc1, dc4], down: true }\n";
    let text =
        testbed("  - ecmp\n  - wcmp\n  - ucmp-artifact\n  - min-delay\n  - te-100ms") + faults;
    let plan = common::plan(&text);
    assert_eq!(plan.faults[1].change, FaultChange::Down);
    assert!(plan.faults[1].path_cost_updates.is_empty());
    let mut path_cost_updates = plan.faults[0].path_cost_updates.iter();
    let updated: Vec<_> = path_cost_updates
        .clone()
        .map(|row| label(&plan, row.policy))
        .collect();
    // WCMP scores whole paths, so DC1 and DC8 are updated; the UCMP artifact scores first links, so only DC8 is. UCMP's
    // choice for a first packet does not depend on the change, ECMP has no table, and the TE controller detects the
    // change itself.
    assert_eq!(updated, ["wcmp", "wcmp", "ucmp-artifact"]);
    let at_dc1 = path_cost_updates.find(|row| row.switch == 0 && row.candidates.len() == 6);
    let buckets: Vec<_> = at_dc1
        .unwrap()
        .candidates
        .iter()
        .map(|row| row.buckets)
        .collect();
    // The paths' capacities are 40, 100, 100, 40, 100 and 200 Gbit/s.
    assert_eq!(buckets, [2, 5, 5, 2, 5, 10]);
}
