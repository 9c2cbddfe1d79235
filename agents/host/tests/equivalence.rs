//! Checks that the host programs compute DCQCN exactly as the reference does.

#![expect(
    clippy::print_stdout,
    reason = "a skipped test prints that it was skipped"
)]

use lab_abi::dcqcn::LAW_QUEUED;
use lab_host::selftest;

#[test]
fn the_host_programs_law_equals_the_reference_on_1_000_000_steps() {
    let report = match selftest(1_000_000, 1) {
        Err(error) if error.is_not_permitted() => {
            println!("skipped: law: {error}");
            return;
        }
        other => other.expect("the program loads and runs"),
    };
    println!("{report:?}");
    let described = report.described.as_deref().unwrap_or_default();
    assert_eq!(report.mismatches, 0, "{described}");
    assert_eq!(report.steps, 1_000_000);
    // Every event must have occurred often enough, and must have had an effect.
    assert!(report.by_event.iter().all(|&steps| steps >= 5_000));
    assert!(report.cnps > 10_000, "{}", report.cnps);
    let queued = report.by_event[LAW_QUEUED as usize];
    assert!(
        (queued / 10..queued / 10 * 9).contains(&report.marked),
        "{}",
        report.marked
    );
    assert!(report.changed.iter().all(|&steps| steps > 50_000));
    assert!(report.settled > 10_000);
}
