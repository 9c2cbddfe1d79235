//! A decision fits its budget, no packet is lost, and no flow is cut off for long.

#![expect(
    clippy::print_stdout,
    reason = "a skipped test says so, a measured one says its numbers"
)]

use lab_switchd::bench::{self, Cut};

/// A flow's first packet at six candidates, from its arrival to its redirection.
///
/// The budget of a release build; the program is the same in all builds.
const BUDGET_NS: u64 = 600;

#[test]
fn a_new_flow_is_decided_within_600_ns_at_six_candidates() {
    let cost = match bench::decision(6, 20_000) {
        Err(error) if error.is_not_permitted() => {
            println!("skipped: bench: {}", error.chain());
            return;
        }
        other => other.expect("the program loads and runs"),
    };
    println!("{cost:#?}");
    let cpu = std::fs::read_to_string("/proc/cpuinfo").expect("Linux has it");
    if cpu.contains("QEMU") {
        println!("skipped: bench: an emulated CPU's time is not the kernel's");
        return;
    }
    assert_eq!(cost.new_flow.len(), 7);
    for (policy, cost) in &cost.new_flow {
        assert!(cost.median_ns <= BUDGET_NS, "{policy}: {cost:?}");
    }
}

/// A measurement on namespaces of its own, or `None` and a line that says why there is none.
fn measured<T: std::fmt::Debug>(name: &str, result: Result<T, bench::BenchError>) -> Option<T> {
    match result {
        Err(error) if error.is_not_permitted() => {
            println!("skipped: {name}: {error}");
            None
        }
        other => {
            let measured = other.expect("it can be measured");
            println!("{measured:#?}");
            Some(measured)
        }
    }
}

#[test]
fn every_packet_comes_through_the_switch_and_through_the_kernel() {
    // That none is lost is part of the measurement; how fast they are is no test's business on a
    // machine that does other things too.
    measured("forwarding", bench::forwarding(1, 5_000));
}

#[test]
fn a_cut_link_is_left_within_a_second_however_many_flows_it_has() {
    for cut in [Cut::Link, Cut::Command] {
        for flows in [1, 100, 10_000] {
            let Some(failover) = measured("failover", bench::failover(cut, flows, 5)) else {
                return;
            };
            assert!(failover.longest.get() < 1_000_000_000);
        }
    }
}
