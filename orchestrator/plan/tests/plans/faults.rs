//! Link changes.

use lab_plan::FaultChange;
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
