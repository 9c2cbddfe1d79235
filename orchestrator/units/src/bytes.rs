//! Amounts of data.

use core::{fmt, ops, str::FromStr};

use crate::{ParseQuantityError, parse::Grammar};

const GRAMMAR: Grammar = Grammar {
    quantity: "size",
    base: "B",
    example: "30 MB",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
    ],
    aliases: &[
        ("KB", 1_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
};

/// An amount of data in bytes. `kB` is 1,000 bytes and `KiB` 1,024.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Bytes(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `bytes` bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self + other`, at most the largest amount.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl ops::Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl core::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Self::saturating_add)
    }
}

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        GRAMMAR.parse(text).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        GRAMMAR.print(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn decimal_and_binary_prefixes_differ() {
        assert_eq!("1 kB".parse(), Ok(Bytes::new(1_000)));
        assert_eq!("1 KiB".parse(), Ok(Bytes::new(1_024)));
        assert_eq!(Bytes::new(1_024).to_string(), "1024 B");
    }

    #[test]
    fn a_part_of_a_byte_is_refused() {
        let error = "1.0005 kB".parse::<Bytes>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`1.0005 kB` is not a whole number of B (hint: use fewer decimals)"
        );
    }
}
