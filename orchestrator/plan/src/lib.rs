//! Scenario to Plan: everything that is decided before time starts, as integers.

pub mod address;
mod auto;
pub mod error;
mod estimate;
mod faults;
mod flow_list;
pub mod frame;
pub mod graph;
pub mod ideal;
pub mod model;
mod policy;
pub mod rdma;
mod resolve;
mod round_trip;
mod routing;
mod sample;
mod scale;
mod schedule;
pub mod table;
mod text;
mod topology;
mod warnings;
mod workload;

pub use error::PlanError;
pub use graph::render_svg;
pub use model::*;
pub use resolve::{PlanOptions, resolve};
pub use table::render_table;
