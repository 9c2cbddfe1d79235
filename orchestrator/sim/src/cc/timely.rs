//! TIMELY: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM '15,
//! section 4.3, algorithm 1, and as the artifact has it.
//!
//! Each step takes one round trip, in whole nanoseconds, and the one before it:
//!
//! ```text
//! difference ← (1 − α) · difference + α · (round trip − previous)
//! gradient   = difference / least round trip
//!
//! round trip < T_low    raise
//! round trip > T_high   R ← R · (1 − β · (1 − T_high / round trip))
//! gradient ≤ 0          raise
//! gradient > 0          R ← R · max(0, 1 − β · gradient)
//! ```
//!
//! A raise is `R ← R + δ`, or a larger one (HAI) once there were 5 in a row. `R` stays between the
//! least rate and the line rate. The first step only remembers its round trip.
//!
//! As published, it steps after each acknowledged segment, and raises below `T_low` are by δ alone
//! and do not count. In the artifact it steps once a round trip, which is over when a byte is
//! acknowledged that was not sent at the last step, and all raises count.
//!
//! `T_low`, `T_high` and the least round trip are the authors' for a datacenter: a round trip
//! between datacenters is far above `T_high`, so that each step cuts. That is the algorithm, not an
//! accident of this file; set them for other networks.
//!
//! Parameters: [`lab_plan::transport::TimelyPlan`].

use lab_plan::{
    Physics,
    transport::{TimelyPlan, TimelyStep},
};
use lab_units::BitsPerSec;

use super::{
    Ack, CongestionControl, ExtraBytes, Notification, QpFacts,
    rate::{bounded, count, float, plus, times},
};
use crate::time::SimTime;

/// Parameters of [`Timely`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    step: Step,
    /// α.
    difference_weight: f64,
    /// β.
    decrease: f64,
    /// `T_low` in nanoseconds.
    low: u64,
    /// `T_high` in nanoseconds.
    high: u64,
    /// In nanoseconds.
    least_round_trip: u64,
    /// δ.
    additive: BitsPerSec,
    hyper: BitsPerSec,
    hyper_after: u32,
    least: BitsPerSec,
    stamp_bytes: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    /// As published.
    Segment(u64),
    /// As in the artifact.
    RoundTrip,
}

impl Parameters {
    /// Of a plan; the physics decides what packets carry.
    #[must_use]
    pub fn new(plan: &TimelyPlan, physics: Physics) -> Self {
        Self {
            stamp_bytes: match physics {
                Physics::Paper => 0,
                Physics::Artifact => 8,
            },
            step: match plan.step {
                TimelyStep::Segment(bytes) => Step::Segment(bytes.get()),
                TimelyStep::RoundTrip => Step::RoundTrip,
            },
            difference_weight: float(plan.difference_weight),
            decrease: float(plan.decrease),
            low: plan.t_low_ns.get(),
            high: plan.t_high_ns.get(),
            least_round_trip: plan.min_rtt_ns.get(),
            additive: plan.additive_bps,
            hyper: plan.hyper_bps,
            hyper_after: plan.hyper_after,
            least: plan.min_bps,
        }
    }
}

/// TIMELY's sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timely {
    /// R.
    rate: BitsPerSec,
    line: BitsPerSec,
    /// Averaged difference of round trips in nanoseconds.
    difference: f64,
    /// In nanoseconds; nothing before the first step.
    previous: Option<u64>,
    /// The acknowledgement that makes the next step is above this.
    step_after: u64,
    /// Raises in a row.
    raises: u32,
}

/// What a step does to the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Raise,
    /// By δ, whatever came before.
    RaiseLittle,
    /// To this share.
    Cut(f64),
}

impl CongestionControl for Timely {
    type Parameters = Parameters;

    /// In the artifact, the time of sending (`IntHeader` in `TS` mode), which fits into an ACK's
    /// padding on its way back. The paper's NICs keep it to themselves.
    fn extra_wire_bytes(parameters: &Parameters) -> ExtraBytes {
        ExtraBytes {
            data: parameters.stamp_bytes,
            ack: 0,
        }
    }

    fn notification(_: &Parameters) -> Notification {
        Notification::Echo
    }

    fn new(parameters: &Parameters, facts: QpFacts, _: SimTime) -> Self {
        Self {
            rate: facts.line_rate,
            line: facts.line_rate,
            difference: 0.0,
            previous: None,
            step_after: match parameters.step {
                Step::Segment(bytes) => bytes.saturating_sub(1),
                Step::RoundTrip => 0,
            },
            raises: 0,
        }
    }

    fn rate(&self) -> BitsPerSec {
        self.rate
    }

    fn acked(&mut self, _: SimTime, ack: &Ack<'_>, parameters: &Parameters) {
        if ack.acked_bytes <= self.step_after {
            return;
        }
        let round_trip = ack.round_trip.nanos_trunc().get();
        if let Some(previous) = self.previous {
            self.step(round_trip, previous, parameters);
        }
        self.previous = Some(round_trip);
        self.step_after = match parameters.step {
            Step::Segment(bytes) => ack.acked_bytes.saturating_add(bytes - 1),
            Step::RoundTrip => ack.next_bytes.max(self.step_after),
        };
    }
}

impl Timely {
    fn step(&mut self, round_trip: u64, previous: u64, parameters: &Parameters) {
        let weight = parameters.difference_weight;
        let new = count(round_trip) - count(previous);
        self.difference = (1.0 - weight) * self.difference + weight * new;
        match change(round_trip, self.difference, parameters) {
            Change::RaiseLittle => self.raise(parameters.additive),
            Change::Raise => {
                let is_hyper = self.raises >= parameters.hyper_after;
                self.raises = self.raises.saturating_add(1);
                self.raise(if is_hyper {
                    parameters.hyper
                } else {
                    parameters.additive
                });
            }
            Change::Cut(share) => {
                self.raises = 0;
                self.rate = bounded(times(self.rate, share), parameters.least, self.line);
            }
        }
    }

    fn raise(&mut self, raise: BitsPerSec) {
        self.rate = plus(self.rate, raise).min(self.line);
    }
}

/// What a round trip means, of which the averaged difference is `difference`.
fn change(round_trip: u64, difference: f64, parameters: &Parameters) -> Change {
    if round_trip < parameters.low {
        return match parameters.step {
            Step::Segment(_) => Change::RaiseLittle,
            Step::RoundTrip => Change::Raise,
        };
    }
    if round_trip > parameters.high {
        let above = 1.0 - count(parameters.high) / count(round_trip);
        return Change::Cut(1.0 - parameters.decrease * above);
    }
    let gradient = difference / count(parameters.least_round_trip);
    if gradient <= 0.0 {
        Change::Raise
    } else {
        Change::Cut((1.0 - parameters.decrease * gradient).max(0.0))
    }
}
