//! Check that the switch program agrees with its reference.

#![expect(
    clippy::print_stdout,
    reason = "a skipped test says so, a measured one says its numbers"
)]

use lab_switchd::selftest;

#[test]
fn the_switch_program_equals_the_reference_on_200_000_packets() {
    let report = match selftest(200_000, 1) {
        Err(error) if error.is_not_permitted() => {
            println!("skipped: equivalence: {}", error.chain());
            return;
        }
        other => other.expect("the program loads and runs"),
    };
    println!("{report:#?}");
    assert_eq!(report.mismatches, 0, "{}", report.described.join("\n"));
    // Every rule and every outcome must have occurred often enough.
    assert!(report.decided.iter().all(|&decided| decided > 1_000));
    assert_eq!(report.by_policy.len(), 7, "{:?}", report.by_policy);
    assert!(report.by_policy.values().all(|&decided| decided > 5_000));
    assert!(report.decided.iter().sum::<u64>() + report.not_pinned > 100_000);
    for met in [
        report.hits,
        report.failovers,
        report.not_pinned,
        report.unreachable,
        report.passed,
        report.rewritten,
    ] {
        assert!(met > 1_000);
    }
    // One table in ten uses flow ageing.
    assert!(report.aged > 500, "{}", report.aged);
}
