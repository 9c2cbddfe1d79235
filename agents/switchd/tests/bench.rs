//! A decision fits its budget.

#![expect(
    clippy::print_stdout,
    reason = "a skipped test says so, a measured one says its numbers"
)]

use lab_switchd::bench;

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
    assert!(cost.lcmp_new_flow.median_ns <= BUDGET_NS);
}
