//! The rows of a run's tables.
//!
//! Main columns are in paper units; a column named `emu_…` holds the emulated value as it was
//! measured. Times count from the repetition's start. An empty field is a value that does not
//! exist, such as the FCT of a flow that did not finish.

mod decision;
mod field;
mod flow;
mod link;
mod list;
mod pfc;
mod port;
mod queue;
mod story;
mod switch;

use serde::{Serialize, de::DeserializeOwned};

pub use decision::DecisionRow;
pub use field::{Column, Kind};
pub use flow::{DcPath, FlowRow, FlowStatus};
pub use link::LinkRow;
pub use list::{List, ListError};
pub use pfc::{PfcEvent, PfcRow};
pub use port::PortRow;
pub use queue::QueueRow;
pub use story::{StoryEvent, StoryRow};
pub use switch::SwitchRow;

/// A row of one of a run's tables.
pub trait Row: Serialize + DeserializeOwned {
    /// The file the table is in.
    const FILE: &'static str;
    /// The columns, in the order they are written.
    const COLUMNS: &'static [Column];
}

/// Declares a row type whose columns are its fields.
macro_rules! row {
    (
        $(#[$doc:meta])*
        pub struct $name:ident in $file:literal {
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
            const COLUMNS: &'static [$crate::rows::Column] = &[$($crate::rows::Column {
                name: stringify!($field),
                kind: <$type as $crate::rows::field::Field>::KIND,
                optional: <$type as $crate::rows::field::Field>::OPTIONAL,
            }),*];
        }
    };
}
use row;
