//! The law as published (section 3).
//!
//! On a CNP (Eq. 1):
//!
//! ```text
//! R_T ← R_C
//! R_C ← R_C · (1 − α / 2), at least the minimum rate
//! α   ← (1 − g) · α + g
//! ```
//!
//! and restarts all counters. After each `K` without a CNP (Eq. 2): `α ← (1 − g) · α`.
//!
//! The rate is raised after each `T` and after each `B` bytes since the last cut. `t` and `b` are the numbers of
//! these raises since the cut, including the current one:
//!
//! ```text
//! max(t, b) ≤ F   fast recovery      R_C ← (R_T + R_C) / 2
//! min(t, b) > F   hyper increase     R_T ← R_T + (min(t, b) − F) · R_HAI, then as above
//! else            additive increase  R_T ← R_T + R_AI, then as above
//! ```
//!
//! `R_T` is at most the line rate. The paper's text has `F` iterations of fast recovery, its figure 7 has `F` − 1
//! (`max(t, b) < F`); this code follows the text. The text does not define how the hyper increase grows; as in the
//! authors' NS-3 code and QCN (802.1Qau), the factor here is min(t, b) − `F`.

use lab_abi::dcqcn::{DcqcnParams, MAX_HYPER_STAGES, MAX_RAISES, ReactionPoint};

use super::arithmetic::{NEVER, cut, decayed, raised};

/// Returns the time of the timer's next rate increase, or [`NEVER`] if increases have no effect.
pub(super) const fn next_timer(point: &ReactionPoint) -> u64 {
    if is_settled(point) {
        NEVER
    } else {
        point.increase_due
    }
}

/// Performs the timer's rate increases that are due at `now`.
pub(super) fn on_timer(point: &mut ReactionPoint, now: u64, params: &DcqcnParams) {
    for _ in 0..MAX_RAISES {
        if point.increase_due > now || is_settled(point) {
            return;
        }
        point.increase_due += params.increase_interval;
        point.timer_stage += 1;
        raise(point, params);
    }
}

/// Counts the bytes of a sent packet, and performs the rate increases that the byte counter triggers.
pub(super) fn on_sent(point: &mut ReactionPoint, wire_bytes: u32, params: &DcqcnParams) {
    if is_settled(point) {
        return;
    }
    let mut sent = u64::from(wire_bytes);
    while sent >= point.bytes_left {
        sent -= point.bytes_left;
        point.bytes_left = params.byte_counter;
        point.byte_stage += 1;
        raise(point, params);
    }
    point.bytes_left -= sent;
}

/// Cuts the rate for a CNP that arrived at `now`.
pub(super) fn on_cnp(point: &mut ReactionPoint, now: u64, params: &DcqcnParams) {
    point.alpha_q30 = alpha(point, now, params);
    point.target_bps = point.rate_bps;
    cut(point, params);
    point.alpha_q30 = raised(point.alpha_q30, params.gain_q30);
    point.alpha_due = now.saturating_add(params.alpha_interval);
    point.increase_due = now.saturating_add(params.increase_interval);
    point.bytes_left = params.byte_counter;
    point.timer_stage = 0;
    point.byte_stage = 0;
}

/// Returns α (Q30) after the decays that are due at `now`.
pub(super) fn alpha(point: &ReactionPoint, now: u64, params: &DcqcnParams) -> u32 {
    if point.alpha_due > now {
        return point.alpha_q30;
    }
    let decays = (now - point.alpha_due) / params.alpha_interval + 1;
    decayed(point.alpha_q30, decays, params.gain_q30)
}

/// Returns true if rate increases have no effect until the next cut, because both rates are at the line rate.
const fn is_settled(point: &ReactionPoint) -> bool {
    point.rate_bps == point.line_bps && point.target_bps == point.line_bps
}

