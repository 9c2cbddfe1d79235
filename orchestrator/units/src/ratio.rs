//! Exact fractions.

use alloc::string::{String, ToString};
use core::{cmp::Ordering, fmt, num::NonZeroU64, str::FromStr};

/// Exact non-negative fraction in lowest terms, written as `1/1000`, `10` or `3/4`; `75%` is parsed as `3/4`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Ratio {
    numerator: u64,
    denominator: NonZeroU64,
}

/// Error for a text that is not a fraction.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is not a fraction (hint: write it like `1/1000`, `0.3`, `30%` or `10`)")]
pub struct ParseRatioError {
    text: String,
}

impl Ratio {
    pub const ZERO: Self = Self {
        numerator: 0,
        denominator: NonZeroU64::MIN,
    };

    pub const ONE: Self = Self {
        numerator: 1,
        denominator: NonZeroU64::MIN,
    };

    /// Returns `numerator / denominator` in lowest terms; `None` if the denominator is zero.
    #[must_use]
    pub const fn new(numerator: u64, denominator: u64) -> Option<Self> {
        let Some(whole) = NonZeroU64::new(denominator) else {
            return None;
        };
        let divisor = gcd(numerator, whole.get());
        match NonZeroU64::new(denominator / divisor) {
            None => None,
            Some(denominator) => Some(Self {
                numerator: numerator / divisor,
                denominator,
            }),
        }
    }

    /// Returns the numerator of the fraction in lowest terms.
    #[must_use]
    pub const fn numerator(self) -> u64 {
        self.numerator
    }

    /// Returns the denominator of the fraction in lowest terms.
    #[must_use]
    pub const fn denominator(self) -> u64 {
        self.denominator.get()
    }

    /// Returns `self · other`; `None` if its numerator or denominator exceeds 64 bits.
    #[must_use]
    pub fn times(self, other: Self) -> Option<Self> {
        let left = Self::new(self.numerator, other.denominator())?;
        let right = Self::new(other.numerator, self.denominator())?;
        Self::new(
            left.numerator.checked_mul(right.numerator)?,
            left.denominator().checked_mul(right.denominator())?,
        )
    }

    /// Returns `1 / self`; `None` for zero.
    #[must_use]
    pub fn inverse(self) -> Option<Self> {
        Self::new(self.denominator(), self.numerator)
    }

    /// Returns `value · self`, rounded to the nearest whole number (halves up) and capped at the largest `u64`.
    #[must_use]
    pub fn scale_nearest(self, value: u64) -> u64 {
        let product = u128::from(value) * u128::from(self.numerator);
        let denominator = u128::from(self.denominator());
        u64::try_from((product + denominator / 2) / denominator).unwrap_or(u64::MAX)
    }

