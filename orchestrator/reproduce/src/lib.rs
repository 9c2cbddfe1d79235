//! Reproduction of the paper's figures: published values compared with those of runs, and verdicts on the claims.
//!
//! Must not contain: engines, clocks, processes. The program performs the runs and passes their run directories to
//! this crate.
//!
//! - [`catalogue`]: cases of the figures, and the scenario for each case
//! - [`variant`]: a case's scenario with the published flows, fair baselines or a tenth of the duration
//! - [`published`]: tables of published values, statements and known causes of differences
//! - [`measured`]: a case's values in a run; [`network`]: counts of its network
//! - [`claim`]: the claims, their rules, and verdicts
//! - [`report`]: all of it side by side; [`document`](mod@document): the report for people
pub mod catalogue;
pub mod claim;
mod document;
pub mod measured;
pub mod network;
pub mod published;
pub mod report;
pub mod variant;

pub use catalogue::{CASES, Case, Figure};
pub use claim::{CLAIMS, ClaimVerdict, Judged};
pub use document::document;
pub use measured::{CaseValues, Measured, Played};
pub use published::{Published, PublishedError};
pub use report::{CaseRuns, Report, Settings};
pub use variant::{Source, Variant, derive};
