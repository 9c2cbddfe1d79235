//! TIMELY: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM '15, section 4.3,
//! algorithm 1; and the artifact's variant.
//!
//! Each step uses the current round-trip time, in whole nanoseconds, and the previous one:
//!
//! ```text
//! difference ← (1 − α) · difference + α · (round trip − previous)
//! gradient   = difference / minimum RTT
//!
//! round trip < T_low    raise
//! round trip > T_high   R ← R · (1 − β · (1 − T_high / round trip))
//! gradient ≤ 0          raise
//! gradient > 0          R ← R · max(0, 1 − β · gradient)
//! ```
//!
//! A raise is `R ← R + δ`, or a larger step after 5 raises in a row (hyperactive increase, HAI). `R` stays between the
//! minimum rate and the line rate. The first step only stores its round-trip time.
//!
//! As published, a step follows each acknowledged segment, and raises below `T_low` are always δ and do not count. In
//! the artifact, a step happens once per round trip, which ends with the first acknowledged byte that had not been sent
//! at the last step, and all raises count.
//!
//! The defaults of `T_low`, `T_high` and the minimum RTT are the authors' values for a datacenter. A round trip between
//! datacenters is far above `T_high`, so that each step cuts the rate. This is a property of the algorithm, not of this
//! implementation; other networks need other values.
//!
//! Parameters: [`lab_plan::transport::TimelyConfig`].

use lab_plan::{Semantics, transport::TimelyConfig};
use lab_policy::Preset;
use lab_units::BitsPerSec;

use super::{
    Ack, CongestionControl, ExtraBytes, QpFacts,
    rate::{bounded, count, float, plus, times},
};
use crate::time::SimTime;

/// TIMELY's parameters, with ratios as floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    step: Step,
    /// Weight α of a new RTT difference in the moving average.
    difference_weight: f64,
    /// Decrease factor β.
    decrease: f64,
    /// `T_low` in nanoseconds.
    low: u64,
    /// `T_high` in nanoseconds.
    high: u64,
    /// Minimum RTT in nanoseconds.
    min_round_trip: u64,
    /// Additive increase δ.
    additive: BitsPerSec,
    hyper: BitsPerSec,
    hyper_after: u32,
    min_rate: BitsPerSec,
    stamp_bytes: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    /// Step after each acknowledged segment of this many bytes, as published.
    Segment(u64),
    /// Step at the end of each round trip, as in the artifact.
    RoundTrip,
}

impl Parameters {
    /// Converts a plan's parameters; `semantics` determines the packets' extra bytes.
    #[must_use]
    pub fn new(plan: &TimelyConfig, semantics: Semantics) -> Self {
        Self {
            stamp_bytes: match semantics {
                Semantics::Paper => 0,
                Semantics::Artifact => 8,
            },
            step: match plan.preset {
                Preset::Paper => Step::Segment(plan.segment_bytes.get()),
                Preset::Artifact => Step::RoundTrip,
            },
            difference_weight: float(plan.difference_weight),
            decrease: float(plan.decrease),
            low: plan.t_low_ns.get(),
            high: plan.t_high_ns.get(),
            min_round_trip: plan.min_rtt_ns.get(),
            additive: plan.additive_rate_bps,
            hyper: plan.hyper_rate_bps,
            hyper_after: plan.hyper_after,
            min_rate: plan.min_rate_bps,
        }
    }
}

/// State of TIMELY at the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timely {
    /// Current rate `R`.
    rate: BitsPerSec,
    line: BitsPerSec,
    /// Moving average of RTT differences, in nanoseconds.
    difference: f64,
    /// RTT of the previous step in nanoseconds; `None` before the first step.
    previous: Option<u64>,
    /// Number of acknowledged bytes above which the next step happens.
    step_after: u64,
    /// Number of raises (`RateChange::Raise`) since the last cut.
    raises: u32,
}

/// Change of the rate in one step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RateChange {
    Raise,
    /// Additive increase by δ because the RTT is below `T_low`; does not count towards hyperactive increase.
    RaiseLittle,
    /// Multiplication of the rate by this factor, from 0 to 1.
    Cut(f64),
}

impl CongestionControl for Timely {
    type Parameters = Parameters;

    /// In the artifact, packets carry their sending time (`IntHeader` in `TS` mode), which fits into the padding of an
    /// ACK on the way back. The paper's NICs do not send the time.
    fn extra_wire_bytes(parameters: &Parameters) -> ExtraBytes {
        ExtraBytes {
            data: parameters.stamp_bytes,
            ack: 0,
        }
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

    fn on_ack(&mut self, _: SimTime, ack: &Ack<'_>, parameters: &Parameters) {
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
            RateChange::RaiseLittle => self.raise(parameters.additive),
            RateChange::Raise => {
                let is_hyper = self.raises >= parameters.hyper_after;
                self.raises = self.raises.saturating_add(1);
                self.raise(if is_hyper {
                    parameters.hyper
                } else {
                    parameters.additive
                });
            }
            RateChange::Cut(share) => {
                self.raises = 0;
                self.rate = bounded(times(self.rate, share), parameters.min_rate, self.line);
            }
        }
    }

    fn raise(&mut self, raise: BitsPerSec) {
        self.rate = plus(self.rate, raise).min(self.line);
    }
}

