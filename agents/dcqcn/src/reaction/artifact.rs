//! The artifact's law: the "Mellanox" variant in `RdmaHw`, from HPCC's simulator.
//!
//! The receiver answers every marked packet. The first answer sets `α` ← 1 and `R_T` ← `R_C` and starts two
//! clocks, which run until the QP's end:
//!
//! - every `K`: `α ← (1 − g) · α + g` if an answer came since the last update, else `α ← (1 − g) · α`;
//! - every `D`: `R_C` is cut if an answer came since the last cut.
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
//! `R_T` is at most the line rate. Each half is cut to whole bits per second, as NS-3's `DataRate` does.
//!
//! Of what is due at the same time, the raise comes first, as it was scheduled before the check for
//! a cut was (`T` is a multiple of `D`, so this happens), and both come before an answer, which was
//! sent later than either was scheduled.

use core::cmp::Ordering;

use lab_abi::dcqcn::{DcqcnParams, MAX_RAISES, REACTION_ALPHA, REACTION_CUT, ReactionPoint};

use super::arithmetic::{NEVER, cut, decayed, raised};

/// Returns the time of the next cut or raise, or [`NEVER`].
pub(super) fn next_timer(point: &ReactionPoint) -> u64 {
    cut_due(point).min(point.increase_due)
}

/// Does the cuts and raises that are due at `now`.
pub(super) fn on_timer(point: &mut ReactionPoint, now: u64, params: &DcqcnParams) {
    for _ in 0..MAX_RAISES {
        if next_timer(point) > now {
            return;
        }
        if point.increase_due <= cut_due(point) {
            raise(point, params);
        } else {
            cut_at_check(point, params);
        }
    }
}

/// Processes the answer to a marked packet.
pub(super) fn on_cnp(point: &mut ReactionPoint, now: u64, params: &DcqcnParams) {
    if point.alpha_due == NEVER {
        point.target_bps = point.rate_bps;
        point.alpha_due = now.saturating_add(params.alpha_interval);
        point.decrease_due = now.saturating_add(params.first_decrease);
        point.pending = REACTION_CUT;
        return;
    }
    update_alpha(point, now, params);
    // Checks since the last cut found nothing.
    if point.decrease_due <= now {
        let checks = (now - point.decrease_due) / params.decrease_interval + 1;
        point.decrease_due += checks * params.decrease_interval;
    }
    point.pending = REACTION_ALPHA | REACTION_CUT;
}

/// Does the updates of α that are due at `now`: an answer counts in the first.
pub(super) fn update_alpha(point: &mut ReactionPoint, now: u64, params: &DcqcnParams) {
    if point.alpha_due > now {
        return;
    }
    let updates = (now - point.alpha_due) / params.alpha_interval + 1;
    let mut decays = updates;
    if point.pending & REACTION_ALPHA != 0 {
        point.alpha_q30 = raised(point.alpha_q30, params.gain_q30);
        point.pending &= !REACTION_ALPHA;
        decays -= 1;
    }
    point.alpha_q30 = decayed(point.alpha_q30, decays, params.gain_q30);
    point.alpha_due += updates * params.alpha_interval;
}

const fn cut_due(point: &ReactionPoint) -> u64 {
    if point.pending & REACTION_CUT == 0 {
        NEVER
    } else {
        point.decrease_due
    }
}

fn cut_at_check(point: &mut ReactionPoint, params: &DcqcnParams) {
    let now = point.decrease_due;
    update_alpha(point, now, params);
    if point.timer_stage > 0 {
        point.target_bps = point.rate_bps;
    }
    cut(point, params);
    point.pending &= !REACTION_CUT;
    point.increase_due = now.saturating_add(params.increase_interval);
    point.timer_stage = 0;
}

