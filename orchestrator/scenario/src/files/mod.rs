//! Files that a scenario names, parsed from their texts.
//!
//! - [`cdf`]: flow size distributions
//! - `demands`: rates between pairs of datacenters
//! - [`flow_file`]: flow lists of the paper's artifact

pub mod cdf;
pub(crate) mod demands;
pub mod flow_file;
mod rows;

pub use cdf::{CdfPoint, SizeCdf};
pub use flow_file::{FileFlow, parse_flow_file};
