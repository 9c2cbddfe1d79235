//! DCQCN of the artifact: the "Mellanox" variant of `RdmaHw`, from HPCC's simulator.
//!
//! There are no CNPs: each ACK of a marked packet counts as one. The first sets `α` ← 1 and
//! `R_T` ← `R_C` and starts two clocks, which run until the QP's end:
//!
//! - every `K`: `α ← (1 − g) · α + g` if an ACK was marked since the last step, else
//!   `α ← (1 − g) · α`;
//! - every `D`, at first 1 ns later, so that it follows α's: `R_C` is cut if an ACK was marked since the
//!   last cut.
//!
//! A cut: `R_T ← R_C`, unless there was no raise since the last cut (`CLAMP_TARGET_RATE` 0); then
//! `R_C ← R_C · (1 − α / 2)`, at least the minimum rate. The third clock, every `T`, restarts with
//! each cut and raises `R_C`; with `s` raises since the cut before this one:
//!
//! ```text
//! s < F   R_C ← R_C / 2 + R_T / 2
//! s = F   R_T ← R_T + R_AI,  then as above
//! s > F   R_T ← R_T + R_HAI, then as above
//! ```
//!
//! `R_T` is at most the line rate. Rates are whole bits per second, cut after each product and each
//! half, as NS-3's `DataRate` does.
//!
//! Of what is due at the same time, the raise comes first, as it was scheduled before the check for
//! a cut was (`T` is a multiple of `D`, so this happens), and both come before an ACK, which was
//! sent later than either was scheduled.
//!
//! Parameters: [`lab_plan::transport::DcqcnConfig`].

use lab_plan::transport::DcqcnConfig;
use lab_units::BitsPerSec;

use super::{
    Ack, CongestionControl, QpFacts,
    rate::{bounded, float, midway, plus, times},
};
use crate::time::SimTime;

/// Parameters of [`ArtifactDcqcn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// g.
    gain: f64,
    /// K.
    alpha_interval: SimTime,
    /// D.
    decrease_interval: SimTime,
    /// T.
    increase_interval: SimTime,
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
            alpha_interval: plan.alpha_interval_ns.into(),
            decrease_interval: plan.decrease_interval_ns.into(),
            increase_interval: plan.increase_interval_ns.into(),
            fast_recovery: plan.fast_recovery,
            additive: plan.additive_rate_bps,
            hyper: plan.hyper_rate_bps,
            min_rate: plan.min_rate_bps,
        }
    }
}

/// Reaction point of the artifact's DCQCN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArtifactDcqcn {
    /// `R_C`.
    rate: BitsPerSec,
    /// `R_T`.
    target: BitsPerSec,
    line: BitsPerSec,
    /// α, updated lazily before cuts.
    alpha: f64,
    /// Time of the next update of α; `MAX` before the first mark.
    alpha_due: SimTime,
    /// Time of the next check for a cut; only updated while a cut is wanted.
    decrease_due: SimTime,
    /// Time of the next raise; `MAX` before the first cut.
    increase_due: SimTime,
    /// Number of raises since the last cut.
    stage: u32,
    /// True if an ACK was marked since the last update of α.
    is_alpha_marked: bool,
    /// True if an ACK was marked since the last cut.
    is_cut_wanted: bool,
    /// True if raises change nothing until the next cut.
    is_settled: bool,
}

impl CongestionControl for ArtifactDcqcn {
    type Parameters = Parameters;

    fn new(_: &Parameters, facts: QpFacts, _: SimTime) -> Self {
        Self {
            rate: facts.line_rate,
            target: facts.line_rate,
            line: facts.line_rate,
            alpha: 1.0,
            alpha_due: SimTime::MAX,
            decrease_due: SimTime::MAX,
            increase_due: SimTime::MAX,
            stage: 0,
            is_alpha_marked: false,
            is_cut_wanted: false,
            is_settled: true,
        }
    }

    fn rate(&self) -> BitsPerSec {
        self.rate
    }

    fn on_ack(&mut self, now: SimTime, ack: &Ack<'_>, parameters: &Parameters) {
        if !ack.is_marked {
            return;
        }
        self.on_timer(now, parameters);
        if self.alpha_due == SimTime::MAX {
            return self.first_mark(now, parameters);
        }
        self.update_alpha(now, parameters);
        self.is_alpha_marked = true;
        if !self.is_cut_wanted {
            self.is_cut_wanted = true;
            self.decrease_due = next_on_grid(self.decrease_due, now, parameters);
        }
    }

