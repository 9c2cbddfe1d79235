//! Values of parameters, their domains, and the Rust types that hold them.

use core::fmt;

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::limits;

/// Value of a parameter, with its unit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum Value {
    /// `true` or `false`.
    Flag(bool),
    /// Whole number without a unit.
    Number(u64),
    /// Length of time.
    Time(Nanos),
    /// Rate of a link or flow.
    Rate(BitsPerSec),
    /// Amount of data.
    Size(Bytes),
    /// Exact fraction.
    Ratio(Ratio),
    /// Word from a closed set.
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Time(time) => time.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Size(size) => size.fmt(f),
            Self::Ratio(ratio) => ratio.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

/// Type and range of a parameter's values; bounds are inclusive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Domain {
    /// `true` or `false`.
    Flag,
    /// Whole numbers without a unit.
    Number { min: u64, max: u64 },
    /// Lengths of time.
    Time { min: Nanos, max: Nanos },
    /// Rates.
    Rate { min: BitsPerSec, max: BitsPerSec },
    /// Amounts of data.
    Size { min: Bytes, max: Bytes },
    /// Fractions above 0 and at most 1.
    Share,
    /// Fractions of at least 0 and below 1.
    ProperFraction,
    /// Multiples of 0.01 from 0 to `max`.
    Hundredths { max: u64 },
    /// Closed set of words.
    Words(&'static [&'static str]),
    /// Quantity in the inner domain, or one of the words.
    WordOr {
        words: &'static [&'static str],
        quantity: &'static Self,
    },
}

