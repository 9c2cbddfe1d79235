//! Scenario text to Scenario: parsing, limits, errors that point, JSON Schema.

pub mod model;

pub use model::*;
