//! Observer that hands over the trace events of a run window by window.

use crate::{
    run::{Observer, Progress},
    trace::TraceEvent,
};

/// Receiver of the progress after each window of virtual time; returns false to stop the run.
pub type ProgressWatch<'o> = &'o mut dyn FnMut(Progress) -> bool;

/// Receiver of the trace events of a window; returns false if it needs no more.
type HandOver<'o> = &'o mut dyn FnMut(Vec<TraceEvent>) -> bool;

/// Observer that collects trace events until their window in virtual time ends.
pub struct Windows<'o> {
    events: Vec<TraceEvent>,
    hand_over: HandOver<'o>,
    watch: ProgressWatch<'o>,
}

impl<'o> Windows<'o> {
    pub const fn new(hand_over: HandOver<'o>, watch: ProgressWatch<'o>) -> Self {
        Self {
            events: Vec::new(),
            hand_over,
            watch,
        }
    }
}

impl Observer for Windows<'_> {
    fn on_event(&mut self, event: TraceEvent) {
        self.events.push(event);
    }

    fn on_progress(&mut self, progress: Progress) -> bool {
        let is_needed =
            self.events.is_empty() || (self.hand_over)(std::mem::take(&mut self.events));
        (self.watch)(progress) && is_needed
    }
}