fn raise(point: &mut ReactionPoint, params: &DcqcnParams) {
    let stage = point.timer_stage;
    let fast = params.fast_recovery;
    let add = match stage.cmp(&fast) {
        Ordering::Less => 0,
        Ordering::Equal => params.additive_bps,
        Ordering::Greater => params.hyper_bps,
    };
    point.target_bps = (point.target_bps + add).min(point.line_bps);
    let raised = (point.rate_bps / 2 + point.target_bps / 2).max(1);
    let is_settled = point.target_bps == point.line_bps && raised == point.rate_bps;
    point.increase_due = if is_settled {
        NEVER
    } else {
        point.increase_due + params.increase_interval
    };
    point.rate_bps = raised;
    point.timer_stage = stage.saturating_add(1);
}

#[cfg(test)]
mod tests {
    use lab_abi::dcqcn::{DcqcnParams, ONE_Q30, ReactionPoint};
    use lab_parameters::DcqcnConfig;

    use crate::{
        parameters,
        reaction::{alpha, next_timer, on_cnp, on_sent, on_timer, start},
    };

    const GBIT: u64 = 1_000_000_000;
    const MICRO: u64 = 1_000;

    fn params() -> DcqcnParams {
        parameters::of(&DcqcnConfig::ARTIFACT, 1)
    }

    fn new_point() -> ReactionPoint {
        start(100 * GBIT, &params())
    }

    /// Time of a check for cuts: `micros` and a nanosecond.
    fn check(micros: u64) -> u64 {
        micros * MICRO + 1
    }

    fn marked(point: &mut ReactionPoint, micros: u64) {
        on_cnp(point, micros * MICRO, &params());
    }

    fn rates(point: &ReactionPoint) -> (u64, u64) {
        (point.rate_bps, point.target_bps)
    }

    #[test]
    fn the_first_mark_cuts_at_the_first_check_after_it() {
        let mut point = new_point();
        marked(&mut point, 1_000);
        assert_eq!(point.rate_bps, 100 * GBIT);
        assert_eq!(next_timer(&point, &params()), Some(check(1_004)));
        on_timer(&mut point, check(1_004), &params());
        // α is 1.
        assert_eq!(rates(&point), (50 * GBIT, 100 * GBIT));
        assert_eq!(next_timer(&point, &params()), Some(check(1_904)));
    }

    #[test]
    fn checks_are_on_the_first_marks_grid_and_marks_between_them_count_once() {
        let mut point = new_point();
        for micros in [1_000, 1_010, 1_011] {
            marked(&mut point, micros);
        }
        // Checks were at 1,004 and 1,008 µs.
        assert_eq!(point.rate_bps, 50 * GBIT);
        assert_eq!(next_timer(&point, &params()), Some(check(1_012)));
        on_timer(&mut point, check(1_016), &params());
        // No raise since the first cut, so the target stays.
        assert_eq!(rates(&point), (25 * GBIT, 100 * GBIT));
    }

    #[test]
    fn a_cut_after_a_raise_makes_the_rate_the_target() {
        let mut point = new_point();
        marked(&mut point, 1_000);
        marked(&mut point, 1_010);
        // Cuts at 1,004 and 1,012 µs to 25 Gbit/s, a raise 900 µs later to 12.5 + 50.
        on_timer(&mut point, check(1_912), &params());
        assert_eq!(point.rate_bps, 62_500_000_000);
        marked(&mut point, 1_913);
        assert_eq!(next_timer(&point, &params()), Some(check(1_916)));
        on_timer(&mut point, check(1_916), &params());
        // α: at 1,055 µs with the mark of 1,010, so 1; at 1,110, …, 1,880 µs without: (255/256)^15 =
        // 0.94298…, and that of 1,913 will count at 1,935. 62.5 · (1 − 0.47149…) Gbit/s, without
        // rounding 33,031,824,442.5 bit/s.
        assert_eq!(rates(&point), (33_031_824_510, 62_500_000_000));
        // 33.03… / 2 + 62.5 / 2; then with 50 Mbit/s more in the target, then with 100.
        let raises = [1, 2, 3].map(|raise| {
            on_timer(&mut point, check(1_916 + 900 * raise), &params());
            rates(&point)
        });
        assert_eq!(
            raises,
            [
                (47_765_912_255, 62_500_000_000),
                (55_157_956_127, 62_550_000_000),
                (58_903_978_063, 62_650_000_000),
            ]
        );
    }