/// Returns the change of the rate for an RTT and the averaged RTT difference.
fn change(round_trip: u64, difference: f64, parameters: &Parameters) -> RateChange {
    if round_trip < parameters.low {
        return match parameters.step {
            Step::Segment(_) => RateChange::RaiseLittle,
            Step::RoundTrip => RateChange::Raise,
        };
    }
    if round_trip > parameters.high {
        let above = 1.0 - count(parameters.high) / count(round_trip);
        return RateChange::Cut(1.0 - parameters.decrease * above);
    }
    let gradient = difference / count(parameters.min_round_trip);
    if gradient <= 0.0 {
        RateChange::Raise
    } else {
        RateChange::Cut((1.0 - parameters.decrease * gradient).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, qp_facts};

    fn published() -> Parameters {
        Parameters::new(&TimelyConfig::PAPER, Semantics::Paper)
    }

    fn artifact() -> Parameters {
        Parameters::new(&TimelyConfig::ARTIFACT, Semantics::Artifact)
    }

    fn new_control(parameters: &Parameters) -> Timely {
        let facts = qp_facts(20, 250_000);
        Timely::new(parameters, facts, SimTime::ZERO)
    }

    /// Returns the rate, rounded to Mbit/s.
    fn mbits(control: &Timely) -> u64 {
        (control.rate.get() + 500_000) / 1_000_000
    }

    /// Processes the last ACK of segment `n` with an RTT of `micros`; the whole segment had been sent.
    fn acked(control: &mut Timely, n: u64, micros: u64, parameters: &Parameters) -> u64 {
        let ack = Ack {
            round_trip: SimTime::from_micros(micros),
            ..ack(n * 16_000, n * 16_000)
        };
        control.on_ack(SimTime::ZERO, &ack, parameters);
        mbits(control)
    }

    #[test]
    fn longer_round_trips_cut_and_shorter_ones_raise() {
        let parameters = published();
        let mut control = new_control(&parameters);
        assert_eq!(acked(&mut control, 1, 100, &parameters), 100_000);
        // The RTT is 10 µs longer: the average is 8.75, the gradient 0.4375 and the factor 1 − 0.8 · 0.4375 = 0.65.
        assert_eq!(acked(&mut control, 2, 110, &parameters), 65_000);
        // The RTT is 20 µs shorter, so the average is negative: 0.125 · 8.75 − 17.5 < 0.
        assert_eq!(acked(&mut control, 3, 90, &parameters), 65_010);
    }

    #[test]
    fn beyond_the_thresholds_the_gradient_does_not_count() {
        let parameters = published();
        let mut control = new_control(&parameters);
        acked(&mut control, 1, 1_100, &parameters);
        // The RTT decreases, but is twice T_high: the factor is 1 − 0.8 · (1 − 1/2) = 0.6.
        assert_eq!(acked(&mut control, 2, 1_000, &parameters), 60_000);
        acked(&mut control, 3, 30, &parameters);
        // The RTT increases, but is below T_low.
        assert_eq!(acked(&mut control, 4, 49, &parameters), 60_020);
    }

    #[test]
    fn after_five_raises_in_a_row_they_are_larger() {
        let parameters = published();
        let mut control = new_control(&parameters);
        acked(&mut control, 1, 1_000, &parameters);
        let cut = acked(&mut control, 2, 1_000, &parameters);
        assert_eq!(cut, 60_000);
        let rates = [3, 4, 5, 6, 7, 8, 9].map(|n| acked(&mut control, n, 100, &parameters) - cut);
        assert_eq!(rates, [10, 20, 30, 40, 50, 100, 150]);
    }

    #[test]
    fn below_the_lower_threshold_only_the_artifact_counts_raises() {
        for (parameters, rates) in [
            (published(), [10, 20, 30, 40, 50, 60]),
            (artifact(), [50, 100, 150, 200, 250, 350]),
        ] {
            let mut control = new_control(&parameters);
            acked(&mut control, 1, 1_000, &parameters);
            let cut = acked(&mut control, 2, 1_000, &parameters);
            let raises = [3, 4, 5, 6, 7, 8].map(|n| acked(&mut control, n, 40, &parameters) - cut);
            assert_eq!(raises, rates);
        }
    }

    #[test]
    fn a_segment_is_one_step() {
        let parameters = published();
        let mut control = new_control(&parameters);
        for (bytes, steps) in [
            (15_999, false),
            (16_000, true),
            (31_999, false),
            (32_000, true),
        ] {
            let before = control.step_after;
            let ack = Ack {
                round_trip: SimTime::from_micros(100),
                ..ack(bytes, 100_000)
            };
            control.on_ack(SimTime::ZERO, &ack, &parameters);
            assert_eq!(control.step_after != before, steps, "{bytes}");
        }
    }

    #[test]
    fn in_the_artifact_a_step_takes_a_round_trip() {
        let parameters = artifact();
        let mut control = new_control(&parameters);
        let mut acked = |acked_bytes, next_bytes| {
            let ack = Ack {
                round_trip: SimTime::from_micros(1_000),
                ..ack(acked_bytes, next_bytes)
            };
            control.on_ack(SimTime::ZERO, &ack, &parameters);
            mbits(&control)
        };
        assert_eq!(acked(1_000, 50_000), 100_000);
        assert_eq!(acked(50_000, 90_000), 100_000);
        assert_eq!(acked(51_000, 91_000), 60_000);
        assert_eq!(acked(52_000, 92_000), 60_000);
    }

    #[test]
    fn over_a_wide_area_every_step_cuts_deeply() {
        let parameters = artifact();
        let mut control = new_control(&parameters);
        acked(&mut control, 1, 20_000, &parameters);
        // The factor is 1 − 0.8 · (1 − 0.5 / 20) = 0.22.
        assert_eq!(acked(&mut control, 2, 20_000, &parameters), 22_000);
        assert_eq!(acked(&mut control, 3, 20_000, &parameters), 4_840);
    }
}
