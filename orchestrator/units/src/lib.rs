//! Quantities as types, with exact text forms.
//!
//! Every number that crosses a crate boundary of lcmp-lab has its unit in its type. Inside, all are
//! integers of one base unit: bits per second, bytes, nanoseconds. Text is exact both ways:
//! `"1.5 Gbit".parse()` is 1,500,000,000 bit/s and prints as `1500 Mbit`; a text that is not a
//! whole number of base units is an error, never a rounding.
//!
//! Must not contain: clocks, floats, I/O.
//!
//! - [`rate`][]: [`BitsPerSec`]
//! - [`bytes`][]: [`Bytes`]
//! - [`time`][]: [`Nanos`], a length of time
//! - [`ratio`][]: [`Ratio`], an exact fraction such as `1/1000`
//! - [`format`][]: format numbers of files that several crates write and read
//! - [`ids`][]: what a plan's tables are indexed with
//! - [`kinds`][]: closed sets that several crates name, such as [`Engine`] and [`Clock`]; [`Mac`]
//! - [`tool`][]: perftest programs
//! - [`show`][]: rounded quantities, tables and paragraphs for people
//! - `text` (feature `serde`): the text forms as serde fields; the types' own serde form is the
//!   integer, for plans and records
//!
//! ```
//! use lab_units::{BitsPerSec, Bytes, Nanos};
//! let rate: BitsPerSec = "200 Gbit".parse()?;
//! let wire = rate.serialize(Bytes::new(4154)).unwrap();
//! assert_eq!(wire, Nanos::new(167));
//! # Ok::<(), lab_units::ParseQuantityError>(())
//! ```
#![no_std]

extern crate alloc;

pub mod bytes;
pub mod format;
pub mod ids;
pub mod kinds;
pub mod parse;
pub mod rate;
pub mod ratio;
pub mod show;
#[cfg(feature = "serde")]
pub mod text;
pub mod time;
pub mod tool;

pub use bytes::Bytes;
pub use format::PLAN_FORMAT;
pub use ids::{DcId, FlowId, LinkId, NodeId, PortId};
pub use kinds::{Clock, Engine, LinkChange, Mac, ParseKindError, Place, Semantics};
pub use parse::ParseQuantityError;
pub use rate::BitsPerSec;
pub use ratio::Ratio;
pub use time::Nanos;
pub use tool::{Side, Tool};
