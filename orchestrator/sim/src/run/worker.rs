//! One thread of a run.

use std::{
    cmp::Reverse,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    outcome::{EndReason, Observer, Progress},
    shared::{PartitionSlot, PartitionStatus, Shared, lock},
};
use crate::{cc::CongestionControl, semantics::SemanticsRules, time::SimTime, trace::TraceEvent};

/// Thread that claims partitions one after another.
pub(super) struct Worker<'s, 'w, S: SemanticsRules, C: CongestionControl> {
    shared: &'s Shared<'w, S, C>,
    me: usize,
}

impl<'s, 'w, S: SemanticsRules, C: CongestionControl> Worker<'s, 'w, S, C> {
    pub const fn new(shared: &'s Shared<'w, S, C>, me: usize) -> Self {
        Self { shared, me }
    }

    /// Runs windows until the run ends. Only one thread gets the observer.
    pub fn work(&self, mut observer: Option<&mut dyn Observer>) {
        let mut horizon = SimTime::ZERO;
        loop {
            self.guarded(Self::exchange);
            self.shared.barrier.wait();
            let statuses = self.statuses();
            let next = statuses
                .iter()
                .map(|status| status.next)
                .min()
                .unwrap_or(SimTime::MAX);
            if let Some(reason) = self.end_reason(next, &statuses) {
                if let Some(observer) = observer {
                    self.shared.close(horizon, reason);
                    self.report(horizon, observer);
                }
                return;
            }
            let lookahead = self.shared.world.lookahead;
            horizon = next.saturating_add(lookahead).min(self.shared.until);
            self.guarded(|worker| worker.advance(horizon, &statuses));
            self.shared.barrier.wait();
            if let Some(observer) = &mut observer {
                self.report(horizon, *observer);
            }
        }
    }

    /// Executes `step`. If it panics, all threads are stopped, because they would wait at the barrier forever.
    fn guarded(&self, step: impl FnOnce(&Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| step(self))) {
            *lock(&self.shared.panic) = Some(panic);
            self.shared.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Delivers the packets of the last window and publishes the partitions' status.
    fn exchange(&self) {
        let shared = self.shared;
        let is_ending = shared.stop.load(Ordering::Relaxed);
        shared.is_ending[self.me].store(is_ending, Ordering::Relaxed);
        while let Some(slot) = self.claim(&shared.exchanged, |index| index) {
            let mut partition = lock(&slot.partition);
            for channel in std::mem::take(&mut *lock(&slot.inbox)) {
                partition.deliver(channel);
            }
            let mut status = lock(&slot.status);
            *status = PartitionStatus {
                next: partition.next_time().unwrap_or(SimTime::MAX),
                has_work: partition.has_work(),
                finished: partition.work.finished,
                events: partition.work.events,
                recent: partition.work.events - status.events,
            };
        }
        // No thread reads the counter before the barrier.
        if self.me == 0 {
            shared.advanced.store(0, Ordering::Relaxed);
        }
    }

    fn statuses(&self) -> Vec<PartitionStatus> {
        self.shared
            .slots
            .iter()
            .map(|slot| *lock(&slot.status))
            .collect()
    }

    /// Returns the reason why the run must end now; `None` if the run continues. All threads get the same result.
    fn end_reason(&self, next: SimTime, statuses: &[PartitionStatus]) -> Option<EndReason> {
        let flows = self.shared.world.flows.len() as u64;
        let finished: u64 = statuses.iter().map(|status| status.finished).sum();
        if self.shared.is_ending() {
            Some(EndReason::Stopped)
        } else if finished == flows {
            Some(EndReason::Finished)
        } else if !statuses.iter().any(|status| status.has_work) {
            Some(EndReason::Stuck)
        } else if next >= self.shared.until {
            Some(EndReason::Until)
        } else {
            None
        }
    }

    /// Processes all events before `horizon`. The busiest partitions come first, so that no thread starts a large
    /// partition when the other threads are done.
    fn advance(&self, horizon: SimTime, statuses: &[PartitionStatus]) {
        let shared = self.shared;
        let mut order: Vec<usize> = (0..statuses.len()).collect();
        order.sort_by_key(|&dc| Reverse(statuses[dc].recent));
        while let Some(slot) = self.claim(&shared.advanced, |index| order[index]) {
            let mut partition = lock(&slot.partition);
            partition.run_until(horizon);
            for channel in partition.take_channels() {
                lock(&shared.slots[channel.to_dc as usize].inbox).push(channel);
            }
            lock(&slot.trace).append(&mut partition.trace);
            *lock(&slot.work) = partition.work;
        }
        if shared.world.failure().is_some() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        if self.me == 0 {
            shared.exchanged.store(0, Ordering::Relaxed);
        }
    }

    /// Claims the next partition and returns it; `None` if all partitions are claimed. `dc_at` maps the number of
    /// earlier claims to a datacenter.
    fn claim(
        &self,
        claimed: &AtomicUsize,
        dc_at: impl Fn(usize) -> usize,
    ) -> Option<&'s PartitionSlot<'w, S, C>> {
        let index = claimed.fetch_add(1, Ordering::Relaxed);
        let slots = &self.shared.slots;
        (index < slots.len()).then(|| &slots[dc_at(index)])
    }

    /// Passes the trace events before `horizon` to the observer, ordered by time, then datacenter.
    fn report(&self, horizon: SimTime, observer: &mut dyn Observer) {
        let shared = self.shared;
        let mut trace = Vec::new();
        for slot in &shared.slots {
            trace.append(&mut lock(&slot.trace));
        }
        trace.sort_by_key(TraceEvent::at);
        for event in trace {
            observer.on_event(event);
        }
        let progress = Progress {
            now: horizon,
            work: shared.work(),
            flows: shared.world.flows.len() as u64,
        };
        if !observer.on_progress(progress) {
            shared.stop.store(true, Ordering::Relaxed);
        }
    }
}
