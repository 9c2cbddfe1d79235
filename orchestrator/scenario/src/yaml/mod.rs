//! YAML with places: what the raw shapes are made of, and what went wrong while reading them.
//!
//! - [`at`][]: values that know where they stand
//! - [`scalar`][]: texts of single values and what they mean
//! - [`path`][]: the YAML path of a place
//! - [`mod@read`]: a text to a raw shape, or the problem

pub mod at;
pub mod path;
pub mod read;
pub mod scalar;

pub use at::{At, Maybe, Text, WordOr};
pub use path::Locator;
pub use read::read;
pub use scalar::{Scalar, Word};
