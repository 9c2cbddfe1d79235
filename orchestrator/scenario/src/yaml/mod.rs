//! YAML with byte ranges: building blocks of the raw shapes, and problems of parsing.
//!
//! - [`at`][]: values with their byte range
//! - [`scalar`][]: texts of single values and their types
//! - [`path`][]: YAML path of a byte range
//! - [`mod@read`]: conversion of a text to a raw shape, or its first problem

pub mod at;
pub mod path;
pub mod read;
pub mod scalar;

pub use at::{At, Maybe, OneOrMany, Text, WordOr};
pub use path::Locator;
pub use read::read;
pub use scalar::{Scalar, Word};