    fn next_timer(&self) -> Option<SimTime> {
        let decrease = self.is_cut_wanted.then_some(self.decrease_due);
        let increase = (!self.is_settled).then_some(self.increase_due);
        match (decrease, increase) {
            (Some(decrease), Some(increase)) => Some(decrease.min(increase)),
            (one, other) => one.or(other),
        }
    }

    fn on_timer(&mut self, now: SimTime, parameters: &Parameters) {
        while let Some(due) = self.next_timer().filter(|due| *due <= now) {
            if !self.is_settled && self.increase_due == due {
                self.raise(parameters);
            } else {
                self.cut(parameters);
            }
        }
    }
}

impl ArtifactDcqcn {
    fn first_mark(&mut self, now: SimTime, parameters: &Parameters) {
        self.alpha = 1.0;
        self.target = self.rate;
        self.alpha_due = now + parameters.alpha_interval;
        self.decrease_due = now + parameters.decrease_interval + AFTER_ALPHA;
        self.is_cut_wanted = true;
    }

    /// Does all updates of α that are due; the mark counts in the first.
    fn update_alpha(&mut self, now: SimTime, parameters: &Parameters) {
        while self.alpha_due <= now {
            let kept = (1.0 - parameters.gain) * self.alpha;
            let updated = if self.is_alpha_marked {
                kept + parameters.gain
            } else {
                kept
            };
            let is_still = updated == self.alpha && !self.is_alpha_marked;
            self.is_alpha_marked = false;
            self.alpha = updated;
            self.alpha_due = if is_still {
                skip_to(self.alpha_due, parameters.alpha_interval, now)
            } else {
                self.alpha_due + parameters.alpha_interval
            };
        }
    }

    fn cut(&mut self, parameters: &Parameters) {
        let now = self.decrease_due;
        self.decrease_due += parameters.decrease_interval;
        self.is_cut_wanted = false;
        self.update_alpha(now, parameters);
        if self.stage > 0 {
            self.target = self.rate;
        }
        let cut = times(self.rate, 1.0 - self.alpha / 2.0);
        self.rate = bounded(cut, parameters.min_rate, self.line);
        self.stage = 0;
        self.increase_due = now + parameters.increase_interval;
        self.is_settled = false;
    }

    fn raise(&mut self, parameters: &Parameters) {
        self.increase_due += parameters.increase_interval;
        let fast = parameters.fast_recovery;
        if self.stage >= fast {
            let raise = if self.stage == fast {
                parameters.additive
            } else {
                parameters.hyper
            };
            self.target = plus(self.target, raise).min(self.line);
        }
        let raised = midway(self.rate, self.target);
        self.is_settled = self.stage > fast && self.target == self.line && raised == self.rate;
        self.rate = raised;
        self.stage = self.stage.saturating_add(1);
    }
}

/// Returns the first point after `now` of the grid through `point`.
fn next_on_grid(point: SimTime, now: SimTime, parameters: &Parameters) -> SimTime {
    if point > now {
        return point;
    }
    skip_to(point, parameters.decrease_interval, now)
}

/// Returns the first of `point`, `point + interval`, … after `now`; `now` is not before `point`.
fn skip_to(point: SimTime, interval: SimTime, now: SimTime) -> SimTime {
    let steps = (now - point).picos() / interval.picos() + 1;
    point + SimTime::from_picos(steps * interval.picos())
}

