//! Tests of the ends of repetitions.

use lab_records::{FlowRow, FlowStatus, RepetitionEnds};
use lab_sample as sample;
use lab_units::Nanos;

fn flow(start: u64, fct: Option<u64>, has_started: bool) -> FlowRow {
    FlowRow {
        start_ns: Nanos::new(start),
        fct_ns: fct.map(Nanos::new),
        launch_lateness_ns: has_started.then_some(Nanos::ZERO),
        status: FlowStatus::TimedOut,
        ..sample::flow("ecmp")
    }
}

#[test]
fn a_repetition_ends_with_its_last_event_and_not_with_a_flow_that_never_started() {
    let mut ends = RepetitionEnds::default();
    for flow in [
        flow(100, Some(50), true),
        flow(170, None, true),
        flow(900, None, false),
    ] {
        ends.flow(flow.fields());
    }
    assert_eq!((ends.of(0), ends.of(1)), (Nanos::new(170), Nanos::ZERO));
    ends.at(0, Nanos::new(200));
    ends.at(1, Nanos::new(30));
    assert_eq!(
        (ends.of(0), ends.last()),
        (Nanos::new(200), Nanos::new(200))
    );
}
