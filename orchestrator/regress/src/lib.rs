//! Suites of assertions on runs, and the regression gate between builds.
//!
//! Must not contain: engines, clocks, processes. The program runs the cases and hands over their run
//! directories.
//!
//! - [`samples`]: what assertions and gates need of a run
//! - [`expect`]: assertions, with the uncertainty of a run's percentiles
//! - [`tolerance`]: how far a percentile moves without a change, learnt from A/A runs, and the gate
//! - [`changepoint`]: changes of level in a history
//! - [`outcome`]: verdicts of checks, cases and suites
//! - [`junit`], [`markdown`], [`trend`]: the outcome for Jenkins, for people, and over time
pub mod changepoint;
pub mod expect;
pub mod junit;
pub mod markdown;
pub mod outcome;
pub mod samples;
pub mod tolerance;
pub mod trend;

pub use outcome::{CaseOutcome, Check, SuiteOutcome, Verdict};
pub use samples::Samples;
pub use tolerance::{Gauge, Tolerance, Tolerances};
