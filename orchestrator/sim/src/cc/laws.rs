//! Tests of properties that every congestion control has under random events.

use std::fmt::Debug;

use lab_plan::{
    CcPlan, Semantics,
    transport::{DcqcnConfig, DctcpConfig, HpccConfig, TimelyConfig},
};
use lab_units::BitsPerSec;
use proptest::{collection::vec, prelude::*};

use super::{
    Ack, CongestionControl, Dcqcn, Dctcp, Hpcc, HpccParameters, IntHop, PathFacts, QpFacts, Timely,
    TimelyParameters, WithControl, with_control,
};
use crate::time::SimTime;

/// Minimum rate in bit/s, the same in every preset.
const MIN_RATE: u64 = 100_000_000;

/// Event at a QP, with the time since the previous event.
#[derive(Clone, Copy, Debug)]
struct Step {
    gap: u64,
    action: Action,
    bytes: u64,
    is_marked: bool,
    round_trip: u64,
    queue: u64,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Sent,
    Acked,
    Notified,
    Nacked,
    TimedOut,
}

fn step() -> impl Strategy<Value = Step> {
    let action = prop_oneof![
        4 => Just(Action::Sent),
        8 => Just(Action::Acked),
        2 => Just(Action::Notified),
        1 => Just(Action::Nacked),
        1 => Just(Action::TimedOut),
    ];
    // Times are in nanoseconds. Some are whole microseconds, so that they coincide exactly with timers.
    let gap = prop_oneof![0..2_000u64, (0..2_000u64).prop_map(|micros| micros * 1_000)];
    let round_trip = prop_oneof![0..1_000_000u64, 0..2_000_000_000u64];
    let queue = prop_oneof![Just(0), 0..20_000_000u64];
    (gap, action, 1..50_000u64, any::<bool>(), round_trip, queue).prop_map(
        |(gap, action, bytes, is_marked, round_trip, queue)| Step {
            gap,
            action,
            bytes,
            is_marked,
            round_trip,
            queue,
        },
    )
}

/// Simulated state of a QP and of its path.
#[derive(Clone, Debug, Default)]
struct Qp {
    now: SimTime,
    acked: u64,
    next: u64,
    hops: [IntHop; 3],
    path: u32,
}

impl Qp {
    fn advance(&mut self, step: &Step) {
        self.now += SimTime::from_picos(step.gap * 1_000);
        match step.action {
            Action::Sent => self.next += step.bytes,
            Action::Acked => {
                self.acked = self.next.min(self.acked + step.bytes);
                let [first, ..] = &mut self.hops;
                first.time = self.now;
                first.tx_bytes += step.bytes;
                first.queue_bytes = step.queue;
                first.rate_bps = 100_000_000_000;
                let [first, others @ ..] = &mut self.hops;
                for (other, rate_bps) in others.iter_mut().zip([25_000_000_000, 400_000_000_000]) {
                    *other = IntHop { rate_bps, ..*first };
                }
            }
            Action::Nacked | Action::TimedOut => {
                self.next = self.acked;
                self.path += 1;
            }
            Action::Notified => {}
        }
    }

    fn apply<C: CongestionControl>(
        &self,
        control: &mut C,
        step: &Step,
        parameters: &C::Parameters,
    ) {
        let now = self.now;
        let bytes = u32::try_from(step.bytes).expect("a step has few bytes");
        match step.action {
            Action::Sent => control.on_sent(now, bytes, parameters),
            Action::Acked => {
                let ack = Ack {
                    acked_bytes: self.acked,
                    next_bytes: self.next,
                    newly_bytes: step.bytes,
                    is_marked: step.is_marked,
                    round_trip: SimTime::from_picos(step.round_trip * 1_000),
                    hops: &self.hops,
                    path: PathFacts {
                        id: self.path,
                        base_rtt: SimTime::from_micros(20),
                    },
                };
                control.on_ack(now, &ack, parameters);
            }
            Action::Notified => control.on_cnp(now, parameters),
            Action::Nacked => control.on_nack(now, parameters),
            Action::TimedOut => control.on_timeout(now, parameters),
        }
    }
}

