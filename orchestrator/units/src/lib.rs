//! Quantities as types with exact text forms.
//!
//! Every number that crosses a crate boundary in lcmp-lab has its unit in its type. Internally, all are integers of a
//! base unit: bits per second, bytes or nanoseconds. Conversion from and to text is exact: `"1.5 Gbit".parse()` is
//! 1,500,000,000 bit/s, which is printed as `1500 Mbit`. A text that is not a whole number of base units is an error;
//! it is never rounded.
//!
//! Must not contain: clocks, floats, I/O.
//!
//! - [`rate`][]: [`BitsPerSec`], a link rate
//! - [`bursts`][]: shape of bursty traffic
//! - [`bytes`][]: [`Bytes`], an amount of data
//! - [`time`][]: [`Nanos`], a duration
//! - [`ratio`][]: [`Ratio`], an exact fraction such as `1/1000`
//! - [`format`][]: format numbers of files that several crates write and read
//! - [`ids`][]: indices of a plan's tables
//! - [`twin`][]: [`Twin`], a link's place among parallel links, and the end of its name
//! - [`candidates`][]: [`CandidateSet`], the rule by which next hops become candidates
//! - [`kinds`][]: closed sets of words that several crates use, such as [`Engine`] and [`Clock`]; [`Mac`]
//! - [`tool`][]: programs that generate flows
//! - [`show`][]: rounded quantities, tables and paragraphs for people
//! - `text` (feature `serde`): text form for serde fields; by default the types are serialised as integers, for plans
//!   and records
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

pub mod bursts;
pub mod bytes;
pub mod candidates;
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
pub mod twin;

pub use bytes::Bytes;
pub use candidates::CandidateSet;
pub use format::PLAN_FORMAT;
pub use ids::{DcId, FlowId, LinkId, NodeId, PortId};
pub use kinds::{Clock, Engine, LinkChange, Mac, ParseKindError, Place, Semantics, Trainer};
pub use parse::ParseQuantityError;
pub use rate::BitsPerSec;
pub use ratio::Ratio;
pub use time::Nanos;
pub use tool::{Side, Tool};
pub use twin::Twin;