/// Extra delay of the first check for a cut: `ScheduleDecreaseRateMlx(q, 1)`.
const AFTER_ALPHA: SimTime = SimTime::from_picos(1_000);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, gbit, qp_facts};

    fn parameters() -> Parameters {
        Parameters::from(&DcqcnConfig::ARTIFACT)
    }

    fn new_control() -> ArtifactDcqcn {
        let facts = qp_facts(20_000, 250_000_000);
        ArtifactDcqcn::new(&parameters(), facts, SimTime::ZERO)
    }

    fn marked_at(control: &mut ArtifactDcqcn, at: SimTime) {
        let ack = Ack {
            is_marked: true,
            ..ack(1_000, 2_000)
        };
        control.on_ack(at, &ack, &parameters());
    }

    fn marked(control: &mut ArtifactDcqcn, micros: u64) {
        marked_at(control, SimTime::from_micros(micros));
    }

    /// Time of a check for cuts: `micros` and a nanosecond.
    fn on_grid(micros: u64) -> SimTime {
        SimTime::from_picos(micros * 1_000_000 + 1_000)
    }

    #[test]
    fn the_first_mark_cuts_at_the_first_check_after_it() {
        let mut control = new_control();
        marked(&mut control, 1_000);
        assert_eq!(control.rate(), gbit(100));
        assert_eq!(control.next_timer(), Some(on_grid(1_004)));
        control.on_timer(on_grid(1_004), &parameters());
        // α is 1.
        assert_eq!((control.rate, control.target), (gbit(50), gbit(100)));
        assert_eq!(control.next_timer(), Some(on_grid(1_904)));
    }

    #[test]
    fn checks_are_on_the_first_marks_grid_and_marks_between_them_count_once() {
        let mut control = new_control();
        marked(&mut control, 1_000);
        marked(&mut control, 1_010);
        marked(&mut control, 1_011);
        // Checks were at 1,004 and 1,008 µs.
        assert_eq!(control.rate(), gbit(50));
        assert_eq!(control.next_timer(), Some(on_grid(1_012)));
        control.on_timer(on_grid(1_016), &parameters());
        // No raise since the first cut, so the target stays.
        assert_eq!((control.rate, control.target), (gbit(25), gbit(100)));
    }

    #[test]
    fn a_cut_after_a_raise_makes_the_rate_the_target() {
        let mut control = new_control();
        marked(&mut control, 1_000);
        marked(&mut control, 1_010);
        // Cuts at 1,004 and 1,012 µs to 25 Gbit/s, a raise 900 µs later to 12.5 + 50.
        control.on_timer(on_grid(1_912), &parameters());
        assert_eq!(control.rate().get(), 62_500_000_000);
        marked(&mut control, 1_913);
        assert_eq!(control.next_timer(), Some(on_grid(1_916)));
        control.on_timer(on_grid(1_916), &parameters());
        // α: at 1,055 µs with the mark of 1,010, so 1; at 1,110, …, 1,880 µs without: (255/256)^15 =
        // 0.94298…, and that of 1,913 will count at 1,935. 62.5 · (1 − 0.47149…) Gbit/s.
        assert_eq!(control.target.get(), 62_500_000_000);
        assert_eq!(control.rate.get(), 33_031_824_442);
        // 33.03… / 2 + 62.5 / 2; then with 50 Mbit/s more in the target, then with 100.
        let raises = [1, 2, 3].map(|raise| {
            control.on_timer(on_grid(1_916 + 900 * raise), &parameters());
            (control.rate.get(), control.target.get())
        });
        assert_eq!(
            raises,
            [
                (47_765_912_221, 62_500_000_000),
                (55_157_956_110, 62_550_000_000),
                (58_903_978_055, 62_650_000_000),
            ]
        );
    }

    #[test]
    fn at_the_same_time_the_raise_comes_before_the_cut() {
        let mut control = new_control();
        marked(&mut control, 1_000);
        control.on_timer(on_grid(1_900), &parameters());
        // A check at 1,904 µs, 900 µs after the cut at 1,004: the raise to 75 is the new target.
        marked(&mut control, 1_903);
        control.on_timer(on_grid(1_904), &parameters());
        assert_eq!(control.target.get(), 75_000_000_000);
        assert_eq!(control.stage, 0);
    }

    #[test]
    fn a_check_at_the_time_of_a_mark_has_passed() {
        let mut control = new_control();
        marked(&mut control, 1_000);
        control.on_timer(on_grid(1_004), &parameters());
        marked_at(&mut control, on_grid(1_008));
        assert_eq!(control.next_timer(), Some(on_grid(1_012)));
    }

    #[test]
    fn acks_without_marks_and_time_alone_change_nothing() {
        let mut control = new_control();
        control.on_ack(SimTime::from_micros(5), &ack(1_000, 2_000), &parameters());
        control.on_timer(SimTime::from_micros(1_000_000), &parameters());
        assert_eq!(control, new_control());
    }

    #[test]
    fn the_timer_stops_once_raises_change_nothing() {
        let mut control = new_control();
        marked(&mut control, 0);
        control.on_timer(SimTime::from_micros(100_000), &parameters());
        // 99,999,999,999 / 2 is cut to 49,999,999,999: the last bit per second stays away.
        assert_eq!(control.rate.get(), 99_999_999_999);
        assert_eq!((control.target, control.next_timer()), (gbit(100), None));
    }
}
