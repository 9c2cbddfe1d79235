//! What holds for every congestion control, whatever happens to it.

use std::fmt::Debug;

use lab_plan::{
    CcPlan, Semantics,
    transport::{DcqcnConfig, DctcpConfig, HpccConfig, TimelyConfig},
};
use lab_units::BitsPerSec;
use proptest::{collection::vec, prelude::*};

use super::{
    Ack, ArtifactDcqcn, CongestionControl, Dcqcn, Dctcp, Hpcc, HpccParameters, IntHop, QpFacts,
    Timely, TimelyParameters, WithControl, with_control,
};
use crate::time::SimTime;

/// The least rate of every preset.
const LEAST: u64 = 100_000_000;

/// Something that happens to a QP, so long after what happened before.
#[derive(Clone, Copy, Debug)]
struct Happening {
    gap: u64,
    what: What,
    bytes: u64,
    is_marked: bool,
    round_trip: u64,
    queue: u64,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Sent,
    Acked,
    Notified,
    Nacked,
    TimedOut,
}

fn happening() -> impl Strategy<Value = Happening> {
    let what = prop_oneof![
        4 => Just(What::Sent),
        8 => Just(What::Acked),
        2 => Just(What::Notified),
        1 => Just(What::Nacked),
        1 => Just(What::TimedOut),
    ];
    // Times in nanoseconds; on the grid of a microsecond, so that they meet timers exactly.
    let gap = prop_oneof![0..2_000u64, (0..2_000u64).prop_map(|micros| micros * 1_000)];
    let round_trip = prop_oneof![0..1_000_000u64, 0..2_000_000_000u64];
    let queue = prop_oneof![Just(0), 0..20_000_000u64];
    (gap, what, 1..50_000u64, any::<bool>(), round_trip, queue).prop_map(
        |(gap, what, bytes, is_marked, round_trip, queue)| Happening {
            gap,
            what,
            bytes,
            is_marked,
            round_trip,
            queue,
        },
    )
}

/// What a QP and its path have come to.
#[derive(Clone, Debug, Default)]
struct Qp {
    now: SimTime,
    acked: u64,
    next: u64,
    hops: [IntHop; 3],
}

impl Qp {
    fn advance(&mut self, happening: &Happening) {
        self.now += SimTime::from_picos(happening.gap * 1_000);
        match happening.what {
            What::Sent => self.next += happening.bytes,
            What::Acked => {
                self.acked = self.next.min(self.acked + happening.bytes);
                let [first, ..] = &mut self.hops;
                first.time = self.now;
                first.tx_bytes += happening.bytes;
                first.queue_bytes = happening.queue;
                first.rate_bps = 100_000_000_000;
                let [first, others @ ..] = &mut self.hops;
                for (other, rate_bps) in others.iter_mut().zip([25_000_000_000, 400_000_000_000]) {
                    *other = IntHop { rate_bps, ..*first };
                }
            }
            What::Nacked | What::TimedOut => self.next = self.acked,
            What::Notified => {}
        }
    }

    fn tell<C: CongestionControl>(
        &self,
        control: &mut C,
        happening: &Happening,
        parameters: &C::Parameters,
    ) {
        let now = self.now;
        let bytes = u32::try_from(happening.bytes).expect("it is small");
        match happening.what {
            What::Sent => control.sent(now, bytes, parameters),
            What::Acked => {
                let ack = Ack {
                    acked_bytes: self.acked,
                    next_bytes: self.next,
                    newly_bytes: happening.bytes,
                    is_marked: happening.is_marked,
                    round_trip: SimTime::from_picos(happening.round_trip * 1_000),
                    hops: &self.hops,
                };
                control.acked(now, &ack, parameters);
            }
            What::Notified => control.notified(now, parameters),
            What::Nacked => control.nacked(now, parameters),
            What::TimedOut => control.timed_out(now, parameters),
        }
    }
}

/// Calls the timer at each time it is due, up to `now`.
fn on_time<C: CongestionControl>(control: &mut C, now: SimTime, parameters: &C::Parameters) {
    let mut last = None;
    while let Some(due) = control.next_timer().filter(|due| *due <= now) {
        assert!(last < Some(due), "the timer goes on");
        last = Some(due);
        control.timer(due, parameters);
    }
}

/// A controller whose timer is called on time, and one whose is not, go the same way, between the
/// least rate and the line rate, and always with numbers.
fn laws<C: CongestionControl + Debug + PartialEq>(
    parameters: &C::Parameters,
    line: u64,
    happenings: &[Happening],
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
    for happening in happenings {
        qp.advance(happening);
        on_time(&mut punctual, qp.now, parameters);
        qp.tell(&mut punctual, happening, parameters);
        qp.tell(&mut late, happening, parameters);
        let rate = punctual.rate().get();
        assert!((LEAST.min(line)..=line).contains(&rate), "{rate} bit/s");
        assert!(punctual.window_bytes().is_none_or(|window| window > 0));
        let shown = format!("{punctual:?}");
        assert!(!shown.contains("NaN") && !shown.contains("inf"), "{shown}");
    }
    late.timer(qp.now, parameters);
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
    fn dcqcn_obeys(line in lines(), happenings in vec(happening(), 0..200)) {
        laws::<Dcqcn>(&(&DcqcnConfig::PAPER).into(), line, &happenings);
    }

    #[test]
    fn the_artifacts_dcqcn_obeys(line in lines(), happenings in vec(happening(), 0..200)) {
        laws::<ArtifactDcqcn>(&(&DcqcnConfig::ARTIFACT).into(), line, &happenings);
    }

    #[test]
    fn hpcc_obeys(line in lines(), happenings in vec(happening(), 0..200)) {
        let parameters = HpccParameters::new(&HpccConfig::PAPER, Semantics::Paper);
        laws::<Hpcc>(&parameters, line, &happenings);
        let parameters = HpccParameters::new(&HpccConfig::ARTIFACT, Semantics::Artifact);
        laws::<Hpcc>(&parameters, line, &happenings);
    }

    #[test]
    fn timely_obeys(line in lines(), happenings in vec(happening(), 0..200)) {
        let parameters = TimelyParameters::new(&TimelyConfig::PAPER, Semantics::Paper);
        laws::<Timely>(&parameters, line, &happenings);
        let parameters = TimelyParameters::new(&TimelyConfig::ARTIFACT, Semantics::Artifact);
        laws::<Timely>(&parameters, line, &happenings);
    }

    #[test]
    fn dctcp_obeys(line in lines(), happenings in vec(happening(), 0..200)) {
        laws::<Dctcp>(&(&DctcpConfig::PAPER).into(), line, &happenings);
        laws::<Dctcp>(&(&DctcpConfig::ARTIFACT).into(), line, &happenings);
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
    assert_eq!(sizes, [8, 64, 64, 88, 56, 88]);
}