fn raise(point: &mut ReactionPoint, params: &DcqcnParams) {
    let max = point.timer_stage.max(point.byte_stage);
    let min = point.timer_stage.min(point.byte_stage);
    let fast = params.fast_recovery;
    let add = if min > fast {
        u64::from((min - fast).min(MAX_HYPER_STAGES)) * params.hyper_bps
    } else if max > fast {
        params.additive_bps
    } else {
        0
    };
    point.target_bps = (point.target_bps + add).min(point.line_bps);
    point.rate_bps = if point.rate_bps + 2 > point.target_bps {
        // The gap is below 2 bit/s, and half of it would round to 0.
        point.target_bps
    } else {
        point.rate_bps.midpoint(point.target_bps)
    };
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
        parameters::of(&DcqcnConfig::PAPER, 1)
    }

    fn new_point() -> ReactionPoint {
        start(100 * GBIT, &params())
    }

    /// Returns a QP with R_C = 25 and R_T = 50 Gbit/s: the state after two CNPs at time 0, with α still 1.
    fn cut_twice() -> ReactionPoint {
        let mut point = new_point();
        on_cnp(&mut point, 0, &params());
        on_cnp(&mut point, 0, &params());
        assert_eq!(rates(&point), (25 * GBIT, 50 * GBIT));
        point
    }

    /// Returns the current rate R_C and the target rate R_T, in bit/s.
    fn rates(point: &ReactionPoint) -> (u64, u64) {
        (point.rate_bps, point.target_bps)
    }

    #[test]
    fn the_first_cnp_halves_the_rate() {
        let mut point = new_point();
        let params = params();
        assert_eq!(
            (point.rate_bps, next_timer(&point, &params)),
            (100 * GBIT, None)
        );
        on_cnp(&mut point, 1_000 * MICRO, &params);
        // α is 1, so R_C is 100 · (1 − 1/2), and α stays (1 − g) · 1 + g = 1.
        assert_eq!((point.rate_bps, point.target_bps), (50 * GBIT, 100 * GBIT));
        assert_eq!(point.alpha_q30, ONE_Q30);
        assert_eq!(next_timer(&point, &params), Some(1_055 * MICRO));
    }

    #[test]
    fn alpha_decays_once_in_each_interval_without_a_cnp() {
        let mut point = new_point();
        on_cnp(&mut point, 0, &params());
        on_cnp(&mut point, 115 * MICRO, &params());
        // Raises at 55 and 110 µs: 75, then 87.5 Gbit/s. α decayed at 55 and 110 µs: (255/256)² =
        // 0.99220…, so R_C is 87.5 · (1 − 0.49610…); then α ← 255/256 · 0.99220… + 1/256.
        assert_eq!(point.target_bps, 87_500_000_000);
        assert_eq!(point.rate_bps, 44_091_129_302);
        let squared = (1 << 30) / 65_536 * 65_025;
        assert_eq!(
            u64::from(point.alpha_q30),
            squared * 255 / 256 + (1 << 30) / 256
        );
    }

    #[test]
    fn cnps_do_not_cut_below_the_minimum_rate() {
        let mut point = new_point();
        for _ in 0..20 {
            on_cnp(&mut point, 0, &params());
        }
        assert_eq!(point.rate_bps, 100_000_000);
    }

    #[test]
    fn after_a_pause_every_raise_is_made_up_for() {
        let mut punctual = new_point();
        let params = params();
        on_cnp(&mut punctual, 0, &params);
        on_cnp(&mut punctual, 50 * MICRO, &params);
        let mut late = punctual;
        while let Some(due) = next_timer(&punctual, &params) {
            on_timer(&mut punctual, due, &params);
        }
        on_timer(&mut late, GBIT, &params);
        assert_eq!(late, punctual);
        assert_eq!(late.rate_bps, 100 * GBIT);
    }

    /// Eq. 2: α ← (1 − g) · α once 55 µs have passed without a CNP, with g = 1/256, and again at 110 µs.
    #[test]
    fn alpha_decays_at_the_end_of_its_interval_and_not_before() {
        let mut point = new_point();
        on_cnp(&mut point, 0, &params());
        let at = |time| alpha(&point, time, &params());
        let once = ONE_Q30 / 256 * 255;
        let twice = ONE_Q30 / 65_536 * 65_025;
        assert_eq!([at(0), at(54_999), at(55_000)], [ONE_Q30, ONE_Q30, once]);
        assert_eq!([at(109_999), at(110_000)], [once, twice]);
    }

    /// The first F = 5 raises, at 55, …, 275 µs, halve the gap to the target; each later one first adds
    /// R_AI = 40 Mbit/s to R_T.
    #[test]
    fn the_timer_recovers_five_times_and_then_raises_the_target() {
        let mut point = cut_twice();
        let params = params();
        let raises = [1, 2, 3, 4, 5, 6, 7].map(|raise| {
            on_timer(&mut point, raise * 55 * MICRO - 1, &params);
            let before = rates(&point);
            on_timer(&mut point, raise * 55 * MICRO, &params);
            assert_ne!(rates(&point), before, "raise {raise}");
            rates(&point)
        });
        let expected = [
            (37_500_000_000, 50_000_000_000),
            (43_750_000_000, 50_000_000_000),
            (46_875_000_000, 50_000_000_000),
            (48_437_500_000, 50_000_000_000),
            (49_218_750_000, 50_000_000_000),
            (49_629_375_000, 50_040_000_000),
            (49_854_687_500, 50_080_000_000),
        ];
        assert_eq!(raises, expected);
    }

    /// A raise follows every B = 10 MB; a packet's bytes beyond that count towards the next raise.
    #[test]
    fn the_byte_counter_raises_after_each_ten_megabytes() {
        let mut point = cut_twice();
        let params = params();
        let mut after = |bytes| {
            on_sent(&mut point, 0, bytes, &params);
            (point.rate_bps, point.byte_stage)
        };
        assert_eq!(after(6_000_000), (25 * GBIT, 0));
        assert_eq!(after(3_999_999), (25 * GBIT, 0));
        assert_eq!(after(1), (37_500_000_000, 1));
        assert_eq!(after(13_000_000), (43_750_000_000, 2));
        assert_eq!(after(6_999_999), (43_750_000_000, 2));
        assert_eq!(after(1), (46_875_000_000, 3));
        // The 20 MB cause two increases at once; the next one is the first past F and adds 40 Mbit/s to the target.
        assert_eq!(after(20_000_000), (49_218_750_000, 5));
        assert_eq!(after(10_000_000), (49_629_375_000, 6));
        on_cnp(&mut point, 0, &params);
        assert_eq!((point.bytes_left, point.byte_stage), (10_000_000, 0));
    }

    /// After t raises by the timer and b by bytes, a raise adds 40 Mbit/s to R_T if one of t and b is above F = 5,
    /// and (min(t, b) − 5) · 200 Mbit/s if both are.
    #[test]
    fn the_target_grows_faster_once_timer_and_bytes_are_past_recovery() {
        let mut point = cut_twice();
        let params = params();
        on_timer(&mut point, 330 * MICRO, &params);
        assert_eq!(point.target_bps, 50_040_000_000, "t = 6");
        let targets = [1, 2, 3, 4, 5, 6].map(|_| {
            on_sent(&mut point, 330 * MICRO, 10_000_000, &params);
            point.target_bps
        });
        let expected = [50_080, 50_120, 50_160, 50_200, 50_240, 50_440].map(|it| it * 1_000_000);
        assert_eq!(targets, expected, "t = 6, b = 1 to 6");
        // Each of the six raises adds its increase of R_T to the gap and then halves it; R_C is rounded down.
        assert_eq!(point.rate_bps, 50_314_208_984);
        on_timer(&mut point, 385 * MICRO, &params);
        assert_eq!(
            rates(&point),
            (50_477_104_492, 50_640_000_000),
            "t = 7, b = 6"
        );
        on_sent(&mut point, 385 * MICRO, 10_000_000, &params);
        assert_eq!(
            rates(&point),
            (50_758_552_246, 51_040_000_000),
            "t = 7, b = 7"
        );
    }

    /// An increase leaves 1 bit/s of a 2 bit/s gap between R_C and R_T, and closes a 1 bit/s gap.
    #[test]
    fn a_raise_closes_a_gap_of_less_than_two_bits_per_second() {
        let params = params();
        let after = |missing| {
            let mut point = ReactionPoint {
                rate_bps: 50 * GBIT - missing,
                target_bps: 50 * GBIT,
                ..cut_twice()
            };
            on_timer(&mut point, 55 * MICRO, &params);
            50 * GBIT - point.rate_bps
        };
        assert_eq!([4, 3, 2, 1, 0].map(after), [2, 2, 1, 0, 0]);
    }
}
