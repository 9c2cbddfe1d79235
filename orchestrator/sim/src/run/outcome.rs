//! Progress and outcome of a run.

use crate::{partition::Work, time::SimTime, trace::TraceEvent};

/// Receiver of trace events, in order of time.
pub trait Observer {
    /// Processes an event.
    fn on_event(&mut self, event: TraceEvent);

    /// Called with the run's progress after each window of simulated time; returns false to stop the run.
    fn on_progress(&mut self, progress: Progress) -> bool;
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// End of the last window: all earlier events have been processed.
    pub now: SimTime,
    /// Counters of the work done so far.
    pub work: Work,
    /// Number of flows of the run.
    pub flows: u64,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// End of the run: the last flow's end if all finished, the time limit if it was reached before, else the time of
    /// the last event.
    pub end: SimTime,
    /// Counters of the work done.
    pub work: Work,
    /// Cause of the end.
    pub reason: EndReason,
    /// Flows that started but did not finish.
    pub unfinished: Vec<u32>,
}

/// Cause of a run's end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndReason {
    /// Every flow has received all its ACKs.
    Finished,
    /// No event is left: the QPs of flows failed, or wait without a time-out for lost packets.
    Stuck,
    /// The time limit was reached.
    Until,
    /// The observer stopped the run.
    Stopped,
}
