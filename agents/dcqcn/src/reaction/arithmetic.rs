//! Rate cuts and changes of α in fixed-point arithmetic (Q30), used by both laws.

use lab_abi::dcqcn::{DcqcnParams, ONE_Q30, ReactionPoint};

/// Cuts the rate by the fraction α / 2, but not below the minimum rate.
pub(super) fn cut(point: &mut ReactionPoint, params: &DcqcnParams) {
    let cut = point.rate_bps - half_of(point.rate_bps, point.alpha_q30);
    point.rate_bps = cut.max(params.min_bps).min(point.line_bps);
}

/// Returns α after a CNP: `(1 − g) · α + g`.
pub(super) fn raised(alpha_q30: u32, gain_q30: u32) -> u32 {
    let kept = times(u64::from(alpha_q30), u64::from(ONE_Q30 - gain_q30));
    whole(kept) + gain_q30
}

/// Returns `rate · α / 2` rounded up, for rates up to [`MAX_RATE_BPS`](lab_abi::dcqcn::MAX_RATE_BPS), computed as two
/// 64-bit products.
fn half_of(rate: u64, alpha_q30: u32) -> u64 {
    let alpha = u64::from(alpha_q30);
    let high = rate >> SPLIT;
    let low = rate & ((1 << SPLIT) - 1);
    let carried = (low * alpha).div_ceil(1 << SPLIT);
    (high * alpha + carried).div_ceil(1 << (31 - SPLIT))
}

/// Returns α after `decays` intervals without a CNP: `α · (1 − g)^decays`.
pub(super) fn decayed(alpha_q30: u32, decays: u64, gain_q30: u32) -> u32 {
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

/// Returns a Q30 fraction of at most 1 as `u32`, into which it fits.
fn whole(fraction_q30: u64) -> u32 {
    u32::try_from(fraction_q30).unwrap_or(ONE_Q30)
}

/// Time of an event that is not scheduled.
pub(super) const NEVER: u64 = u64::MAX;

/// Number of low bits of a rate that are multiplied with α separately.
const SPLIT: u32 = 20;

/// Bit width of the largest number of decays applied at once; after more decays, α is zero.
const DECAY_BITS: u32 = 32;

#[cfg(test)]
mod tests {
    use lab_abi::dcqcn::MAX_RATE_BPS;
    use lab_parameters::DcqcnConfig;

    use super::*;
    use crate::parameters;

    #[test]
    fn a_power_is_nearly_the_product_of_its_factors() {
        let gain = parameters::of(&DcqcnConfig::PAPER, 1).gain_q30;
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
}
