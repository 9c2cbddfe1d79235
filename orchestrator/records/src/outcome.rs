//! Outcome of a finished run.

use serde::{Deserialize, Serialize};

use crate::{
    Verdict,
    run_end::{FlowCounts, RunEnd},
};

/// Outcome of a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Facts from the engine.
    pub end: RunEnd,
    /// Counts of flows by outcome.
    #[serde(rename = "tally")]
    pub counts: FlowCounts,
    /// Verdict on the run.
    pub verdict: Verdict,
}

impl Outcome {
    /// Returns a sentence if `rows`, the number of flow rows now, is not the number at the run's end: the file has
    /// changed since.
    #[must_use]
    pub fn lost_rows(&self, rows: u64) -> Option<String> {
        let at_end = self.counts.flows;
        (rows != at_end).then(|| format!("flow rows: {rows}, but the run ended with {at_end}"))
    }
}
