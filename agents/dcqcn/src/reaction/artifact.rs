//! The artifact's law: the "Mellanox" variant of `RdmaHw` in HPCC's simulator.
//!
//! The receiver answers every marked packet with a CNP. A QP's first CNP sets `α` ← 1 and `R_T` ← `R_C` and starts
//! two timers, which run until the QP ends:
//!
//! - every `K`: `α ← (1 − g) · α + g` if a CNP arrived since the last update, else `α ← (1 − g) · α`;
//! - every `D`: `R_C` is cut if a CNP arrived since the last cut.
//!
//! A cut sets `R_T ← R_C`, unless the rate was not raised since the last cut (`CLAMP_TARGET_RATE` 0), and then `R_C ←
//! R_C · (1 − α / 2)`, but not below the minimum rate. A third timer, with period `T`, restarts at each cut and
//! raises `R_C`. With `s` the number of raises since the cut, the current one excluded:
//!
//! ```text
//! s < F   R_C ← R_C / 2 + R_T / 2
//! s = F   R_T ← R_T + R_AI,  then as above
//! s > F   R_T ← R_T + R_HAI, then as above
//! ```
//!
//! `R_T` is at most the line rate. Each half is truncated to whole bits per second, as in NS-3's `DataRate`.
//!
//! If several events are due at the same time, the raise comes first, because it was scheduled before the check for a
//! cut (`T` is a multiple of `D`, so this happens). Both come before an arriving CNP, which was sent after they were
//! scheduled.

use core::cmp::Ordering;

use lab_abi::dcqcn::{DcqcnParams, MAX_RAISES, REACTION_ALPHA, REACTION_CUT, ReactionPoint};

use super::arithmetic::{NEVER, cut, decayed, raised};

/// Returns the time of the next cut or rate increase, or [`NEVER`].
pub(super) fn next_timer(point: &ReactionPoint) -> u64 {
    cut_due(point).min(point.increase_due)
}

/// Performs the cuts and rate increases that are due at `now`.
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

/// Processes a CNP that arrived at `now`.
pub(super) fn on_cnp(point: &mut ReactionPoint, now: u64, params: &DcqcnParams) {
    if point.alpha_due == NEVER {
        point.target_bps = point.rate_bps;
        point.alpha_due = now.saturating_add(params.alpha_interval);
        point.decrease_due = now.saturating_add(params.first_decrease);
        point.pending = REACTION_CUT;
        return;
    }
    update_alpha(point, now, params);
    // Checks for a cut between the last cut and now found no CNP, so they are skipped.
    if point.decrease_due <= now {
        let checks = (now - point.decrease_due) / params.decrease_interval + 1;
        point.decrease_due += checks * params.decrease_interval;
    }
    point.pending = REACTION_ALPHA | REACTION_CUT;
}

/// Performs the updates of α that are due at `now`; a pending CNP counts in the first update.
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

    /// Returns the time of a check for cuts: 1 ns after `micros`.
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
        // α is 1, so the cut halves the rate.
        assert_eq!(rates(&point), (50 * GBIT, 100 * GBIT));
        assert_eq!(next_timer(&point, &params()), Some(check(1_904)));
    }

    #[test]
    fn checks_are_on_the_first_marks_grid_and_marks_between_them_count_once() {
        let mut point = new_point();
        for micros in [1_000, 1_010, 1_011] {
            marked(&mut point, micros);
        }
        // The check at 1,004 µs cut the rate, and the check at 1,008 µs found no mark.
        assert_eq!(point.rate_bps, 50 * GBIT);
        assert_eq!(next_timer(&point, &params()), Some(check(1_012)));
        on_timer(&mut point, check(1_016), &params());
        // The rate was not raised since the first cut, so the target stays.
        assert_eq!(rates(&point), (25 * GBIT, 100 * GBIT));
    }

    #[test]
    fn a_cut_after_a_raise_makes_the_rate_the_target() {
        let mut point = new_point();
        marked(&mut point, 1_000);
        marked(&mut point, 1_010);
        // Cuts to 25 Gbit/s at 1,004 and 1,012 µs, and a raise to 12.5 + 50 Gbit/s 900 µs later.
        on_timer(&mut point, check(1_912), &params());
        assert_eq!(point.rate_bps, 62_500_000_000);
        marked(&mut point, 1_913);
        assert_eq!(next_timer(&point, &params()), Some(check(1_916)));
        on_timer(&mut point, check(1_916), &params());
        // α is 1 at 1,055 µs, because of the packet marked at 1,010 µs. The updates at 1,110, …, 1,880 µs find no new
        // mark: (255/256)^15 = 0.94298…. The packet marked at 1,913 µs counts only at 1,935 µs. 62.5 · (1 − 0.47149…)
        // Gbit/s is 33,031,824,442.5 bit/s without rounding.
        assert_eq!(rates(&point), (33_031_824_510, 62_500_000_000));
        // The rate rises to 33.03… / 2 + 62.5 / 2; then the target rises by 50 Mbit/s, then by 100 Mbit/s.
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
        // The updates at 55 and 110 µs find no mark since the first one.
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
        // α is updated at 55, 110 and 165 µs, the last time with the packet marked at 164.5 µs; the cut follows 3 µs
        // later.
        marked(&mut point, 0);
        on_timer(&mut point, check(4), &params());
        on_cnp(&mut point, 164_500, &params());
        on_timer(&mut point, check(168), &params());
        let squared = u64::from(ONE_Q30) / 65_536 * 65_025;
        let marked = squared * 255 / 256 + u64::from(ONE_Q30) / 256;
        assert_eq!(u64::from(point.alpha_q30), marked);
        // The new rate is 50 · (1 − 0.99223… / 2) Gbit/s.
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
        // A check at 1,904 µs, 900 µs after the cut at 1,004 µs: the raised rate, 75 Gbit/s, is the new target.
        marked(&mut point, 1_903);
        on_timer(&mut point, check(1_904), &params());
        assert_eq!((point.target_bps, point.timer_stage), (75 * GBIT, 0));
    }

    #[test]
    fn a_check_at_the_time_of_a_mark_has_passed() {
        let mut point = new_point();
        marked(&mut point, 1_000);
        // Each CNP arrives just after a check; the checks at 1,016 and 1,020 µs found no mark.
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
        // 99,999,999,999 / 2 is truncated to 49,999,999,999, so the last bit per second stays missing.
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