/// Calls the controller's timer at each due time up to `now`.
fn on_time<C: CongestionControl>(control: &mut C, now: SimTime, parameters: &C::Parameters) {
    let mut last = None;
    while let Some(due) = control.next_timer(parameters).filter(|due| *due <= now) {
        assert!(last < Some(due), "the timer goes on");
        last = Some(due);
        control.on_timer(due, parameters);
    }
}

/// Checks that late timer calls give the same state as punctual ones, and that the rate stays between the minimum rate
/// and the line rate, never NaN or infinite.
fn laws<C: CongestionControl + Debug + PartialEq>(
    parameters: &C::Parameters,
    line: u64,
    steps: &[Step],
) {
    let line_rate = BitsPerSec::new(line).expect("not zero");
    let facts = QpFacts {
        line_rate,
        base_rtt: SimTime::from_micros(20),
        full_window: line / 8 / 50_000,
        payload_bytes: 1_000,
    };
    let mut qp = Qp::default();
    let mut punctual = C::new(parameters, facts, qp.now);
    let mut late = C::new(parameters, facts, qp.now);
    for step in steps {
        qp.advance(step);
        on_time(&mut punctual, qp.now, parameters);
        qp.apply(&mut punctual, step, parameters);
        qp.apply(&mut late, step, parameters);
        let rate = punctual.rate().get();
        assert!((MIN_RATE.min(line)..=line).contains(&rate), "{rate} bit/s");
        assert!(punctual.window_bytes().is_none_or(|window| window > 0));
        let shown = format!("{punctual:?}");
        assert!(!shown.contains("NaN") && !shown.contains("inf"), "{shown}");
    }
    late.on_timer(qp.now, parameters);
    assert_eq!(late, punctual);
}

fn lines() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(50_000_000),
        Just(1_000_000_001),
        Just(25_000_000_000),
        Just(100_000_000_000),
    ]
}

proptest! {
    #[test]
    fn dcqcn_obeys(line in lines(), steps in vec(step(), 0..200)) {
        laws::<Dcqcn>(&(&DcqcnConfig::PAPER).into(), line, &steps);
    }

    #[test]
    fn the_artifacts_dcqcn_obeys(line in lines(), steps in vec(step(), 0..200)) {
        laws::<Dcqcn>(&(&DcqcnConfig::ARTIFACT).into(), line, &steps);
    }

    #[test]
    fn hpcc_obeys(line in lines(), steps in vec(step(), 0..200)) {
        let parameters = HpccParameters::new(&HpccConfig::PAPER, Semantics::Paper);
        laws::<Hpcc>(&parameters, line, &steps);
        let parameters = HpccParameters::new(&HpccConfig::ARTIFACT, Semantics::Artifact);
        laws::<Hpcc>(&parameters, line, &steps);
    }

    #[test]
    fn timely_obeys(line in lines(), steps in vec(step(), 0..200)) {
        let parameters = TimelyParameters::new(&TimelyConfig::PAPER, Semantics::Paper);
        laws::<Timely>(&parameters, line, &steps);
        let parameters = TimelyParameters::new(&TimelyConfig::ARTIFACT, Semantics::Artifact);
        laws::<Timely>(&parameters, line, &steps);
    }

    #[test]
    fn dctcp_obeys(line in lines(), steps in vec(step(), 0..200)) {
        laws::<Dctcp>(&(&DctcpConfig::PAPER).into(), line, &steps);
        laws::<Dctcp>(&(&DctcpConfig::ARTIFACT).into(), line, &steps);
    }
}

#[test]
fn a_plans_control_is_run_as_its_type_and_is_small() {
    struct Size;

    impl WithControl for Size {
        type Output = usize;

        fn run<C: CongestionControl + Send + 'static>(self, _: C::Parameters) -> usize {
            size_of::<C>()
        }
    }

    let plans = [
        CcPlan::None,
        CcPlan::Dcqcn(DcqcnConfig::PAPER),
        CcPlan::Dcqcn(DcqcnConfig::ARTIFACT),
        CcPlan::Hpcc(HpccConfig::PAPER),
        CcPlan::Timely(TimelyConfig::PAPER),
        CcPlan::Dctcp(DctcpConfig::PAPER),
    ];
    let sizes = plans.map(|plan| with_control(&plan, Semantics::Paper, Size));
    assert_eq!(sizes, [8, 72, 72, 96, 56, 96]);
}