    #[test]
    fn a_mark_counts_once_in_alpha() {
        let mut point = new_point();
        marked(&mut point, 0);
        // Updates at 55 and 110 µs: none was marked since the first.
        let squared = u64::from(ONE_Q30) / 65_536 * 65_025;
        assert_eq!(u64::from(alpha(&point, 110 * MICRO, &params())), squared);
        marked(&mut point, 111);
        let marked = squared * 255 / 256 + u64::from(ONE_Q30) / 256;
        assert_eq!(u64::from(alpha(&point, 165 * MICRO, &params())), marked);
        assert_eq!(
            u64::from(alpha(&point, 220 * MICRO, &params())),
            marked * 255 / 256
        );
    }

    #[test]
    fn an_update_that_a_cut_makes_up_for_counts_its_mark_once() {
        let mut point = new_point();
        // Updates at 55, 110 and 165 µs, the last one with the mark of 164.5; the cut is 3 µs later.
        marked(&mut point, 0);
        on_timer(&mut point, check(4), &params());
        on_cnp(&mut point, 164_500, &params());
        on_timer(&mut point, check(168), &params());
        let squared = u64::from(ONE_Q30) / 65_536 * 65_025;
        let marked = squared * 255 / 256 + u64::from(ONE_Q30) / 256;
        assert_eq!(u64::from(point.alpha_q30), marked);
        // 50 · (1 − 0.99223… / 2) Gbit/s.
        assert_eq!(point.rate_bps, 25_194_169_580);
        assert_eq!(
            u64::from(alpha(&point, 220 * MICRO, &params())),
            marked * 255 / 256
        );
    }

    #[test]
    fn at_the_same_time_the_raise_comes_before_the_cut() {
        let mut point = new_point();
        marked(&mut point, 1_000);
        on_timer(&mut point, check(1_900), &params());
        // A check at 1,904 µs, 900 µs after the cut at 1,004: the raise to 75 is the new target.
        marked(&mut point, 1_903);
        on_timer(&mut point, check(1_904), &params());
        assert_eq!((point.target_bps, point.timer_stage), (75 * GBIT, 0));
    }

    #[test]
    fn a_check_at_the_time_of_a_mark_has_passed() {
        let mut point = new_point();
        marked(&mut point, 1_000);
        // One that cuts, and one without a mark before it.
        for (at, next) in [(1_004, 1_008), (1_008, 1_012), (1_020, 1_024)] {
            on_cnp(&mut point, check(at), &params());
            assert_eq!(next_timer(&point, &params()), Some(check(next)));
        }
    }

    #[test]
    fn time_and_bytes_alone_change_nothing() {
        let mut point = new_point();
        on_timer(&mut point, 1_000_000 * MICRO, &params());
        for _ in 0..10_000 {
            on_sent(&mut point, 1_000_000 * MICRO, 70_000, &params());
        }
        assert_eq!(point, new_point());
    }

    #[test]
    fn the_timer_stops_once_raises_change_nothing() {
        let mut point = new_point();
        marked(&mut point, 0);
        on_timer(&mut point, 100_000 * MICRO, &params());
        // 99,999,999,999 / 2 is cut to 49,999,999,999: the last bit per second stays away.
        assert_eq!(rates(&point), (99_999_999_999, 100 * GBIT));
        assert_eq!(next_timer(&point, &params()), None);
    }

    #[test]
    fn a_rate_of_one_bit_per_second_stays() {
        let mut point = start(1, &params());
        marked(&mut point, 0);
        on_timer(&mut point, 100_000 * MICRO, &params());
        assert_eq!(rates(&point), (1, 1));
    }
}
