//! Tests of the first difference between two plans.

use lab_plan::Plan;
use lab_units::Nanos;

use crate::common;

/// Returns the difference between the smoke scenario's plan and the same plan after `change`.
fn after(change: impl FnOnce(&mut Plan)) -> Option<String> {
    let plan = common::plan(&common::scenario_text("smoke.yaml"));
    let mut changed = plan.clone();
    change(&mut changed);
    plan.difference(changed)
}

#[test]
fn plans_of_one_run_do_not_differ_by_slot_cost_and_warnings() {
    let difference = after(|plan| {
        plan.warnings.clear();
        plan.estimate.cpu_ns = Nanos::from_millis(1);
        *plan = plan.clone().in_slot(7);
    });
    assert_eq!(difference, None);
}

#[test]
fn a_difference_has_its_path_and_both_values() {
    assert_eq!(
        after(|plan| plan.seed = 77).as_deref(),
        Some("`seed` was 2 and is 77")
    );
    assert_eq!(
        after(|plan| plan.flows[3].repetition = 9).as_deref(),
        Some("`flows[3].repetition` was 0 and is 9")
    );
    assert_eq!(
        after(|plan| plan.flows[0].is_listed = false).as_deref(),
        Some("`flows[0].is_listed` was true and is absent")
    );
    assert_eq!(
        after(|plan| "l5d1-d2".clone_into(&mut plan.ports[0].interface)).as_deref(),
        Some("`ports[0].interface` was \"l0d1-d2\" and is \"l5d1-d2\"")
    );
}

#[test]
fn a_row_that_is_missing_is_a_difference() {
    let number = common::plan(&common::scenario_text("smoke.yaml"))
        .flows
        .len()
        - 1;
    assert_eq!(
        after(|plan| plan.flows.truncate(number)),
        Some(format!("`flows[{number}]` was {{…}} and is absent"))
    );
}
