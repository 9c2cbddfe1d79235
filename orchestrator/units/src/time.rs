//! Lengths of time.

use core::{fmt, ops, str::FromStr, time::Duration};

use crate::{ParseQuantityError, parse::Grammar};

const GRAMMAR: Grammar = Grammar {
    quantity: "time",
    base: "ns",
    example: "5 ms",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
    ],
    aliases: &[
        ("µs", 1_000),
        ("μs", 1_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
};

/// A length of time, or the time since a run's start, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Nanos(u64);

impl Nanos {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// `nanos` nanoseconds.
    #[must_use]
    pub const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// The number of nanoseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whole microseconds; the rest is cut off.
    #[must_use]
    pub const fn whole_micros_trunc(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole milliseconds; the rest is cut off.
    #[must_use]
    pub const fn whole_millis_trunc(self) -> u64 {
        self.0 / 1_000_000
    }

    /// `self + other`, at most the longest time.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// `self - other`, at least no time.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// As the standard library's type.
    #[must_use]
    pub const fn to_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl ops::Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl core::iter::Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Self::saturating_add)
    }
}

impl FromStr for Nanos {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        GRAMMAR.parse(text).map(Self)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        GRAMMAR.print(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn parses_what_it_prints() {
        for nanos in [
            0,
            1,
            999,
            1_000,
            25_000_000,
            1_500_000,
            60_000_000_000,
            u64::MAX,
        ] {
            let time = Nanos::new(nanos);
            assert_eq!(time.to_string().parse(), Ok(time));
        }
    }

    #[test]
    fn a_bare_number_has_no_unit_but_zero_needs_none() {
        assert!(matches!(
            "5".parse::<Nanos>(),
            Err(ParseQuantityError::NoUnit { .. })
        ));
        assert_eq!("0".parse(), Ok(Nanos::ZERO));
    }

    #[test]
    fn a_number_starts_with_a_digit() {
        for text in ["_5 ms", ".5 ms", "-5 ms", "+5 ms", "ms", ""] {
            let error = text.parse::<Nanos>();
            assert!(
                matches!(error, Err(ParseQuantityError::NoNumber { .. })),
                "{text}: {error:?}"
            );
        }
    }

    #[test]
    fn truncation_is_named() {
        assert_eq!(
            "999999 ns".parse::<Nanos>().unwrap().whole_millis_trunc(),
            0
        );
    }
}
