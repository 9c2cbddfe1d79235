//! Offered rate beside a capacity.

use std::fmt;

use lab_units::show::about_rate;
use serde::Serialize;

/// Mean rate that workloads offer to links, and the links' total capacity, in paper units.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Utilisation {
    pub offered_bps: u64,
    pub capacity_bps: u64,
}

impl Utilisation {
    /// Returns true if the offered rate exceeds the capacity.
    #[must_use]
    pub const fn is_overload(self) -> bool {
        self.offered_bps > self.capacity_bps
    }

    /// Returns true if offered rate ÷ capacity is larger than that of `other`.
    #[must_use]
    pub fn exceeds(self, other: Self) -> bool {
        let cross = |a: Self, b: Self| u128::from(a.offered_bps) * u128::from(b.capacity_bps);
        cross(self, other) > cross(other, self)
    }

    /// Returns the offered rate ÷ the capacity in percent: above 100 rounded up, so that every overload is above 100, and
    /// otherwise rounded.
    #[must_use]
    pub fn percent(self) -> u128 {
        let [offered, capacity] = [self.offered_bps, self.capacity_bps.max(1)].map(u128::from);
        if self.is_overload() {
            (offered * 100).div_ceil(capacity)
        } else {
            (offered * 200 + capacity) / (capacity * 2)
        }
    }

    /// Returns the offered rate ÷ the capacity as text with two decimals; an overload is rounded up.
    #[must_use]
    pub fn times(self) -> String {
        let percent = self.percent();
        format!("{}.{:02}", percent / 100, percent % 100)
    }
}

impl fmt::Display for Utilisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [offered, capacity] = [self.offered_bps, self.capacity_bps].map(about_rate);
        write!(f, "{offered} of {capacity}, ")?;
        if self.offered_bps > 0 && self.offered_bps < self.capacity_bps / 100 {
            return f.write_str("under 1 %");
        }
        write!(f, "{} %", self.percent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_to_percent_and_up_if_it_is_an_overload() {
        let shown = |offered_bps| {
            let capacity_bps = 100_000_000_000;
            Utilisation {
                offered_bps,
                capacity_bps,
            }
            .to_string()
        };
        assert_eq!(shown(1_000), "1 kbit/s of 100 Gbit/s, under 1 %");
        assert_eq!(shown(1_000_000_000), "1 Gbit/s of 100 Gbit/s, 1 %");
        assert_eq!(shown(50_100_000_000), "50.1 Gbit/s of 100 Gbit/s, 50 %");
        assert_eq!(shown(50_500_000_000), "50.5 Gbit/s of 100 Gbit/s, 51 %");
        assert_eq!(shown(100_000_000_001), "100 Gbit/s of 100 Gbit/s, 101 %");
        assert_eq!(shown(0), "0 bit/s of 100 Gbit/s, 0 %");
    }
}
