//! Link rates.

use core::{fmt, num::NonZeroU64, str::FromStr};

use crate::{Bytes, Nanos, ParseQuantityError, parse::Grammar};

/// Text form of rates. `Mbps` means megabits per second, as on the label of every NIC; only `tc` reads it as 10^6 bytes
/// per second. Units of bytes per second are rejected.
const GRAMMAR: Grammar = Grammar {
    quantity: "rate",
    base: "bit/s",
    example: "200 Gbit",
    units: &[
        ("bit", 1),
        ("kbit", 1_000),
        ("Mbit", 1_000_000),
        ("Gbit", 1_000_000_000),
        ("Tbit", 1_000_000_000_000),
    ],
    aliases: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
        ("b/s", 1),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("Tb/s", 1_000_000_000_000),
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ],
};

/// Rate in bits per second; never zero, so that a division by it cannot fail.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct BitsPerSec(NonZeroU64);

impl BitsPerSec {
    /// Returns a rate of `bits_per_sec` bit/s; `None` for zero.
    #[must_use]
    pub const fn new(bits_per_sec: u64) -> Option<Self> {
        match NonZeroU64::new(bits_per_sec) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }

    /// Returns the rate in bits per second.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// Returns all accepted units, beginning with the units used for printing.
    pub fn units() -> impl Iterator<Item = &'static str> {
        GRAMMAR.spellings()
    }

    /// Returns the time to transmit `size` at this rate, rounded up to a whole nanosecond.
    ///
    /// Rounding up ensures that a simulated link never carries more than its rate. The result is `None` if it does
    /// not fit in 64 bits of nanoseconds (about 584 years).
    #[must_use]
    pub fn serialize(self, size: Bytes) -> Option<Nanos> {
        let bits = u128::from(size.get()) * 8;
        let nanos = (bits * 1_000_000_000).div_ceil(u128::from(self.get()));
        u64::try_from(nanos).ok().map(Nanos::new)
    }

    /// Returns the number of bytes sent in `span` at this rate, rounded down; for a round-trip time this is the
    /// bandwidth-delay product.
    #[must_use]
    pub fn bytes_in(self, span: Nanos) -> Bytes {
        let bits = u128::from(self.get()) * u128::from(span.get()) / 1_000_000_000;
        Bytes::new(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }
}

impl FromStr for BitsPerSec {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let zero = ParseQuantityError::Zero {
            quantity: "rate",
            min: "1 bit",
        };
        Self::new(GRAMMAR.parse(text)?).ok_or(zero)
    }
}

impl fmt::Display for BitsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        GRAMMAR.print(self.get(), f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::ToString};

    use super::*;

    fn rate(text: &str) -> BitsPerSec {
        text.parse().unwrap()
    }

    #[test]
    fn decimals_are_exact_and_print_in_the_largest_whole_unit() {
        assert_eq!(rate("1.5 Gbit").get(), 1_500_000_000);
        assert_eq!(rate("1.5 Gbit").to_string(), "1500 Mbit");
        assert_eq!(rate("200Gbit/s").to_string(), "200 Gbit");
    }

    #[test]
    fn rates_are_read_as_people_write_them() {
        for text in [
            "100 Gbps",
            "100Gbps",
            "100 Gbit/s",
            "100 Gb/s",
            "0.1 Tbit/s",
        ] {
            assert_eq!(rate(text).get(), 100_000_000_000, "{text}");
        }
        assert_eq!(rate("1 Tbit/s"), rate("1 Tbps"));
    }

    #[test]
    fn bytes_per_second_spellings_are_refused() {
        for text in ["10 MBps", "10 MB/s", "10 MB"] {
            let error = text.parse::<BitsPerSec>().unwrap_err().to_string();
            let unit = text.strip_prefix("10 ").unwrap();
            let expected = format!("`{unit}` is not a unit of rate");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn zero_is_no_rate() {
        let error = "0 Gbit".parse::<BitsPerSec>();
        assert!(matches!(error, Err(ParseQuantityError::Zero { .. })));
    }

    #[test]
    fn serialize_rounds_up() {
        let third = rate("3 bit").serialize(Bytes::new(1));
        assert_eq!(third, Some(Nanos::new(2_666_666_667)));
        assert_eq!(rate("1 bit").serialize(Bytes::new(u64::MAX)), None);
    }

    #[test]
    fn bandwidth_delay_product_of_the_longest_route() {
        let product = rate("200 Gbit").bytes_in(Nanos::from_millis(250));
        assert_eq!(product, Bytes::new(6_250_000_000));
    }
}
