//! Suites of assertions on runs, and the regression gate between builds.
//!
//! Must not contain: engines, clocks, processes. The program runs the cases and passes their run directories to this
//! crate.
//!
//! - [`samples`]: values of a run that assertions and gates use
//! - [`expect`]: assertions, with the uncertainty of a run's percentiles
//! - [`gate`]: differences from a baseline with the same arrivals, against their noise
//! - [`changepoint`]: changes of level in a history
//! - [`outcome`]: outcomes of cases and suites
//! - [`junit`], [`markdown`], [`trend`]: outcomes as XML for Jenkins, as a table for people, and over time
pub mod changepoint;
pub mod expect;
pub mod gate;
pub mod junit;
pub mod markdown;
#[cfg(test)]
mod noise;
pub mod outcome;
pub mod samples;
pub mod trend;

pub use gate::Gauge;
pub use outcome::{CaseOutcome, SuiteOutcome};
pub use samples::Samples;
