//! Thread that divides a run into windows.

use std::{
    cmp::Reverse,
    panic::resume_unwind,
    sync::{PoisonError, atomic::Ordering},
};

use super::{
    outcome::{EndReason, Observer, Outcome, Progress},
    shared::{Shared, Step, lock},
    step_results::StepResults,
    worker::Worker,
};
use crate::{
    cc::CongestionControl, partition::Work, semantics::SemanticsRules, time::SimTime,
    trace::TraceEvent,
};

/// Thread that plans each window, shares its work with the helping threads, and passes the results to the observer.
pub(super) struct Coordinator<'s, 'w, S: SemanticsRules, C: CongestionControl> {
    shared: &'s Shared<'w, S, C>,
    observer: &'s mut dyn Observer,
    /// Counters of the whole run so far.
    work: Work,
    /// Results of the current task.
    results: StepResults,
    /// Buffer for the trace events of a window.
    trace: Vec<TraceEvent>,
}

/// Minimum number of events that are expected in a task that threads share. With fewer, the threads would wait for each
/// other longer than they work.
const MIN_SHARED_EVENTS: u64 = 4_000;

impl<'s, 'w, S: SemanticsRules, C: CongestionControl> Coordinator<'s, 'w, S, C> {
    pub fn new(shared: &'s Shared<'w, S, C>, observer: &'s mut dyn Observer) -> Self {
        Self {
            shared,
            observer,
            work: Work::default(),
            results: StepResults::default(),
            trace: Vec::new(),
        }
    }

    /// Runs windows until the run ends.
    ///
    /// # Panics
    /// Panics if a thread panicked.
    pub fn run(mut self) -> Outcome {
        let shared = self.shared;
        let mut horizon = SimTime::ZERO;
        let reason = loop {
            self.exchange();
            let next = shared.next();
            if let Some(reason) = self.end_reason(next) {
                break reason;
            }
            let lookahead = shared.world.lookahead;
            horizon = next.saturating_add(lookahead).min(shared.until);
            self.advance(horizon);
            self.report(horizon);
        };
        let end = self.close(horizon, reason);
        self.report(horizon);
        if let Some(panic) = lock(&shared.panic).take() {
            resume_unwind(panic);
        }
        Outcome {
            end,
            work: self.work,
            reason,
            unfinished: self.unfinished(),
        }
    }

    /// Delivers the packets of the last window.
    fn exchange(&mut self) {
        if self.results.received.is_empty() {
            return;
        }
        let mut received = std::mem::take(&mut self.results.received);
        self.perform(Step::Exchange, received.drain(..));
        self.results.received = received;
    }

    /// Processes all events before `horizon`.
    fn advance(&mut self, horizon: SimTime) {
        let shared = self.shared;
        self.perform(Step::Advance(horizon), shared.due(horizon));
        self.work.add(&std::mem::take(&mut self.results.work));
        if shared.world.failure().is_some() {
            shared.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Performs `step` for the partitions `dcs`, with the helping threads if that is worth the synchronisation. The
    /// number of threads makes no difference to the result.
    fn perform(&mut self, step: Step, dcs: impl Iterator<Item = u32>) {
        let shared = self.shared;
        shared.claimed.store(0, Ordering::Relaxed);
        let mut task = shared.task.write().unwrap_or_else(PoisonError::into_inner);
        task.step = step;
        task.dcs.clear();
        task.dcs.extend(dcs);
        let expected = || task.dcs.iter().map(|&dc| shared.recent(dc)).sum::<u64>();
        let is_shared = shared.threads > 1 && task.dcs.len() > 1 && expected() >= MIN_SHARED_EVENTS;
        let worker = Worker::new(shared);
        if !is_shared {
            return worker.perform(&task, &mut self.results);
        }
        // The busiest partitions come first, so that no thread starts a large partition when the others are done.
        task.dcs.sort_by_key(|&dc| Reverse(shared.recent(dc)));
        drop(task);
        shared.barrier.wait();
        let task = shared.task.read().unwrap_or_else(PoisonError::into_inner);
        worker.perform(&task, &mut self.results);
        drop(task);
        shared.barrier.wait();
        self.results.append(&mut lock(&shared.results));
    }

    /// Returns the reason why the run must end now; `None` if the run continues.
    fn end_reason(&self, next: SimTime) -> Option<EndReason> {
        let shared = self.shared;
        if shared.stop.load(Ordering::Relaxed) {
            Some(EndReason::Stopped)
        } else if self.work.finished == shared.world.flows.len() as u64 {
            Some(EndReason::Finished)
        } else if !shared.has_work() {
            Some(EndReason::Stuck)
        } else if next >= shared.until {
            Some(EndReason::Until)
        } else {
            None
        }
    }

    /// Passes the trace events before `horizon` to the observer, ordered by time, then datacenter.
    fn report(&mut self, horizon: SimTime) {
        let shared = self.shared;
        self.results.traced.sort_unstable();
        for dc in self.results.traced.drain(..) {
            let mut partition = lock(&shared.slots[dc as usize].partition);
            self.trace.append(&mut partition.trace);
        }
        self.trace.sort_by_key(TraceEvent::at);
        for event in self.trace.drain(..) {
            self.observer.on_event(event);
        }
        let progress = Progress {
            now: horizon,
            work: self.work,
            flows: shared.world.flows.len() as u64,
        };
        if !self.observer.on_progress(progress) {
            shared.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the run for `reason` and returns the time of its end; all events before `horizon` have been processed.
    fn close(&mut self, horizon: SimTime, reason: EndReason) -> SimTime {
        let shared = self.shared;
        let ends = shared.slots.iter().map(|slot| match reason {
            EndReason::Finished => lock(&slot.partition).last_finish(),
            EndReason::Until => shared.until,
            EndReason::Stuck | EndReason::Stopped => lock(&slot.partition).now(),
        });
        let end = ends.max().unwrap_or(SimTime::ZERO);
        for (dc, slot) in (0u32..).zip(&shared.slots) {
            lock(&slot.partition).close(horizon.max(end));
            self.results.traced.push(dc);
        }
        end
    }

    /// Returns the flows that started but did not finish.
    fn unfinished(&self) -> Vec<u32> {
        let mut unfinished: Vec<u32> = Vec::new();
        for slot in &self.shared.slots {
            unfinished.extend(lock(&slot.partition).unfinished());
        }
        unfinished.sort_unstable();
        unfinished
    }
}

impl<S: SemanticsRules, C: CongestionControl> Drop for Coordinator<'_, '_, S, C> {
    /// Ends the helping threads, which wait for the next task.
    fn drop(&mut self) {
        let task = self.shared.task.write();
        task.unwrap_or_else(PoisonError::into_inner).step = Step::End;
        if self.shared.threads > 1 {
            self.shared.barrier.wait();
        }
    }
}
