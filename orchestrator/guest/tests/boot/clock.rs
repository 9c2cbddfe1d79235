//! Tests that the virtual clock does not depend on the host's load.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::guest::{Guest, program, stderr};

#[test]
fn two_runs_measure_the_same_whatever_the_host_does() {
    Guest::test(|guest| {
        let quiet = timings(&guest);
        let stop = AtomicBool::new(false);
        let busy = thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let busy = timings(&guest);
            stop.store(true, Ordering::Relaxed);
            busy
        });
        for (quiet, busy) in quiet.iter().zip(&busy) {
            assert_eq!(quiet.name, busy.name);
            let median = quiet.median.abs_diff(busy.median);
            assert!(median < MICROSECOND, "{quiet:?} {busy:?}");
            // The kernel's periodic work delays different sleeps in different runs, by tens of microseconds per 0.5 s.
            // The bound is the same as for flows.
            let total = quiet.total.abs_diff(busy.total);
            assert!(total <= quiet.total / 1000, "{quiet:?} {busy:?}");
        }
    });
}

const MICROSECOND: u64 = 1_000;

/// Median and total of one measurement, in nanoseconds of guest time.
#[derive(Debug)]
struct Timing {
    name: String,
    median: u64,
    total: u64,
}

/// Runs the example program's `timings` measurements inside a guest; asserts that the guest did not wait for the host
/// during them.
fn timings(guest: &Guest) -> [Timing; 2] {
    let program = program();
    let output = guest.run(&[], &[program.to_str().unwrap(), "timings"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let (waits, rest) = stdout.split_once('\n').unwrap();
    assert_eq!(waits, "waits 0");
    let timings: Vec<_> = rest.lines().map(parse).collect();
    timings.try_into().unwrap()
}

fn parse(line: &str) -> Timing {
    let mut words = line.split(' ');
    let name = words.next().unwrap().to_owned();
    let mut number = || words.next().unwrap().parse().unwrap();
    Timing {
        name,
        median: number(),
        total: number(),
    }
}
