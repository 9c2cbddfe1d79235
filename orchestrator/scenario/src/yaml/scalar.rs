//! Single values: text form and schema of each type.

use lab_parameters::Preset;
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};
use schemars::{Schema, json_schema};

use crate::{
    error::ProblemKind,
    expect::Expectation,
    model::{Agent, Arrivals, LoadBase, Semantics, Tool, TrainMode},
    suggest::did_you_mean,
};

/// Type that a single value of a scenario can have.
pub trait Scalar: Sized {
    /// Parses a value from its text.
    fn read(text: &str) -> Result<Self, ProblemKind>;

    /// Returns the JSON Schema of the value's text.
    fn schema() -> Schema;
}

/// Type whose values are a closed set of words.
pub trait Word: Copy + 'static {
    /// All words with their values.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns a description of the expected words, for messages.
    fn expected() -> &'static str;

    fn words() -> impl Iterator<Item = &'static str> {
        Self::WORDS.iter().map(|(word, _)| *word)
    }

    /// Returns the value of the word `text`; `None` if there is no such word.
    fn find(text: &str) -> Option<Self> {
        let known = Self::WORDS.iter().find(|(word, _)| *word == text);
        known.map(|(_, meaning)| *meaning)
    }

    /// Parses a word. The error lists all words and suggests the closest one.
    fn read_word(text: &str) -> Result<Self, ProblemKind> {
        Self::find(text).ok_or_else(|| ProblemKind::UnknownWord {
            found: text.to_owned(),
            known: Self::words().map(str::to_owned).collect(),
            suggestion: did_you_mean(text, Self::words()),
        })
    }

    /// Returns the JSON Schema of the words.
    fn word_schema() -> Schema {
        let words: Vec<&str> = Self::words().collect();
        json_schema!({ "type": "string", "enum": words })
    }
}

/// Text without constraints.
impl Scalar for String {
    fn read(text: &str) -> Result<Self, ProblemKind> {
        Ok(text.to_owned())
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Assertion about a run's results.
impl Scalar for Expectation {
    fn read(text: &str) -> Result<Self, ProblemKind> {
        Ok(text.parse::<Self>()?)
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "examples": ["lcmp.p99 <= 0.6 * ecmp.p99", "unfinished == 0", "path(dc1,dc8) uses dc4"],
        })
    }
}

