//! Suites of assertions on runs, and the regression gate between builds.
//!
//! Must not contain: engines, clocks, processes. The program runs the cases and passes their run directories to this
//! crate.
//!
//! - [`samples`]: values of a run that assertions and gates use
//! - [`expect`]: evaluation of assertions, with the uncertainty of a run's percentiles
//! - [`gate`]: comparison with a baseline of the same arrivals, relative to the noise
//! - [`changepoint`]: detection of level changes in a history
//! - [`outcome`]: verdicts of checks, cases and suites
//! - [`junit`], [`markdown`], [`trend`]: outcome for Jenkins, outcome for people, and history page
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
pub use outcome::{CaseOutcome, Check, SuiteOutcome, Verdict};
pub use samples::Samples;
