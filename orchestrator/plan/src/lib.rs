//! Scenario to Plan: everything that is decided before time starts, as integers.

pub mod address;
mod auto;
pub mod error;
mod estimate;
mod faults;
mod flow_list;
pub mod frame;
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
mod topology;
mod warnings;
mod workload;

pub use error::PlanError;
pub use model::*;
pub use resolve::{PlanOptions, resolve};
