//! Durations.

use core::time::Duration;

use crate::parse::{Grammar, quantity};

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

quantity! {
    /// Duration, or time since a run's start, in nanoseconds.
    Nanos
}

impl Nanos {
    /// Returns a duration of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// Returns the number of whole microseconds, rounded down.
    #[must_use]
    pub const fn whole_micros_trunc(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns the number of whole milliseconds, rounded down.
    #[must_use]
    pub const fn whole_millis_trunc(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Returns `self - other`, or zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Converts to the standard library's type.
    #[must_use]
    pub const fn to_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::ParseQuantityError;

    #[test]
    fn parses_what_it_prints() {
        let seconds = 60_000_000_000;
        for nanos in [0, 1, 999, 1_000, 25_000_000, 1_500_000, seconds, u64::MAX] {
            let time = Nanos::new(nanos);
            assert_eq!(time.to_string().parse(), Ok(time));
        }
    }

    #[test]
    fn a_unit_may_follow_its_number_at_once() {
        assert_eq!("10ms".parse(), "10 ms".parse::<Nanos>());
    }

    #[test]
    fn a_bare_number_has_no_unit_but_zero_needs_none() {
        let error = "5".parse::<Nanos>();
        assert!(matches!(error, Err(ParseQuantityError::NoUnit { .. })));
        assert_eq!("0".parse(), Ok(Nanos::ZERO));
    }

    #[test]
    fn a_number_starts_with_a_digit() {
        for text in ["_5 ms", ".5 ms", "-5 ms", "+5 ms", "ms", ""] {
            let error = text.parse::<Nanos>();
            let is_it = matches!(error, Err(ParseQuantityError::NoNumber { .. }));
            assert!(is_it, "{text}: {error:?}");
        }
    }

    #[test]
    fn truncation_is_named() {
        assert_eq!(Nanos::new(999_999).whole_millis_trunc(), 0);
    }
}
