//! Errors of comparing runs.

use super::differences::{Aspect, Difference};
use crate::error::ReportError;

/// Error of comparing runs.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A run cannot be read, or the comparison cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The runs differ in aspects that were not named.
    #[error(
        "the runs are of different plans{} (hint: {}`--differs {}` if this is meant)",
        lines(differences),
        if *two_engines { FIDELITY } else { "" },
        names(differences)
    )]
    OtherPlan {
        /// The differences that were not named.
        differences: Vec<Difference>,
        /// True if the runs are of two engines.
        two_engines: bool,
    },
    /// Two runs have no policy in common.
    #[error("no policy is in both: the first run has {first}, `{directory}` has {other}")]
    NoPolicy {
        /// Policies of the first run.
        first: String,
        /// Directory of the other run.
        directory: String,
        /// Its policies.
        other: String,
    },
    /// There is nothing to compare the first run with.
    #[error("one run alone cannot be compared (hint: lcmp-lab compare A B)")]
    OneRun,
}

/// Hint for runs of two engines.
const FIDELITY: &str =
    "`lcmp-lab fidelity KERNEL SIM` tells how far two engines agree, flow by flow; ";

fn lines(differences: &[Difference]) -> String {
    let line = |it: &Difference| format!("\n  {}: {}", it.aspect.name(), it.values.join(" | "));
    differences.iter().map(line).collect()
}

fn names(differences: &[Difference]) -> String {
    let names: Vec<&str> = differences
        .iter()
        .map(|it| Aspect::name(it.aspect))
        .collect();
    names.join(",")
}
