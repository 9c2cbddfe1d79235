//! YAML with byte ranges: building blocks of [`crate::raw`], and conversion of parser errors.
//!
//! - [`at`][]: values with their byte range
//! - [`scalar`][]: texts of single values and their types
//! - [`path`][]: YAML path of a byte range
//! - [`mod@read`]: deserialisation of a text, or its first problem

pub mod at;
pub mod path;
pub mod read;
pub mod scalar;

pub use at::{At, Maybe, OneOrMany, Text, WordOr};
pub use path::Locator;
pub use read::read;
pub use scalar::{Scalar, Word};
