//! Parser and printer for quantities in the form `number unit`.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

/// Error for a text that is not a quantity.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ParseQuantityError {
    #[error("`{text}` does not start with a number (hint: write it like `{example}`)")]
    NoNumber { text: String, example: &'static str },
    #[error("`{text}` has no unit (hint: write it like `{example}`; units are {units})")]
    NoUnit {
        text: String,
        example: &'static str,
        units: String,
    },
    #[error("`{unit}` is not a unit of {quantity} (hint: units are {units}, as in `{example}`)")]
    UnknownUnit {
        unit: String,
        quantity: &'static str,
        units: String,
        example: &'static str,
    },
    #[error("`{text}` is not a whole number of {base} (hint: use fewer decimals)")]
    NotWhole { text: String, base: &'static str },
    #[error("`{text}` is too large: the largest is {max} {base}")]
    TooLarge {
        text: String,
        base: &'static str,
        max: u64,
    },
    #[error("{quantity} is zero; it must be at least {min}")]
    Zero {
        quantity: &'static str,
        min: &'static str,
    },
}

/// Text form of a quantity: its units in increasing order, each with its size in base units.
pub(crate) struct Grammar {
    pub quantity: &'static str,
    pub base: &'static str,
    pub example: &'static str,
    /// Units used for printing; the first is the base unit.
    pub units: &'static [(&'static str, u64)],
    /// Further spellings that are parsed but never printed.
    pub aliases: &'static [(&'static str, u64)],
}

impl Grammar {
    /// Returns all accepted units, beginning with the units used for printing.
    pub fn spellings(&self) -> impl Iterator<Item = &'static str> + use<> {
        let all = self.units.iter().chain(self.aliases);
        all.map(|(name, _)| *name)
    }

    fn unit_list(&self) -> String {
        let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// Parses `text` as a whole number of base units.
    pub fn parse(&self, text: &str) -> Result<u64, ParseQuantityError> {
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(trimmed.len());
        let number = trimmed[..split].replace('_', "");
        let unit = trimmed[split..].trim();
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        let no_digit_first = !trimmed.starts_with(|c: char| c.is_ascii_digit());
        if no_digit_first || fraction.contains('.') || number.ends_with('.') {
            return Err(ParseQuantityError::NoNumber {
                text: text.to_string(),
                example: self.example,
            });
        }
        if unit.is_empty() && number != "0" {
            return Err(ParseQuantityError::NoUnit {
                text: text.to_string(),
                example: self.example,
                units: self.unit_list(),
            });
        }
        let factor = if unit.is_empty() {
            1
        } else {
            self.factor(unit)
                .ok_or_else(|| ParseQuantityError::UnknownUnit {
                    unit: unit.to_string(),
                    quantity: self.quantity,
                    units: self.unit_list(),
                    example: self.example,
                })?
        };
        self.scale(text, whole, fraction, factor)
    }

    fn factor(&self, unit: &str) -> Option<u64> {
        let mut all = self.units.iter().chain(self.aliases);
        all.find(|(name, _)| *name == unit)
            .map(|(_, factor)| *factor)
    }

    fn scale(
        &self,
        text: &str,
        whole: &str,
        fraction: &str,
        factor: u64,
    ) -> Result<u64, ParseQuantityError> {
        let too_large = || ParseQuantityError::TooLarge {
            text: text.to_string(),
            base: self.base,
            max: u64::MAX,
        };
        let mut digits = String::from(whole);
        let fraction = fraction.trim_end_matches('0');
        digits.push_str(fraction);
        let mantissa: u128 = digits.parse().map_err(|_| too_large())?;
        let decimals = u32::try_from(fraction.len()).map_err(|_| too_large())?;
        let divisor = 10u128.checked_pow(decimals).ok_or_else(too_large)?;
        let scaled = mantissa
            .checked_mul(u128::from(factor))
            .ok_or_else(too_large)?;
        if !scaled.is_multiple_of(divisor) {
            return Err(ParseQuantityError::NotWhole {
                text: text.to_string(),
                base: self.base,
            });
        }
        u64::try_from(scaled / divisor).map_err(|_| too_large())
    }

    /// Prints `value` in the largest unit of which it is a whole multiple.
    pub fn print(&self, value: u64, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let fits = |(_, factor): &&(&str, u64)| value.is_multiple_of(*factor);
        let (unit, factor) = self
            .units
            .iter()
            .rev()
            .find(fits)
            .filter(|_| value > 0)
            .unwrap_or(&self.units[0]);
        write!(f, "{} {unit}", value / factor)
    }
}

/// Declares a quantity type whose text form is the `GRAMMAR` of the module that invokes the macro.
macro_rules! quantity {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(transparent))]
        pub struct $name(u64);

        impl $name {
            /// Quantity of zero base units.
            pub const ZERO: Self = Self(0);

            /// Returns the quantity of `count` base units.
            #[must_use]
            pub const fn new(count: u64) -> Self {
                Self(count)
            }

            /// Returns the number of base units.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// Returns all accepted units, beginning with the units used for printing.
            pub fn units() -> impl Iterator<Item = &'static str> {
                GRAMMAR.spellings()
            }

            /// Returns `self + other`, capped at the largest value.
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl core::ops::Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl core::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, Self::saturating_add)
            }
        }

        impl core::str::FromStr for $name {
            type Err = $crate::ParseQuantityError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                GRAMMAR.parse(text).map(Self)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                GRAMMAR.print(self.0, f)
            }
        }
    };
}
pub(crate) use quantity;
