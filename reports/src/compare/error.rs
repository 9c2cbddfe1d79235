//! Errors of a comparison of runs.

use super::differences::{Aspect, Difference};
use crate::error::ReportError;

/// Failure to compare runs.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A run cannot be read, or the comparison cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The plans of the runs differ in aspects that `--differs` does not name.
    #[error(
        "the plans of the runs differ:{} (hint: {}`--differs {}` if the difference is intended)",
        lines(differences),
        if *two_engines { FIDELITY } else { "" },
        names(differences)
    )]
    OtherPlan {
        /// Differences in the aspects that `--differs` does not name.
        differences: Vec<Difference>,
        /// True if the runs are from both engines.
        two_engines: bool,
    },
    /// Two runs have no policy in common, so nothing can be compared.
    #[error(
        "the runs have no policy in common: the first run has {first}, `{directory}` has {other}"
    )]
    NoPolicy {
        /// Labels of the first run's policies.
        first: String,
        /// Directory of the other run.
        directory: String,
        /// Labels of the other run's policies.
        other: String,
    },
    /// Only one run is given.
    #[error("one run alone cannot be compared (hint: lcmp-lab compare A B)")]
    OneRun,
}

/// Hint for runs from both engines.
const FIDELITY: &str =
    "`lcmp-lab fidelity KERNEL SIM` shows how far two engines agree, flow by flow; ";

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
