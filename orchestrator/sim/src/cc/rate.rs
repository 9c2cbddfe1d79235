//! Arithmetic on rates in IEEE 754 floats. Results are truncated to whole bits per second, as NS-3's `DataRate` does.

use lab_units::{BitsPerSec, Ratio};

/// Returns `rate · factor`, truncated to whole bits per second: at least 1 bit/s and at most the largest representable
/// rate.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are under 2^53 bit/s; the cast cuts the fraction off and saturates"
)]
pub(super) fn times(rate: BitsPerSec, factor: f64) -> BitsPerSec {
    whole((rate.get() as f64 * factor) as u64)
}

/// Returns `rate / divisor`, truncated to whole bits per second: at least 1 bit/s and at most the largest representable
/// rate.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are under 2^53 bit/s; the cast cuts the fraction off and saturates"
)]
pub(super) fn over(rate: BitsPerSec, divisor: f64) -> BitsPerSec {
    whole((rate.get() as f64 / divisor) as u64)
}

/// Returns `rate + raise`, at most the largest representable rate.
pub(super) const fn plus(rate: BitsPerSec, raise: BitsPerSec) -> BitsPerSec {
    whole(rate.get().saturating_add(raise.get()))
}

/// Returns `rate` limited to the range from `min` to `max`; `max` wins if the range is empty.
pub(super) fn bounded(rate: BitsPerSec, min: BitsPerSec, max: BitsPerSec) -> BitsPerSec {
    rate.max(min).min(max)
}

/// Returns the float nearest to a ratio.
#[expect(
    clippy::cast_precision_loss,
    reason = "parameters are written with a few digits"
)]
pub(super) fn float(ratio: Ratio) -> f64 {
    ratio.numerator() as f64 / ratio.denominator() as f64
}

/// Converts a number of bytes or nanoseconds to a float, exactly up to 2^53.
#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 ns are 104 days, 2^53 B are 9 PB"
)]
pub(super) const fn count(number: u64) -> f64 {
    number as f64
}

const fn whole(bits_per_sec: u64) -> BitsPerSec {
    match BitsPerSec::new(bits_per_sec) {
        Some(rate) => rate,
        None => ONE,
    }
}

const ONE: BitsPerSec = BitsPerSec::new(1).expect("one is not zero");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bits;

    #[test]
    fn products_and_quotients_are_cut() {
        assert_eq!(times(bits(10), 0.99), bits(9));
        assert_eq!(over(bits(10), 3.0), bits(3));
        assert_eq!(times(bits(10), 0.0), bits(1));
        assert_eq!(over(bits(10), 0.0), bits(u64::MAX));
    }

    #[test]
    fn the_maximum_counts_more_than_the_minimum() {
        assert_eq!(bounded(bits(5), bits(10), bits(100)), bits(10));
        assert_eq!(bounded(bits(5), bits(10), bits(7)), bits(7));
        assert_eq!(bounded(bits(500), bits(10), bits(100)), bits(100));
    }
}
