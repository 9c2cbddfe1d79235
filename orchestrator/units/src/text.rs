//! Text form for serde fields: `#[serde(with = "lab_units::text")]`.
//!
//! Scenarios hold quantities as text, plans and records as integers; this attribute selects the text form for a field.

use alloc::string::String;
use core::{fmt::Display, str::FromStr};

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Serializes the value in its [`Display`] form.
pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Deserializes the value from its [`FromStr`] form. The error is the value's own parse error, which states what was
/// expected.
pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?
        .parse()
        .map_err(D::Error::custom)
}

/// Implements serde for types whose serde form is their text form.
macro_rules! serde_as_text {
    ($($name:ty),*) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serialize(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserialize(deserializer)
            }
        }
    )*};
}

serde_as_text!(crate::Mac, crate::Ratio);
