//! Reaction point: the rate of a sending QP.
//!
//! The sender has a rate `R_C`, a target `R_T` and an estimate of congestion `α`, 1 at first.
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
//! Timers have no clock of their own: each event first makes up for the raises due at its time. α is
//! made up for at the next cut, by `n` decays at once, as a power by repeated squaring. Products in Q30
//! are rounded down, `R_C` of a cut too.

use lab_abi::dcqcn::{
    DcqcnParams, MAX_HYPER_STAGES, MAX_RAISES, MAX_RATE_BPS, ONE_Q30, ReactionPoint,
};

/// Returns the state of a QP that starts at the rate of its NIC, at most [`MAX_RATE_BPS`].
#[must_use]
pub const fn start(line_bps: u64, params: &DcqcnParams) -> ReactionPoint {
    let line_bps = if line_bps > MAX_RATE_BPS {
        MAX_RATE_BPS
    } else {
        line_bps
    };
    ReactionPoint {
        rate_bps: line_bps,
        target_bps: line_bps,
        line_bps,
        alpha_due: NEVER,
        increase_due: NEVER,
        bytes_left: params.byte_counter,
        alpha_q30: ONE_Q30,
        timer_stage: 0,
        byte_stage: 0,
        pad: 0,
    }
}

/// Returns true if raises change nothing until the next cut.
#[must_use]
pub const fn is_settled(point: &ReactionPoint) -> bool {
    point.rate_bps == point.line_bps && point.target_bps == point.line_bps
}

/// Returns the time of the timer's next raise, unless it would change nothing.
#[must_use]
pub const fn next_timer(point: &ReactionPoint) -> Option<u64> {
    if is_settled(point) {
        None
    } else {
        Some(point.increase_due)
    }
}

/// Does the timer's raises that are due at `now`.
pub fn on_timer(point: &mut ReactionPoint, now: u64, params: &DcqcnParams) {
    for _ in 0..MAX_RAISES {
        if point.increase_due > now || is_settled(point) {
            return;
        }
        point.increase_due += params.increase_interval;
        point.timer_stage += 1;
        raise(point, params);
    }
}

/// Counts the bytes of a packet sent at `now`, and does the byte counter's raises.
pub fn on_sent(point: &mut ReactionPoint, now: u64, wire_bytes: u32, params: &DcqcnParams) {
    on_timer(point, now, params);
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
pub fn on_cnp(point: &mut ReactionPoint, now: u64, params: &DcqcnParams) {
    on_timer(point, now, params);
    point.alpha_q30 = alpha(point, now, params);
    point.target_bps = point.rate_bps;
    let cut = point.rate_bps - half_of(point.rate_bps, point.alpha_q30);
    point.rate_bps = cut.max(params.min_bps).min(point.line_bps);
    let kept = times(
        u64::from(point.alpha_q30),
        u64::from(ONE_Q30 - params.gain_q30),
    );
    point.alpha_q30 = whole(kept) + params.gain_q30;
    point.alpha_due = now.saturating_add(params.alpha_interval);
    point.increase_due = now.saturating_add(params.increase_interval);
    point.bytes_left = params.byte_counter;
    point.timer_stage = 0;
    point.byte_stage = 0;
}

/// Returns α with the decays that are due at `now`.
#[must_use]
pub fn alpha(point: &ReactionPoint, now: u64, params: &DcqcnParams) -> u32 {
    if point.alpha_due > now {
        return point.alpha_q30;
    }
    let decays = (now - point.alpha_due) / params.alpha_interval + 1;
    decayed(point.alpha_q30, decays, params.gain_q30)
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
        // Less than 2 bit/s are missing, half of which would be nothing.
        point.target_bps
    } else {
        point.rate_bps.midpoint(point.target_bps)
    };
}

/// Returns `rate · α / 2` rounded up, for rates up to [`MAX_RATE_BPS`]: two products of 64 bits.
fn half_of(rate: u64, alpha_q30: u32) -> u64 {
    let alpha = u64::from(alpha_q30);
    let (high, low) = (rate >> SPLIT, rate & ((1 << SPLIT) - 1));
    let carried = (low * alpha).div_ceil(1 << SPLIT);
    (high * alpha + carried).div_ceil(1 << (31 - SPLIT))
}

