//! Reproduction of the paper's figures: published values compared with those in runs, and verdicts on the claims.
//!
//! Must not contain: engines, clocks, processes. The program performs the runs and passes their run directories to
//! this crate.
//!
//! - [`catalogue`]: cases of the figures, and the scenario for each case
//! - [`variant`]: a case's scenario with the published flows, fair baselines or a tenth of the duration
//! - [`published`]: tables of published values, statements and known causes of differences
//! - [`measured`]: values of a case in a run; [`network`]: counts of paths in the case's network
//! - [`claim`]: the claims, their rules, and verdicts
//! - [`report`]: values side by side, with the verdicts; [`document`](mod@document): the report for people; `answer`: its judgement
mod answer;
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
pub use document::{FIGURES, document};
pub use measured::{CaseValues, Measured, Played};
pub use published::{Published, PublishedError};
pub use report::{CaseRuns, Report, Settings};
pub use variant::{Source, Variant, derive, extended, with_extended};
