//! Options of a simulation run.

use crate::{
    time::SimTime,
    trace::{Samples, TraceFilter},
};

/// Options of a simulation run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Number of threads that process events, at least one; with more than one, a further thread makes the rows.
    pub threads: usize,
    /// Virtual time at which the run stops; `None` for no limit.
    pub until: Option<SimTime>,
    /// Filter that selects the flows for which each event is traced.
    pub trace_filter: TraceFilter,
    /// Samples and decisions that are recorded.
    pub samples: Samples,
}