impl Domain {
    /// Returns true if `value` has the domain's type and is in its range.
    #[must_use]
    pub fn contains(self, value: Value) -> bool {
        match (self, value) {
            (Self::Flag, Value::Flag(_)) => true,
            (Self::Number { min, max }, Value::Number(number)) => (min..=max).contains(&number),
            (Self::Time { min, max }, Value::Time(time)) => (min..=max).contains(&time),
            (Self::Rate { min, max }, Value::Rate(rate)) => (min..=max).contains(&rate),
            (Self::Size { min, max }, Value::Size(size)) => (min..=max).contains(&size),
            (Self::Share, Value::Ratio(share)) => share > Ratio::ZERO && share <= Ratio::ONE,
            (Self::ProperFraction, Value::Ratio(fraction)) => fraction < Ratio::ONE,
            (Self::Hundredths { max }, Value::Ratio(ratio)) => ratio
                .scale_exact(100)
                .is_some_and(|percent| percent <= 100 * max),
            (Self::Words(words) | Self::WordOr { words, .. }, Value::Word(word)) => {
                words.contains(&word)
            }
            (Self::WordOr { quantity, .. }, value) => quantity.contains(value),
            _ => false,
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("`true` or `false`"),
            Self::Number { min, max } => write!(f, "{min} to {max}"),
            Self::Time { min, max } => write!(f, "{min} to {max}"),
            Self::Rate { min, max } => write!(f, "{min} to {max}"),
            Self::Size { min, max } => write!(f, "{min} to {max}"),
            Self::Share => f.write_str("above 0 and at most 1"),
            Self::ProperFraction => f.write_str("at least 0 and below 1"),
            Self::Hundredths { max } => write!(f, "0 to {max} in steps of 0.01"),
            Self::Words(words) => list(f, words),
            Self::WordOr { words, quantity } => {
                list(f, words)?;
                write!(f, ", or {quantity}")
            }
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, words: &[&str]) -> fmt::Result {
    let separators = core::iter::once("").chain(core::iter::repeat(", "));
    separators
        .zip(words)
        .try_for_each(|(before, word)| write!(f, "{before}`{word}`"))
}

/// Range of a switch agent's intervals, such as the one between two queue samples.
pub(crate) const INTERVALS: Domain = Domain::Time {
    min: limits::MIN_INTERVAL,
    max: limits::MAX_INTERVAL,
};

/// Range of the transport's intervals and timeouts.
pub(crate) const TIMERS: Domain = Domain::Time {
    min: limits::MIN_TIMER,
    max: limits::MAX_TIMER,
};

/// Returns the range of whole numbers from `min` to `max`.
pub(crate) const fn numbers(min: u64, max: u64) -> Domain {
    Domain::Number { min, max }
}

/// Fraction stored as a whole number of hundredths.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Hundredths(pub u16);

/// Rust type of a field in a parameter set, such as `u8` or `Nanos`.
pub trait Field: Copy {
    /// Domain of a parameter of this type if its declaration gives no domain.
    const DOMAIN: Domain;

    /// Returns the field as a parameter value; `None` if the field is an empty `Option`.
    fn value(self) -> Option<Value>;

    /// Returns the field for `value`; `None` if `value` has another type or does not fit.
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! number_fields {
    ($($type:ty),*) => {$(
        impl Field for $type {
            const DOMAIN: Domain = Domain::Number { min: 0, max: <$type>::MAX as u64 };

            fn value(self) -> Option<Value> {
                Some(Value::Number(self.into()))
            }

            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::Number(number) => number.try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

number_fields!(u8, u16, u32);

macro_rules! fields {
    ($($type:ty: $variant:ident in $domain:expr;)*) => {$(
        impl Field for $type {
            const DOMAIN: Domain = $domain;

            fn value(self) -> Option<Value> {
                Some(Value::$variant(self))
            }

            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$variant(value) => Some(value),
                    _ => None,
                }
            }
        }
    )*};
}

fields! {
    bool: Flag in Domain::Flag;
    Nanos: Time in TIMERS;
    BitsPerSec: Rate in Domain::Rate { min: limits::MIN_RATE, max: limits::MAX_RATE };
    Bytes: Size in Domain::Size { min: Bytes::new(1), max: limits::MAX_BUFFER };
    Ratio: Ratio in Domain::Share;
}

impl Field for Hundredths {
    const DOMAIN: Domain = Domain::Hundredths { max: 10 };

    fn value(self) -> Option<Value> {
        Ratio::new(self.0.into(), 100).map(Value::Ratio)
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Ratio(ratio) => ratio.scale_exact(100)?.try_into().ok().map(Self),
            _ => None,
        }
    }
}

impl<T: Field> Field for Option<T> {
    const DOMAIN: Domain = T::DOMAIN;

    fn value(self) -> Option<Value> {
        self.and_then(T::value)
    }

    fn from_value(value: Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(numerator: u64, denominator: u64) -> Value {
        Value::Ratio(Ratio::new(numerator, denominator).expect("not a division by zero"))
    }

    /// The domain contains the multiples of 0.01 from 0 to 10.00.
    #[test]
    fn hundredths_end_at_their_maximum_and_have_two_decimals() {
        let domain = Domain::Hundredths { max: 10 };
        for (numerator, denominator, expected) in [
            (0, 1, true),
            (1, 100, true),
            (1, 2, true),
            (10, 1, true),
            (1_001, 100, false),
            (11, 1, false),
            (1, 1_000, false),
            (1, 3, false),
        ] {
            let value = ratio(numerator, denominator);
            assert_eq!(domain.contains(value), expected, "{value}");
        }
        assert!(!domain.contains(Value::Number(1)));
    }

    #[test]
    fn flags_and_sizes_belong_to_their_domain() {
        assert!(Domain::Flag.contains(Value::Flag(false)));
        assert!(!Domain::Flag.contains(Value::Number(0)));
        let min = Bytes::new(2);
        let max = Bytes::new(9);
        let domain = Domain::Size { min, max };
        let contained = [1, 2, 9, 10].map(|size| domain.contains(Value::Size(Bytes::new(size))));
        assert_eq!(contained, [false, true, true, false]);
        assert!(!domain.contains(Value::Number(2)));
    }

    #[test]
    fn a_parameter_may_have_no_value() {
        let size = Bytes::new(5);
        assert_eq!(Some(size).value(), Some(Value::Size(size)));
        assert_eq!(None::<Bytes>.value(), None);
        let read = <Option<Bytes> as Field>::from_value;
        assert_eq!(read(Value::Size(size)), Some(Some(size)));
        assert_eq!(read(Value::Number(5)), None);
    }

    #[test]
    fn hundredths_are_ratios_of_whole_hundredths() {
        assert_eq!(
            Hundredths::from_value(ratio(27, 2)).map(|it| it.0),
            Some(1_350)
        );
        assert_eq!(Hundredths(1_350).value(), Some(ratio(27, 2)));
        for value in [ratio(1, 1_000), ratio(700, 1), Value::Number(1)] {
            assert!(Hundredths::from_value(value).is_none(), "{value}");
        }
    }

    #[test]
    fn a_share_is_above_zero_and_at_most_one() {
        let contains =
            |numerator, denominator| Domain::Share.contains(ratio(numerator, denominator));
        assert!(contains(1, 1_000) && contains(1, 1));
        assert!(!contains(0, 1) && !contains(1_001, 1_000));
    }

    #[test]
    fn a_proper_fraction_is_below_one() {
        let contains =
            |numerator, denominator| Domain::ProperFraction.contains(ratio(numerator, denominator));
        assert!(contains(0, 1) && contains(999, 1_000));
        assert!(!contains(1, 1) && !contains(1_001, 1_000));
        assert!(!Domain::ProperFraction.contains(Value::Number(0)));
    }

    #[test]
    fn bounds_belong_to_their_domain() {
        let domain = Domain::Number { min: 2, max: 4 };
        let found = [1, 2, 3, 4, 5].map(|number| domain.contains(Value::Number(number)));
        assert_eq!(found, [false, true, true, true, false]);
    }
}
