//! DCQCN as published (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM '15, section 3) and
//! as the artifact implements it.
//!
//! Both implementations are in [`lab_dcqcn`], which a lab's host programs use as well. They compute in integers, with
//! times in picoseconds. The artifact's implementation has no CNPs: each ACK of a marked packet counts as one.
//!
//! Parameters: [`lab_plan::transport::DcqcnConfig`]. Payload, headers and CRC count as sent bytes.

use lab_dcqcn::{DcqcnParams, ReactionPoint, parameters, reaction};
use lab_plan::transport::DcqcnConfig;
use lab_policy::Preset;
use lab_units::BitsPerSec;

use super::{Ack, CongestionControl, Notification, QpFacts};
use crate::time::SimTime;

/// DCQCN's parameters, converted to the units of [`lab_dcqcn`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Parameters {
    law: DcqcnParams,
    notification: Notification,
}

impl From<&DcqcnConfig> for Parameters {
    fn from(plan: &DcqcnConfig) -> Self {
        let law = parameters::of(plan, PICOS_PER_NANO);
        let notification = match plan.preset {
            Preset::Paper => Notification::Cnp(SimTime::from_picos(law.cnp_interval)),
            Preset::Artifact => Notification::Echo,
        };
        Self { law, notification }
    }
}

/// State of DCQCN's reaction point, the sender's side of the algorithm.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dcqcn(ReactionPoint);

impl CongestionControl for Dcqcn {
    type Parameters = Parameters;

    fn notification(parameters: &Parameters) -> Notification {
        parameters.notification
    }

    fn new(parameters: &Parameters, facts: QpFacts, _: SimTime) -> Self {
        Self(reaction::start(facts.line_rate.get(), &parameters.law))
    }

    fn rate(&self) -> BitsPerSec {
        BitsPerSec::new(self.0.rate_bps).unwrap_or(SLOWEST)
    }

    fn target_and_alpha(&self, now: SimTime, parameters: &Parameters) -> Option<(BitsPerSec, u32)> {
        let target = BitsPerSec::new(self.0.target_bps).unwrap_or(SLOWEST);
        let alpha = reaction::alpha(&self.0, now.picos(), &parameters.law);
        Some((target, alpha))
    }

    fn on_sent(&mut self, now: SimTime, wire_bytes: u32, parameters: &Parameters) {
        reaction::on_sent(&mut self.0, now.picos(), wire_bytes, &parameters.law);
    }

    fn on_ack(&mut self, now: SimTime, ack: &Ack<'_>, parameters: &Parameters) {
        if ack.is_marked {
            self.on_cnp(now, parameters);
        }
    }

    fn on_cnp(&mut self, now: SimTime, parameters: &Parameters) {
        reaction::on_cnp(&mut self.0, now.picos(), &parameters.law);
    }

    fn next_timer(&self, parameters: &Parameters) -> Option<SimTime> {
        reaction::next_timer(&self.0, &parameters.law).map(SimTime::from_picos)
    }

    fn on_timer(&mut self, now: SimTime, parameters: &Parameters) {
        reaction::on_timer(&mut self.0, now.picos(), &parameters.law);
    }
}

/// Picoseconds, the unit of virtual time, per nanosecond.
const PICOS_PER_NANO: u64 = 1_000;

/// Rate that replaces a rate of zero, which [`BitsPerSec`] cannot represent.
const SLOWEST: BitsPerSec = BitsPerSec::new(1).expect("one is not zero");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bits, gbit, qp_facts};

    fn parameters() -> Parameters {
        Parameters::from(&DcqcnConfig::PAPER)
    }

    fn new_control() -> Dcqcn {
        let facts = qp_facts(20, 250_000);
        Dcqcn::new(&parameters(), facts, SimTime::ZERO)
    }

    /// Returns rate and target rate after each of the timer's next `count` increases.
    fn raises(control: &mut Dcqcn, count: usize) -> Vec<(u64, u64)> {
        let raise = |_| {
            let due = control
                .next_timer(&parameters())
                .expect("there is a cut to recover from");
            control.on_timer(due, &parameters());
            (control.0.rate_bps, control.0.target_bps)
        };
        (0..count).map(raise).collect()
    }

    #[test]
    fn five_raises_halve_the_gap_and_the_next_raise_the_target() {
        let mut control = new_control();
        control.on_cnp(SimTime::from_micros(1_000), &parameters());
        control.on_cnp(SimTime::from_micros(1_050), &parameters());
        // R_T is 50 Gbit/s and R_C 25 Gbit/s. R_C approaches R_T by half: 37.5, 43.75, 46.875, 48.4375, 49.21875. Then
        // R_T is 50.04 and R_C (49.21875 + 50.04) / 2; then R_T is 50.08 and R_C (49.629375 + 50.08) / 2.
        assert_eq!(
            (control.rate(), control.0.target_bps),
            (gbit(25), 50_000_000_000)
        );
        assert_eq!(
            raises(&mut control, 7),
            [
                (37_500_000_000, 50_000_000_000),
                (43_750_000_000, 50_000_000_000),
                (46_875_000_000, 50_000_000_000),
                (48_437_500_000, 50_000_000_000),
                (49_218_750_000, 50_000_000_000),
                (49_629_375_000, 50_040_000_000),
                (49_854_687_500, 50_080_000_000),
            ]
        );
    }

    #[test]
    fn once_both_counters_are_past_fast_recovery_the_target_is_raised_more_each_time() {
        let mut control = new_control();
        control.on_cnp(SimTime::from_micros(1_000), &parameters());
        control.on_cnp(SimTime::from_micros(1_050), &parameters());
        raises(&mut control, 7);
        // By now, the timer has had 7 increases. Of the byte counter's increases, 1 to 5 are additive, 6 adds R_HAI
        // once, and 7 and 8 add it twice, because the timer's count stays 7.
        let now = SimTime::from_micros(1_050 + 7 * 55 + 1);
        let targets: Vec<u64> = (0..8)
            .map(|_| {
                for _ in 0..10 {
                    control.on_sent(now, 1_000_000, &parameters());
                }
                control.0.target_bps / 1_000_000
            })
            .collect();
        assert_eq!(
            targets,
            [
                50_120, 50_160, 50_200, 50_240, 50_280, 50_480, 50_880, 51_280
            ]
        );
    }

    #[test]
    fn a_cut_restarts_the_counters() {
        let mut control = new_control();
        control.on_cnp(SimTime::ZERO, &parameters());
        control.on_sent(SimTime::ZERO, 9_999_999, &parameters());
        control.on_cnp(SimTime::from_micros(50), &parameters());
        control.on_sent(SimTime::from_micros(51), 9_999_999, &parameters());
        assert_eq!(control.rate(), gbit(25));
        control.on_sent(SimTime::from_micros(52), 1, &parameters());
        assert_eq!(control.rate(), bits(37_500_000_000));
        assert_eq!(
            control.next_timer(&parameters()),
            Some(SimTime::from_micros(105))
        );
    }

    #[test]
    fn at_line_rate_the_timer_stops() {
        let mut control = new_control();
        control.on_cnp(SimTime::ZERO, &parameters());
        control.on_timer(SimTime::from_micros(10_000), &parameters());
        assert_eq!(
            (control.rate(), control.next_timer(&parameters())),
            (gbit(100), None)
        );
    }
}
