//! Outcome of a finished run.

use serde::{Deserialize, Serialize};

use crate::{
    Verdict,
    run_end::{FlowCounts, RunEnd},
};

/// Outcome of a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Facts that the engine reported at the end of the run.
    pub end: RunEnd,
    /// Numbers of flows by outcome.
    #[serde(rename = "tally")]
    pub counts: FlowCounts,
    /// Verdict on whether the run's results can be trusted.
    pub verdict: Verdict,
}
