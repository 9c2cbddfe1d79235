//! Tests of link use and of the busiest link.

use lab_records::{ArrivalUse, FaultInfo, FlowRow, FlowStatus, LinkChange, RunInfo};
use lab_sample as sample;
use lab_units::{BitsPerSec, Bytes, Nanos};

/// Facts of a run with the link dc1-dc2 at 100 Gbit/s, which carries 12.5 MB in a millisecond.
fn info() -> RunInfo {
    RunInfo {
        links: vec![sample::link("dc1", "dc2", 100, 1)],
        ..sample::info()
    }
}

/// Returns the link use for flows, each given as its repetition, its start in ms, and true if it did start.
fn arrivals(flows: &[(u32, u64, bool)]) -> ArrivalUse {
    let mut used = ArrivalUse::default();
    flows.iter().for_each(|&flow| start(&mut used, flow));
    used
}

/// Adds a flow, given as its repetition, its start in ms, and true if it did start.
fn start(used: &mut ArrivalUse, (repetition, millis, has_started): (u32, u64, bool)) {
    let row = FlowRow {
        repetition,
        start_ns: Nanos::from_millis(millis),
        fct_ns: None,
        launch_lateness_ns: has_started.then_some(Nanos::ZERO),
        status: FlowStatus::TimedOut,
        ..sample::flow("ecmp")
    };
    used.flow(row.fields());
}

fn count(used: &mut ArrivalUse, repetition: u32, (from, to): (&str, &str), at: (u64, u64)) {
    let (millis, bytes) = at;
    let time = Nanos::from_millis(millis);
    used.counter(repetition, ["dc1-dc2", from, to], time, Bytes::new(bytes));
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9
}

/// 12.5 MB in 1 ms at 100 Gbit/s, then 13.75 MB in 11 ms at 10 Gbit/s: the link can carry 26.25 MB.
#[test]
fn a_link_is_full_at_the_rates_in_force() {
    let mut info = info();
    info.faults = vec![FaultInfo {
        time_ns: Nanos::from_millis(1),
        link: "dc1-dc2".into(),
        change: LinkChange::Changed,
        rate_bps: BitsPerSec::new(10_000_000_000),
    }];
    let mut used = arrivals(&[(0, 12, true)]);
    for at in [(1, 12_500_000), (12, 26_250_000), (20, 26_250_000)] {
        count(&mut used, 0, ("dc1", "dc2"), at);
    }
    let busiest = used.busiest(&info).expect("a link");
    assert!(is_near(busiest.utilisation, 1.0), "{busiest:?}");
}

/// The run is cut off at 4 ms, when the link has carried all of the 50 MB that fit; flows were scheduled until 8 ms.
#[test]
fn a_cut_runs_links_are_used_until_the_cut() {
    let mut used = arrivals(&[(0, 0, true), (0, 3, true), (0, 8, false)]);
    for at in [(2, 25_000_000), (4, 50_000_000)] {
        count(&mut used, 0, ("dc1", "dc2"), at);
    }
    let uses = used.uses(&info());
    assert!(
        uses.len() == 1 && is_near(uses[0].utilisation, 1.0),
        "{uses:?}"
    );
}

/// 25 MB fit into 2 ms. One direction is used to 100 % and 20 %, the other to 70 % in both repetitions.
#[test]
fn the_busiest_link_has_the_largest_mean_of_its_repetitions() {
    let mut used = arrivals(&[(0, 2, true), (1, 2, true)]);
    count(&mut used, 0, ("dc1", "dc2"), (2, 25_000_000));
    count(&mut used, 1, ("dc1", "dc2"), (2, 5_000_000));
    for repetition in [0, 1] {
        count(&mut used, repetition, ("dc2", "dc1"), (2, 17_500_000));
    }
    let shares = used.uses(&info());
    assert!(is_near(shares[0].utilisation, 0.6), "{shares:?}");
    let busiest = used.busiest(&info()).expect("a link");
    assert_eq!((&*busiest.from_dc, &*busiest.to_dc), ("dc2", "dc1"));
    assert!(is_near(busiest.utilisation, 0.7), "{busiest:?}");
}

#[test]
fn links_of_a_run_without_a_start_or_a_sample_have_no_use() {
    let mut never = arrivals(&[(0, 2, false)]);
    count(&mut never, 0, ("dc1", "dc2"), (2, 1));
    assert_eq!(never.busiest(&info()), None);
    let mut at_zero = arrivals(&[(0, 2, true)]);
    count(&mut at_zero, 0, ("dc1", "dc2"), (0, 0));
    assert_eq!(at_zero.busiest(&info()), None);
}

/// The link is busy in the first of three milliseconds, and the last flow starts after the second: 12.5 of 25 MB.
#[test]
fn samples_may_come_before_the_flows() {
    let mut used = ArrivalUse::default();
    for at in [(1, 12_500_000), (2, 12_500_000), (3, 37_500_000)] {
        count(&mut used, 0, ("dc1", "dc2"), at);
    }
    assert_eq!(used.busiest(&info()), None, "no flow so far");
    for millis in [0, 2] {
        start(&mut used, (0, millis, true));
    }
    let busiest = used.busiest(&info()).expect("a link");
    assert!(is_near(busiest.utilisation, 0.5), "{busiest:?}");
}
