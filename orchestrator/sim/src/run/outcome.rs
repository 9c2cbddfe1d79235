//! Progress and result of a simulation run, and its observer.

use crate::{partition::Work, time::SimTime, trace::TraceEvent};

/// Receiver of a run's trace events, in order of time.
pub trait Observer {
    /// Processes the next trace event.
    fn on_event(&mut self, event: TraceEvent);

    /// Called with the run's progress after each window of simulated time; returns false to stop the run.
    fn on_progress(&mut self, progress: Progress) -> bool;
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// End of the last window; all events before it have been processed.
    pub now: SimTime,
    /// Counters of the work done so far.
    pub work: Work,
    /// Total number of flows in the run.
    pub flows: u64,
}

/// Result of a simulation run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// End of the run: the last flow's end if all finished, else the time limit if it was reached, else the time of the
    /// last event.
    pub end: SimTime,
    /// Counters of the work done.
    pub work: Work,
    /// Reason why the run ended.
    pub reason: EndReason,
    /// Flows that started but did not finish.
    pub unfinished: Vec<u32>,
}

/// Reason why a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndReason {
    /// All flows have finished: their senders have received all ACKs.
    Finished,
    /// No events are left, but flows are unfinished: their QPs have failed, or wait for lost packets without a
    /// time-out.
    Stuck,
    /// The time limit was reached.
    Until,
    /// The observer stopped the run.
    Stopped,
}
