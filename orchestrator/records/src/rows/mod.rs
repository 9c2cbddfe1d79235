//! Rows of a run's tables.
//!
//! Columns are in paper units; a column named `emu_…` has the emulated value, as measured. Times are relative to the
//! repetition's start. An empty field stands for a value that does not exist, such as the FCT of a flow that did not
//! finish. `reports/README.md` explains every column.

mod certificate;
mod counters;
mod dc_path;
mod events;
mod flow;
mod history;
mod path;

use std::{fmt::Display, net::Ipv4Addr, ops::Deref, str::FromStr};

use lab_units::{BitsPerSec, Bytes, FlowId, Nanos};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned},
    ser,
};

use crate::Semantics;
pub use certificate::CertifiedRow;
pub use counters::{LinkRow, PortRow, QueueRow, RateRow, SwitchRow};
pub use dc_path::{DcNames, DcPath};
pub use events::{DecisionRow, PfcEvent, PfcRow, SplitRow, StoryEvent, StoryRow};
pub use flow::{FlowFields, FlowRow, FlowStatus};
pub use history::HistoryRow;
pub use path::{FlowPaths, PathRow};

/// Row type of one of a run's tables.
pub trait Row: Serialize + DeserializeOwned {
    /// Name of the table's file.
    const FILE: &'static str;
    /// True if every run has the table; false if its file is created with its first row.
    const REQUIRED: bool;
    /// Columns, in the order in which they are written.
    const COLUMNS: &'static [Column];
}

/// Column of a run's table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Column {
    /// Name of the column.
    pub name: &'static str,
    /// Type of the column's values.
    pub kind: Kind,
    /// True if rows may have no value in this column.
    pub optional: bool,
}

/// Type of a column's values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Whole numbers from 0 to 2^64 − 1.
    Integer,
    /// Floating-point numbers.
    Float,
    /// Texts, and values of all other types in text form.
    Text,
}

/// Rust type that a field of a row can have.
trait Field {
    const KIND: Kind;
    const OPTIONAL: bool = false;
}

impl<T: Field> Field for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
}

impl<T> Field for List<T> {
    const KIND: Kind = Kind::Text;
}

macro_rules! fields {
    ($kind:ident: $($type:ty),*) => {
        $(impl $crate::rows::Field for $type {
            const KIND: $crate::rows::Kind = $crate::rows::Kind::$kind;
        })*
    };
}
use fields;
fields!(Integer: u8, u16, u32, u64, BitsPerSec, Bytes, FlowId, Nanos);
fields!(Float: f64);
fields!(Text: String, Ipv4Addr, Semantics);

/// List in one field, whose items are joined by `|`; an empty list is an empty text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct List<T>(pub Vec<T>);

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
                return Err(ser::Error::custom(format!(
                    "`{item}` cannot be in a list: it is empty or contains `{SEPARATOR}`"
                )));
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
            item.parse()
                .map_err(|problem| de::Error::custom(format!("`{item}` in a list: {problem}")))
        };
        text.split(SEPARATOR).map(parse).collect()
    }
}

/// Separator of list items, which needs no quotes in CSV and occurs in no name.
const SEPARATOR: char = '|';

/// Declares a row type; its fields are the table's columns.
macro_rules! row {
    (
        $(#[$doc:meta])*
        pub struct $name:ident in $file:literal, required: $required:literal {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::rows::Row for $name {
            const FILE: &'static str = $file;
            const REQUIRED: bool = $required;
            const COLUMNS: &'static [$crate::rows::Column] = &[$($crate::rows::Column {
                name: stringify!($field),
                kind: <$type as $crate::rows::Field>::KIND,
                optional: <$type as $crate::rows::Field>::OPTIONAL,
            }),*];
        }
    };
}
use row;
