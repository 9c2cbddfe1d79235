//! What kind of value a column holds.

use std::net::Ipv4Addr;

use lab_units::{BitsPerSec, Bytes, FlowId, Nanos};

use super::{DcPath, FlowStatus, List, PfcEvent, StoryEvent};
use crate::Semantics;

/// A column of a table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Whether a row may have no value.
    pub optional: bool,
}

/// What a column's values are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Whole numbers from 0 to 2^64 − 1.
    Integer,
    /// Numbers.
    Float,
    /// Anything else.
    Text,
}

/// A type that can be a column's.
pub(super) trait Field {
    /// What the values are.
    const KIND: Kind;
    /// Whether there may be none.
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
        $(impl Field for $type {
            const KIND: Kind = Kind::$kind;
        })*
    };
}
fields!(Integer: u8, u16, u32, u64, BitsPerSec, Bytes, FlowId, Nanos);
fields!(Float: f64);
fields!(Text: String, Ipv4Addr, DcPath, FlowStatus, PfcEvent, Semantics, StoryEvent);
