//! DCQCN as published: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
//! '15, section 3.
//!
//! The receiver sends a CNP for a marked packet, at most one per QP in `N`. The sender has a rate
//! `R_C`, a target `R_T` and an estimate of congestion `α`, 1 at first.
//!
//! On a CNP (Eq. 1):
//!
//! ```text
//! R_T ← R_C
//! R_C ← R_C · (1 − α / 2), at least the minimum rate
//! α   ← (1 − g) · α + g
//! ```
//!
//! and all counters restart. After each `K` without a CNP (Eq. 2): `α ← (1 − g) · α`.
//!
//! The rate is raised after each `T` and after each `B` bytes since the last cut. With `t` and `b` the
//! numbers of these raises since the cut, the current one included:
//!
//! ```text
//! max(t, b) ≤ F   fast recovery      R_C ← (R_T + R_C) / 2
//! min(t, b) > F   hyper increase     R_T ← R_T + (min(t, b) − F) · R_HAI, then as above
//! else            additive increase  R_T ← R_T + R_AI, then as above
//! ```
//!
//! `R_T` is at most the line rate. The paper's text has `F` iterations of fast recovery, its figure
//! 7 `F` − 1 (`max(t, b) < F`): this code follows the text. The text does not define the growth of hyper
//! increase; as in the authors' NS-3 code and QCN (802.1Qau), the factor is min(t, b) − `F`.
//!
//! Parameters: [`lab_plan::transport::DcqcnConfig`]. Payload, headers and CRC count as bytes sent.

use lab_plan::transport::DcqcnConfig;
use lab_units::BitsPerSec;

use super::{
    Ack, CongestionControl, Notification, QpFacts,
    rate::{average, bounded, float, plus, times},
};
use crate::time::SimTime;

/// Parameters of [`Dcqcn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// g.
    gain: f64,
    /// N.
    cnp_interval: SimTime,
    /// K.
    alpha_interval: SimTime,
    /// T.
    increase_interval: SimTime,
    /// B.
    byte_counter: u64,
    /// F.
    fast_recovery: u32,
    /// `R_AI`.
    additive: BitsPerSec,
    /// `R_HAI`.
    hyper: BitsPerSec,
    min_rate: BitsPerSec,
}

impl From<&DcqcnConfig> for Parameters {
    fn from(plan: &DcqcnConfig) -> Self {
        Self {
            gain: float(plan.gain),
            cnp_interval: plan.cnp_interval_ns.into(),
            alpha_interval: plan.alpha_interval_ns.into(),
            increase_interval: plan.increase_interval_ns.into(),
            byte_counter: plan.byte_counter_bytes.get(),
            fast_recovery: plan.fast_recovery,
            additive: plan.additive_rate_bps,
            hyper: plan.hyper_rate_bps,
            min_rate: plan.min_rate_bps,
        }
    }
}

/// DCQCN's reaction point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dcqcn {
    /// `R_C`.
    rate: BitsPerSec,
    /// `R_T`.
    target: BitsPerSec,
    line: BitsPerSec,
    /// α, updated lazily before cuts.
    alpha: f64,
    /// Time of the next decay of α.
    alpha_due: SimTime,
    /// Time of the next raise by the timer.
    increase_due: SimTime,
    /// Bytes to send until the byte counter raises the rate.
    bytes_left: u64,
    /// Raises by the timer since the last cut.
    timer_stage: u32,
    /// Raises by the byte counter since the last cut.
    byte_stage: u32,
}

impl CongestionControl for Dcqcn {
    type Parameters = Parameters;

    fn notification(parameters: &Parameters) -> Notification {
        Notification::Cnp(parameters.cnp_interval)
    }

    fn new(parameters: &Parameters, facts: QpFacts, _: SimTime) -> Self {
        Self {
            rate: facts.line_rate,
            target: facts.line_rate,
            line: facts.line_rate,
            alpha: 1.0,
            alpha_due: SimTime::MAX,
            increase_due: SimTime::MAX,
            bytes_left: parameters.byte_counter,
            timer_stage: 0,
            byte_stage: 0,
        }
    }

    fn rate(&self) -> BitsPerSec {
        self.rate
    }

    fn on_sent(&mut self, now: SimTime, wire_bytes: u32, parameters: &Parameters) {
        self.on_timer(now, parameters);
        if self.is_settled() {
            return;
        }
        let mut sent = u64::from(wire_bytes);
        while sent >= self.bytes_left {
            sent -= self.bytes_left;
            self.bytes_left = parameters.byte_counter;
            self.byte_stage += 1;
            self.raise(parameters);
        }
        self.bytes_left -= sent;
    }

    fn on_ack(&mut self, _: SimTime, _: &Ack<'_>, _: &Parameters) {}

    fn on_cnp(&mut self, now: SimTime, parameters: &Parameters) {
        self.on_timer(now, parameters);
        self.decay(now, parameters);
        self.target = self.rate;
        let cut = times(self.rate, 1.0 - self.alpha / 2.0);
        self.rate = bounded(cut, parameters.min_rate, self.line);
        self.alpha = (1.0 - parameters.gain) * self.alpha + parameters.gain;
        self.alpha_due = now + parameters.alpha_interval;
        self.increase_due = now + parameters.increase_interval;
        self.bytes_left = parameters.byte_counter;
        self.timer_stage = 0;
        self.byte_stage = 0;
    }

    fn next_timer(&self) -> Option<SimTime> {
        (!self.is_settled()).then_some(self.increase_due)
    }

    fn on_timer(&mut self, now: SimTime, parameters: &Parameters) {
        while self.increase_due <= now && !self.is_settled() {
            self.increase_due += parameters.increase_interval;
            self.timer_stage += 1;
            self.raise(parameters);
        }
    }
}

impl Dcqcn {
    /// Returns true if raises change nothing until the next cut.
    fn is_settled(&self) -> bool {
        self.rate == self.line && self.target == self.line
    }

