//! Virtual time.

use core::{fmt, ops};

use lab_units::{BitsPerSec, Nanos};

/// Virtual time, a point or a duration, in picoseconds.
///
/// A bit at 400 Gbit/s takes 2.5 ps. With a resolution of nanoseconds, the rate of a full link would be off by up to 1
/// %.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SimTime(u64);

/// Picoseconds in a nanosecond.
const NANO: u64 = 1_000;

/// Picoseconds in a second.
const SECOND: u128 = 1_000_000_000_000;

impl SimTime {
    /// Start of a run, or an empty duration.
    pub const ZERO: Self = Self(0);

    /// Maximum time: 213 days, later than any event.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a time of `picos` picoseconds.
    #[must_use]
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// Creates a time of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000 * NANO)
    }

    /// Returns the time in picoseconds.
    #[must_use]
    pub const fn picos(self) -> u64 {
        self.0
    }

    /// Returns the time in whole nanoseconds, rounded down.
    #[must_use]
    pub const fn nanos_trunc(self) -> Nanos {
        Nanos::new(self.0 / NANO)
    }

    /// Returns the time rounded down to whole nanoseconds.
    #[must_use]
    pub const fn cut_to_nanos(self) -> Self {
        Self(self.0 / NANO * NANO)
    }

    /// Returns the time in seconds as a float, for arithmetic on rates.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "2^53 ps are 2.5 hours; rates need no more digits"
    )]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Returns `self + other`, at most [`SimTime::MAX`].
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns `self - other`, at least [`SimTime::ZERO`].
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns `count` times this duration.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// Returns the serialisation time of `bytes` at `rate`, rounded down to a picosecond.
    #[must_use]
    pub fn on_wire(bytes: u64, rate: BitsPerSec) -> Self {
        let picos = u128::from(bytes) * 8 * SECOND / u128::from(rate.get());
        Self(u64::try_from(picos).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for SimTime {
    fn from(nanos: Nanos) -> Self {
        Self(nanos.get().saturating_mul(NANO))
    }
}

impl ops::Add for SimTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl ops::AddAssign for SimTime {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl ops::Sub for SimTime {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} ns", self.0 / NANO, self.0 % NANO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::gbit;

    #[test]
    fn a_bit_at_the_papers_rates_is_a_whole_number_of_half_picoseconds() {
        assert_eq!(SimTime::on_wire(1048, gbit(100)).picos(), 83_840);
        assert_eq!(SimTime::on_wire(1048, gbit(400)).picos(), 20_960);
        assert_eq!(SimTime::on_wire(1048, gbit(25)).picos(), 335_360);
    }

    #[test]
    fn a_clock_of_nanoseconds_loses_the_rest() {
        let time = SimTime::on_wire(1048, gbit(100));
        assert_eq!(time.cut_to_nanos().picos(), 83_000);
        assert_eq!(time.nanos_trunc(), Nanos::new(83));
        assert_eq!(time.to_string(), "83.840 ns");
    }
}
