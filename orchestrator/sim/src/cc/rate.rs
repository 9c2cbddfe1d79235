//! Arithmetic on rates, the same on every machine: IEEE 754 products and quotients, cut to whole
//! bits per second, as NS-3's `DataRate` does.

use lab_units::{BitsPerSec, Ratio};

/// `rate · factor`, cut to whole bits per second, from one bit per second to the largest rate.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are under 2^53 bit/s; the fraction is to be cut off, and the cast saturates"
)]
pub(super) fn times(rate: BitsPerSec, factor: f64) -> BitsPerSec {
    whole((rate.get() as f64 * factor) as u64)
}

/// `rate / divisor`, cut to whole bits per second, from one bit per second to the largest rate.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are under 2^53 bit/s; the fraction is to be cut off, and the cast saturates"
)]
pub(super) fn over(rate: BitsPerSec, divisor: f64) -> BitsPerSec {
    whole((rate.get() as f64 / divisor) as u64)
}

/// `rate + raise`.
pub(super) const fn plus(rate: BitsPerSec, raise: BitsPerSec) -> BitsPerSec {
    whole(rate.get().saturating_add(raise.get()))
}

/// Halfway between two rates.
pub(super) const fn average(a: BitsPerSec, b: BitsPerSec) -> BitsPerSec {
    whole(a.get().midpoint(b.get()))
}

/// Half of each, cut by itself as in NS-3, which loses a bit per second where both are odd.
pub(super) const fn midway(a: BitsPerSec, b: BitsPerSec) -> BitsPerSec {
    whole(a.get() / 2 + b.get() / 2)
}

/// `rate`, unless it is below `least` or, which counts more, above `most`.
pub(super) fn bounded(rate: BitsPerSec, min: BitsPerSec, max: BitsPerSec) -> BitsPerSec {
    rate.max(min).min(max)
}

/// The float nearest to a ratio.
#[expect(
    clippy::cast_precision_loss,
    reason = "parameters are written with a few digits"
)]
pub(super) fn float(ratio: Ratio) -> f64 {
    ratio.numerator() as f64 / ratio.denominator() as f64
}

/// A number of bytes or nanoseconds as a float.
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

    fn bits(rate: u64) -> BitsPerSec {
        BitsPerSec::new(rate).expect("not zero")
    }

    #[test]
    fn products_and_quotients_are_cut() {
        assert_eq!(times(bits(10), 0.99), bits(9));
        assert_eq!(over(bits(10), 3.0), bits(3));
        assert_eq!(times(bits(10), 0.0), bits(1));
        assert_eq!(over(bits(10), 0.0), bits(u64::MAX));
    }

    #[test]
    fn halves_are_cut_each_by_itself() {
        assert_eq!(midway(bits(101), bits(103)), bits(101));
        assert_eq!(midway(bits(100), bits(104)), bits(102));
        assert_eq!(average(bits(101), bits(103)), bits(102));
    }

    #[test]
    fn the_line_rate_counts_more_than_the_least_rate() {
        assert_eq!(bounded(bits(5), bits(10), bits(100)), bits(10));
        assert_eq!(bounded(bits(5), bits(10), bits(7)), bits(7));
        assert_eq!(bounded(bits(500), bits(10), bits(100)), bits(100));
    }
}
