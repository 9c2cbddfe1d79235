//! Options of a run.

use crate::{time::SimTime, trace::TraceFilter};

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Number of threads; at least one.
    pub threads: usize,
    /// Time limit of the run.
    pub until: Option<SimTime>,
    /// Flows whose single events are traced.
    pub trace_filter: TraceFilter,
}
