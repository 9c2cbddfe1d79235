//! Run of a case, or point of its sweep.

use std::path::PathBuf;

use lab_regress::Samples;

use crate::failure::Failure;

/// Ended run of a case, or all runs of a point.
pub struct EndedRun {
    /// Directory of the run, or of the sweep.
    pub dir: PathBuf,
    /// Start, in UTC; empty if unknown.
    pub at: String,
}

/// Run of a case, or point of its sweep.
pub struct CaseRun {
    /// Name of the case, with that of the point.
    pub name: String,
    pub samples: Result<(EndedRun, Samples), Failure>,
}

/// Message of the failures after an interruption.
pub const INTERRUPTED: &str = "the suite was interrupted";
