//! Lists in one field.

use std::{fmt::Display, ops::Deref, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// Values in one field, joined by `|`; an empty list is an empty text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct List<T>(pub Vec<T>);

/// Error of writing or reading a list.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// An item could not be read back.
    #[error("`{item}` cannot be in a list: it is empty or has a `{SEPARATOR}`")]
    Item {
        /// The item.
        item: String,
    },
    /// An item is not of the list's type.
    #[error("`{item}` in a list: {problem}")]
    Parse {
        /// The item.
        item: String,
        /// Error of the item's type.
        problem: String,
    },
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: Display> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        for item in &self.0 {
            let item = item.to_string();
            if item.is_empty() || item.contains(SEPARATOR) {
                return Err(ser::Error::custom(ListError::Item { item }));
            }
            if !text.is_empty() {
                text.push(SEPARATOR);
            }
            text.push_str(&item);
        }
        serializer.serialize_str(&text)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let parse = |item: &str| {
            item.parse().map_err(|problem: T::Err| ListError::Parse {
                item: item.to_owned(),
                problem: problem.to_string(),
            })
        };
        let items = text.split(SEPARATOR).map(parse);
        items.collect::<Result<_, _>>().map_err(de::Error::custom)
    }
}

/// Separator of items: needs no quotes in CSV and occurs in no name.
const SEPARATOR: char = '|';