    /// Does the decays of α that are due (Eq. 2).
    fn decay(&mut self, now: SimTime, parameters: &Parameters) {
        while self.alpha_due <= now {
            self.alpha_due += parameters.alpha_interval;
            let decayed = (1.0 - parameters.gain) * self.alpha;
            if decayed == self.alpha {
                break;
            }
            self.alpha = decayed;
        }
    }

    fn raise(&mut self, parameters: &Parameters) {
        let fast = parameters.fast_recovery;
        let max = self.timer_stage.max(self.byte_stage);
        let min = self.timer_stage.min(self.byte_stage);
        if min > fast {
            let hyper = parameters.hyper.get().saturating_mul((min - fast).into());
            let target = self.target.get().saturating_add(hyper);
            self.target = BitsPerSec::new(target).map_or(self.line, |target| target.min(self.line));
        } else if max > fast {
            self.target = plus(self.target, parameters.additive).min(self.line);
        }
        self.rate = close_in(self.rate, self.target);
    }
}

/// Returns the rate halfway to the target; the target itself if less than 2 bit/s are missing.
fn close_in(rate: BitsPerSec, target: BitsPerSec) -> BitsPerSec {
    if rate.get().abs_diff(target.get()) < 2 {
        return target;
    }
    average(rate, target)
}

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

    /// Rate and target after each of the timer's next `count` raises.
    fn raises(control: &mut Dcqcn, count: usize) -> Vec<(u64, u64)> {
        let raise = |_| {
            let due = control
                .next_timer()
                .expect("there is a cut to recover from");
            control.on_timer(due, &parameters());
            (control.rate.get(), control.target.get())
        };
        (0..count).map(raise).collect()
    }

    #[test]
    fn the_first_cnp_halves_the_rate() {
        let mut control = new_control();
        assert_eq!((control.rate(), control.next_timer()), (gbit(100), None));
        control.on_cnp(SimTime::from_micros(1_000), &parameters());
        // α is 1, so R_C is 100 · (1 − 1/2), and α stays (1 − g) · 1 + g = 1.
        assert_eq!((control.rate, control.target), (gbit(50), gbit(100)));
        assert_eq!(control.alpha, 1.0);
        assert_eq!(control.next_timer(), Some(SimTime::from_micros(1_055)));
    }

    #[test]
    fn five_raises_halve_the_gap_and_the_next_raise_the_target() {
        let mut control = new_control();
        control.on_cnp(SimTime::from_micros(1_000), &parameters());
        control.on_cnp(SimTime::from_micros(1_050), &parameters());
        // R_T 50 Gbit/s, R_C 25: halfway is 37.5, 43.75, 46.875, 48.4375, 49.21875. Then R_T is
        // 50.04 and R_C (49.21875 + 50.04) / 2; R_T is 50.08, R_C (49.629375 + 50.08) / 2.
        assert_eq!((control.rate, control.target), (gbit(25), gbit(50)));
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
        // The timer is at 7. Of the byte counter's raises, 1 to 5 are additive, 6 adds once R_HAI,
        // 7 twice, and 8 twice too, as the timer is still at 7.
        let now = SimTime::from_micros(1_050 + 7 * 55 + 1);
        let targets: Vec<u64> = (0..8)
            .map(|_| {
                for _ in 0..10 {
                    control.on_sent(now, 1_000_000, &parameters());
                }
                control.target.get() / 1_000_000
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
    fn alpha_decays_once_in_each_interval_without_a_cnp() {
        let mut control = new_control();
        control.on_cnp(SimTime::ZERO, &parameters());
        control.on_cnp(SimTime::from_micros(115), &parameters());
        // Raises at 55 and 110 µs: 75, then 87.5 Gbit/s. α decayed at 55 and 110 µs: (255/256)² =
        // 0.99220…, so R_C is 87.5 · (1 − 0.49610…); then α ← 255/256 · 0.99220… + 1/256.
        assert_eq!(control.target, bits(87_500_000_000));
        assert_eq!(control.rate, bits(44_091_129_302));
        assert_eq!(
            control.alpha,
            255.0 / 256.0 * (65_025.0 / 65_536.0) + 1.0 / 256.0
        );
    }

    #[test]
    fn a_cut_restarts_the_counters() {
        let mut control = new_control();
        control.on_cnp(SimTime::ZERO, &parameters());
        control.on_sent(SimTime::ZERO, 9_999_999, &parameters());
        control.on_cnp(SimTime::from_micros(50), &parameters());
        control.on_sent(SimTime::from_micros(51), 9_999_999, &parameters());
        assert_eq!(control.rate, gbit(25));
        control.on_sent(SimTime::from_micros(52), 1, &parameters());
        assert_eq!(control.rate, bits(37_500_000_000));
        assert_eq!(control.next_timer(), Some(SimTime::from_micros(105)));
    }

    #[test]
    fn at_line_rate_the_timer_stops() {
        let mut control = new_control();
        control.on_cnp(SimTime::ZERO, &parameters());
        control.on_timer(SimTime::from_micros(10_000), &parameters());
        assert_eq!((control.rate, control.next_timer()), (gbit(100), None));
    }

    #[test]
    fn cnps_do_not_cut_below_the_minimum_rate() {
        let mut control = new_control();
        for _ in 0..20 {
            control.on_cnp(SimTime::ZERO, &parameters());
        }
        assert_eq!(control.rate, bits(100_000_000));
    }
}
