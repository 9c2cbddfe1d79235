//! Scenario text to Scenario: parsing, limits, errors that point, JSON Schema.

pub mod error;
pub mod files;
pub mod limits;
pub mod model;

pub use error::{Problem, ScenarioErrors};
pub use files::{CdfPoint, FileFlow, SizeCdf, parse_flow_file};
pub use model::*;
