//! YAML with ranges: building blocks of the raw shapes, and problems while reading them.
//!
//! - [`at`][]: values with their byte range
//! - [`scalar`][]: texts of single values and their meaning
//! - [`path`][]: YAML path of a byte range
//! - [`mod@read`]: text to raw shape, or the problem

pub mod at;
pub mod path;
pub mod read;
pub mod scalar;

pub use at::{At, Maybe, OneOrMany, Text, WordOr};
pub use path::Locator;
pub use read::read;
pub use scalar::{Scalar, Word};