    /// Returns `value · self`; `None` if that is not a whole number or exceeds 64 bits.
    #[must_use]
    pub fn scale_exact(self, value: u64) -> Option<u64> {
        let product = u128::from(value) * u128::from(self.numerator);
        let denominator = u128::from(self.denominator());
        if !product.is_multiple_of(denominator) {
            return None;
        }
        u64::try_from(product / denominator).ok()
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let cross = |a: Self, b: Self| u128::from(a.numerator) * u128::from(b.denominator());
        cross(*self, *other).cmp(&cross(*other, *self))
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for Ratio {
    type Err = ParseRatioError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseRatioError {
            text: text.to_string(),
        };
        let digits = |part: &str| -> Result<u64, ParseRatioError> {
            // The standard library would also accept a plus sign.
            let plain = part.bytes().all(|b| b.is_ascii_digit());
            part.parse().ok().filter(|_| plain).ok_or_else(error)
        };
        // Without this check, blanks within a decimal would count as digits.
        let number = text.trim();
        if let Some((numerator, denominator)) = number.split_once('/') {
            let parts = (
                digits(numerator.trim_end())?,
                digits(denominator.trim_start())?,
            );
            return Self::new(parts.0, parts.1).ok_or_else(error);
        }
        let percent = number.strip_suffix('%');
        if let Some(percent) = percent.filter(|number| !number.contains('%')) {
            let percent: Self = percent.parse().map_err(|_| error())?;
            let share = Self::new(1, 100).and_then(|hundredth| percent.times(hundredth));
            return share.ok_or_else(error);
        }
        let Some((whole, fraction)) = number.split_once('.') else {
            return Self::new(digits(number)?, 1).ok_or_else(error);
        };
        let decimals = u32::try_from(fraction.len()).map_err(|_| error())?;
        let denominator = 10u64.checked_pow(decimals).ok_or_else(error)?;
        let scaled = digits(whole)?.checked_mul(denominator).ok_or_else(error)?;
        let numerator = scaled.checked_add(digits(fraction)?).ok_or_else(error)?;
        Self::new(numerator, denominator).ok_or_else(error)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator() {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_terms_make_equal_ratios_equal() {
        assert_eq!("10/10000".parse::<Ratio>().unwrap().to_string(), "1/1000");
        assert_eq!("0.30".parse::<Ratio>(), "3/10".parse());
    }

    #[test]
    fn a_percentage_is_a_share() {
        for (text, share) in [
            ("50%", "1/2"),
            ("12.5 %", "1/8"),
            ("0.1%", "1/1000"),
            ("200%", "2"),
        ] {
            assert_eq!(text.parse::<Ratio>().unwrap().to_string(), share, "{text}");
        }
    }

    /// Blanks are not decimal digits: an earlier parser read `0.5 ` as 5/100.
    #[test]
    fn blanks_around_a_number_change_nothing_and_blanks_within_are_refused() {
        for text in ["0.5", " 0.5", "0.5 ", " 1 / 2 "] {
            assert_eq!(text.parse(), Ok(Ratio::new(1, 2).unwrap()), "`{text}`");
        }
        for text in ["0. 5", "0 .5", "1 2", "1 /", "5 0%"] {
            assert!(text.parse::<Ratio>().is_err(), "`{text}`");
        }
    }

    #[test]
    fn rounding_is_to_nearest_and_inexact_scaling_is_refused() {
        let third = Ratio::new(1, 3).unwrap();
        assert_eq!(third.scale_nearest(5), 2);
        assert_eq!(third.scale_exact(5), None);
        assert_eq!(third.scale_exact(6), Some(2));
    }

    #[test]
    fn order_is_that_of_the_values_and_agrees_with_equality() {
        let ratio = |text: &str| text.parse::<Ratio>().unwrap();
        assert!(ratio("1/3") < ratio("0.34") && ratio("7") > ratio("20/3"));
        assert_eq!(ratio("0").cmp(&Ratio::ZERO), Ordering::Equal);
        let large = Ratio::new(u64::MAX, u64::MAX - 1).unwrap();
        assert!(large > Ratio::ONE);
    }

    #[test]
    fn signs_spaces_and_zero_denominators_are_refused() {
        for text in [
            "-1", "1/0", "", "1/", "+2", "a/b", "1.2.3", "%", "50 %%", "1/2%", "50%%", "% 50",
        ] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_ratio_is_read_in_lowest_terms() {
        let ratio = Ratio::new(84, 36).unwrap();
        assert_eq!((ratio.numerator(), ratio.denominator()), (7, 3));
        assert_eq!((Ratio::ZERO.numerator(), Ratio::ZERO.denominator()), (0, 1));
        assert_eq!(ratio.inverse(), Ratio::new(3, 7));
        assert_eq!(Ratio::ZERO.inverse(), None);
    }

    /// 14/15 · 25/21 = 10/9. Common factors are cancelled before the multiplication, so a product fits whenever its
    /// lowest terms fit.
    #[test]
    fn a_product_is_in_lowest_terms_and_fits_if_these_do() {
        let ratio = |numerator, denominator| Ratio::new(numerator, denominator).unwrap();
        assert_eq!(ratio(14, 15).times(ratio(25, 21)), Some(ratio(10, 9)));
        assert_eq!(ratio(3, 4).times(Ratio::ZERO), Some(Ratio::ZERO));
        let large = u64::MAX;
        assert_eq!(ratio(large, 2).times(ratio(2, large)), Some(Ratio::ONE));
        assert_eq!(ratio(2, large).times(ratio(large, 2)), Some(Ratio::ONE));
        assert_eq!(ratio(large, 1).times(ratio(2, 1)), None);
        assert_eq!(ratio(1, large).times(ratio(1, 2)), None);
    }
}
