//! Percentiles with confidence intervals.

mod bootstrap;
mod estimate;
mod percentile;
mod resample;

pub use bootstrap::{change, slowdown};
pub use estimate::{Change, Estimate, Slowdown};
pub use percentile::nearest_rank;
