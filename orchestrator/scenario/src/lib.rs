//! Scenario text to Scenario: parsing, limits, errors that point, JSON Schema.

pub mod defaults;
pub mod error;
pub mod files;
pub mod limits;
pub mod model;
mod parse;
mod raw;
mod resolve;
mod schema;
mod suggest;
mod yaml;

pub use error::{Problem, ScenarioErrors};
pub use files::{CdfPoint, FileFlow, SizeCdf, parse_flow_file};
pub use model::*;
pub use parse::{files, parse};
pub use schema::schema;