/// Returns `α · (1 − g)^n`.
fn decayed(alpha_q30: u32, decays: u64, gain_q30: u32) -> u32 {
    if decays >> DECAY_BITS != 0 {
        return 0;
    }
    let mut alpha = u64::from(alpha_q30);
    let mut factor = u64::from(ONE_Q30 - gain_q30);
    for bit in 0..DECAY_BITS {
        if decays >> bit & 1 == 1 {
            alpha = times(alpha, factor);
        }
        factor = times(factor, factor);
    }
    whole(alpha)
}

/// Returns the product of two fractions in Q30, rounded down.
const fn times(a: u64, b: u64) -> u64 {
    (a * b) >> 30
}

/// Returns a fraction of at most one as the 32 bits that it has.
fn whole(fraction_q30: u64) -> u32 {
    u32::try_from(fraction_q30).unwrap_or(ONE_Q30)
}

/// Time of an event that no cut has scheduled.
const NEVER: u64 = u64::MAX;

/// Bits of a rate's lower part in a product with α.
const SPLIT: u32 = 20;

/// Bits of the number of decays made up for at once; after more, α is zero.
const DECAY_BITS: u32 = 32;

#[cfg(test)]
mod tests {
    use lab_parameters::DcqcnConfig;

    use super::*;
    use crate::parameters;

    const GBIT: u64 = 1_000_000_000;
    const MICRO: u64 = 1_000;

    fn params() -> DcqcnParams {
        parameters::of(&DcqcnConfig::PAPER, 1)
    }

    fn new_point() -> ReactionPoint {
        start(100 * GBIT, &params())
    }

    #[test]
    fn the_first_cnp_halves_the_rate() {
        let mut point = new_point();
        assert_eq!((point.rate_bps, next_timer(&point)), (100 * GBIT, None));
        on_cnp(&mut point, 1_000 * MICRO, &params());
        // α is 1, so R_C is 100 · (1 − 1/2), and α stays (1 − g) · 1 + g = 1.
        assert_eq!((point.rate_bps, point.target_bps), (50 * GBIT, 100 * GBIT));
        assert_eq!(point.alpha_q30, ONE_Q30);
        assert_eq!(next_timer(&point), Some(1_055 * MICRO));
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
    fn a_power_is_nearly_the_product_of_its_factors() {
        let gain = params().gain_q30;
        for decays in [0, 1, 2, 3, 17, 100, 5_000] {
            let mut one_by_one = u64::from(ONE_Q30);
            for _ in 0..decays {
                one_by_one = times(one_by_one, u64::from(ONE_Q30 - gain));
            }
            let found = u64::from(decayed(ONE_Q30, decays, gain));
            assert!(found.abs_diff(one_by_one) <= 300, "{decays}: {found}");
        }
        assert_eq!(decayed(ONE_Q30, 1 << 32, gain), 0);
        assert_eq!(decayed(ONE_Q30, (1 << 32) - 1, 0), ONE_Q30);
    }

    #[test]
    fn a_cut_is_rounded_down_at_every_rate() {
        for rate in [1, 3, 1 << 20, (1 << 20) + 1, MAX_RATE_BPS - 1, MAX_RATE_BPS] {
            for alpha in [0, 1, 1 << 29, ONE_Q30 - 1, ONE_Q30] {
                let exact = (u128::from(rate) * u128::from(alpha)).div_ceil(1 << 31);
                assert_eq!(u128::from(half_of(rate, alpha)), exact, "{rate} {alpha}");
            }
        }
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
        let (mut punctual, params) = (new_point(), params());
        on_cnp(&mut punctual, 0, &params);
        on_cnp(&mut punctual, 50 * MICRO, &params);
        let mut late = punctual;
        while let Some(due) = next_timer(&punctual) {
            on_timer(&mut punctual, due, &params);
        }
        on_timer(&mut late, GBIT, &params);
        assert_eq!(late, punctual);
        assert_eq!(late.rate_bps, 100 * GBIT);
    }
}