/// Implements [`Scalar`] for quantities, which parse and print their own text form.
macro_rules! quantities {
    ($($type:ty: $schema:tt)*) => {$(
        impl Scalar for $type {
            fn read(text: &str) -> Result<Self, ProblemKind> {
                Ok(text.parse::<Self>()?)
            }

            fn schema() -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

// Zero needs no unit, so the schema also accepts the integer 0.
quantities! {
    BitsPerSec: {
        "type": "string",
        "pattern": format!("^ *{} *$", with_unit(Self::units())),
        "examples": ["200 Gbit"],
    }
    Bytes: {
        "type": ["string", "integer"],
        "pattern": format!("^ *(0_*|{}) *$", with_unit(Self::units())),
        "minimum": 0,
        "maximum": 0,
        "examples": ["30 MB"],
    }
    Nanos: {
        "type": ["string", "integer"],
        "pattern": format!("^ *(0_*|{}) *$", with_unit(Self::units())),
        "minimum": 0,
        "maximum": 0,
        "examples": ["5 ms"],
    }
    Ratio: {
        "type": ["string", "number"],
        "pattern": r"^[0-9]+( */ *[0-9]+|(\.[0-9]+)?( *%)?)$",
        "minimum": 0,
        "examples": ["1/1000", 0.3, "30%"],
    }
}

/// Returns the pattern of a number followed by one of `units`.
fn with_unit(units: impl Iterator<Item = &'static str>) -> String {
    let units: Vec<&str> = units.collect();
    format!(r"[0-9][0-9_]*(\.[0-9_]+)? *({})", units.join("|"))
}

/// Implements [`Scalar`] for whole numbers, decimal or hexadecimal: traffic classes are usually written like `0x6a`.
macro_rules! whole_number {
    ($($number:ty),*) => {$(
        impl Scalar for $number {
            fn read(text: &str) -> Result<Self, ProblemKind> {
                let number = whole_number(text).and_then(|number| Self::try_from(number).ok());
                number.ok_or_else(|| ProblemKind::NotWholeNumber {
                    found: text.to_owned(),
                    bounds: format!("0 to {}", Self::MAX),
                })
            }

            fn schema() -> Schema {
                json_schema!({ "type": "integer", "minimum": 0, "maximum": Self::MAX })
            }
        }
    )*};
}

whole_number!(u8, u16, u32, u64);

fn whole_number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // The standard library's parser would also accept a sign.
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// Implements [`Word`] and [`Scalar`] for types whose values are a closed set of words.
macro_rules! words {
    ($($type:ty: $expected:literal { $($word:literal => $meaning:expr),* $(,)? })*) => {
        $crate::yaml::scalar::words! { $($type: $expected = &[$(($word, $meaning)),*];)* }
    };
    ($($type:ty: $expected:literal = $words:expr;)*) => {$(
        impl $crate::yaml::Word for $type {
            const WORDS: &'static [(&'static str, Self)] = $words;

            fn expected() -> &'static str {
                $expected
            }
        }

        impl Scalar for $type {
            fn read(text: &str) -> Result<Self, $crate::error::ProblemKind> {
                <Self as $crate::yaml::Word>::read_word(text)
            }

            fn schema() -> schemars::Schema {
                <Self as $crate::yaml::Word>::word_schema()
            }
        }
    )*};
}
pub(crate) use words;

words! {
    Agent: "an agent" { "policy" => Self::Policy, "legacy" => Self::Legacy }
    Arrivals: "an arrival process" { "poisson" => Self::Poisson, "even" => Self::Even }
    Preset: "a preset" { "paper" => Self::Paper, "artifact" => Self::Artifact }
    TrainMode: "a kind of training" { "auto" => Self::Auto }
    LoadBase: "a load base" {
        "host-nic" => Self::HostNic,
        "dci-egress" => Self::DciEgress,
        "busiest-link" => Self::BusiestLink,
        "min-cut" => Self::MinCut
    }
}

words! {
    Semantics: "a set of semantics" = Self::WORDS;
    Tool: "a perftest program" = Self::WORDS;
}

impl Scalar for bool {
    fn read(text: &str) -> Result<Self, ProblemKind> {
        Self::read_word(text)
    }

    fn schema() -> Schema {
        json_schema!({ "type": "boolean" })
    }
}

impl Word for bool {
    const WORDS: &'static [(&'static str, Self)] = &[("true", true), ("false", false)];

    fn expected() -> &'static str {
        "`true` or `false`"
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Display};

    use lab_units::ParseQuantityError;
    use proptest::prelude::*;
    use regex::Regex;
    use serde::Serialize;

    use super::*;

    /// Scenarios, plans and records use the same words for the same values.
    fn words_are_the_serde_form<T: Word + Debug + Serialize>() {
        for (word, meaning) in T::WORDS {
            assert_eq!(serde_json::to_value(meaning).unwrap(), *word, "{meaning:?}");
        }
    }

    /// A value that is printed can be parsed again, and editors accept it.
    fn round_trip<T: Scalar + Display + PartialEq + Debug>(value: T) {
        let text = value.to_string();
        assert_eq!(T::read(&text).as_ref(), Ok(&value));
        let schema = T::schema();
        let pattern = schema.get("pattern").unwrap().as_str().unwrap();
        assert!(Regex::new(pattern).unwrap().is_match(&text), "{text}");
    }

    proptest! {
        #[test]
        fn quantities_are_read_as_they_are_printed(value in 1..u64::MAX, other in 1..u64::MAX) {
            round_trip(BitsPerSec::new(value).unwrap());
            round_trip(Bytes::new(value));
            round_trip(Nanos::new(value));
            round_trip(Ratio::new(value, other).unwrap());
        }

        #[test]
        fn editors_and_the_reader_take_the_same_quantities(text in "[0-9._]{1,4} ?[kMGTmunBbitps/h]{0,5}") {
            agree::<BitsPerSec>(&text);
            agree::<Bytes>(&text);
            agree::<Nanos>(&text);
        }

        #[test]
        fn editors_and_the_reader_take_the_same_shares(text in "[0-9]{1,2}[./ %]{0,2}[0-9]{0,2}[ %]{0,2}") {
            let schema = Ratio::schema();
            let pattern = schema.get("pattern").unwrap().as_str().unwrap();
            let accepted = Regex::new(pattern).unwrap().is_match(&text);
            // An editor cannot evaluate a division, and does not accept the blanks around a number that the parser
            // accepts.
            prop_assert!(Ratio::read(&text).is_err() || accepted || text != text.trim(), "{}", text);
            let is_division = text.contains('/');
            prop_assert!(!accepted || Ratio::read(&text).is_ok() || is_division, "{}", text);
        }
    }

    /// Checks that an editor accepts every text that the parser accepts, and rejects unknown units. Other errors depend
    /// on the value.
    fn agree<T: Scalar + Debug>(text: &str) {
        let schema = T::schema();
        let pattern = schema.get("pattern").unwrap().as_str().unwrap();
        let accepted = Regex::new(pattern).unwrap().is_match(text);
        match T::read(text) {
            Ok(_) => assert!(accepted, "`{text}` is read"),
            Err(ProblemKind::Quantity(
                ParseQuantityError::UnknownUnit { .. } | ParseQuantityError::NoUnit { .. },
            )) => assert!(!accepted, "`{text}` has no known unit"),
            Err(_) => {}
        }
    }

    #[test]
    fn words_are_those_of_the_model() {
        words_are_the_serde_form::<Agent>();
        words_are_the_serde_form::<Arrivals>();
        words_are_the_serde_form::<TrainMode>();
        words_are_the_serde_form::<Preset>();
        words_are_the_serde_form::<LoadBase>();
    }

    #[test]
    fn whole_numbers_have_no_sign_and_may_be_hexadecimal() {
        assert_eq!(u8::read("0x6a"), Ok(0x6a));
        for text in ["-1", "+1", "256", "0x100", "", "0x", "1.0", "1_000", "a"] {
            assert!(u8::read(text).is_err(), "{text}");
        }
    }
}
