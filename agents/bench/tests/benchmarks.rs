//! Results, counts and ratios of the benchmarks; speed itself is asserted nowhere.

#![expect(
    clippy::print_stdout,
    reason = "a skipped test says so, a measured one prints its numbers"
)]

use lab_bench::{BenchError, Cost, Cut};

/// Maximum cost of a decision at six candidates, in early exits from the same program.
///
/// Both are measured in one run, so the ratio does not depend on the machine: it is about 8 for medians,
/// idle or beside six busy loops on two cores. An additional lookup costs one; sorting by branches, which
/// the program avoids, would multiply the ratio.
const MAX_EARLY_EXITS: u64 = 30;

#[test]
fn a_decision_costs_at_most_thirty_early_exits_at_six_candidates() {
    // Of several short runs the best of each kind: a busy machine slows all kinds, but not always.
    let mut best = Vec::new();
    let mut exit = u64::MAX;
    for _ in 0..8 {
        let cost = match lab_bench::decision(6, 2_000) {
            Err(error) if error.is_not_permitted() => {
                println!("skipped: decision: {}", error.chain());
                return;
            }
            other => other.expect("the program loads and runs"),
        };
        exit = exit.min(cost.passed.median_ns);
        let median = |(policy, cost): (&'static str, Cost)| (policy, cost.median_ns);
        let round: Vec<_> = cost
            .new_flow
            .into_iter()
            .map(median)
            .chain([("pinned", cost.hit.median_ns)])
            .collect();
        best = match best.len() {
            0 => round,
            _ => std::iter::zip(best, round)
                .map(|(a, b): ((&str, u64), _)| (a.0, a.1.min(b.1)))
                .collect(),
        };
    }
    println!("early exit {exit} ns, {best:?}");
    assert_eq!(best.len(), 8);
    for (policy, cost) in best {
        assert!(
            cost <= MAX_EARLY_EXITS * exit,
            "{policy}: {cost} ns, early exit {exit} ns"
        );
    }
}

/// Returns a measurement in namespaces of its own, or `None` after printing why there is none.
fn measured<T: std::fmt::Debug>(name: &str, result: Result<T, BenchError>) -> Option<T> {
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
    // A lost packet is an error of the measurement.
    measured("forwarding", lab_bench::forwarding(1, 5_000));
}

#[test]
fn a_dead_port_costs_one_decision_per_sending_flow_however_many_are_pinned() {
    const ROUNDS: usize = 5;
    for cut in [Cut::Link, Cut::Command] {
        for flows in [1, 100, 10_000] {
            let Some(failover) = measured("failover", lab_bench::failover(cut, flows, ROUNDS))
            else {
                return;
            };
            // The sending flow moves in every round, and back before all rounds but the first.
            assert_eq!(failover.redecided, 2 * ROUNDS as u64 - 1, "{failover:?}");
        }
    }
}
