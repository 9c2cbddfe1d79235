//! Percentiles with confidence intervals.

mod bootstrap;
mod estimate;
mod resample;

pub use bootstrap::{change, slowdown};
pub use estimate::{Change, Estimate, Slowdown};
