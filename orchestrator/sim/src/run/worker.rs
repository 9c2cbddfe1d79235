//! One thread of a run.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{PoisonError, atomic::Ordering},
};

use super::{
    shared::{Shared, Step, Task, lock},
    step_results::StepResults,
};
use crate::{cc::CongestionControl, semantics::SemanticsRules, time::SimTime};

/// Thread that claims partitions one after another.
pub(super) struct Worker<'s, 'w, S: SemanticsRules, C: CongestionControl> {
    shared: &'s Shared<'w, S, C>,
}

impl<'s, 'w, S: SemanticsRules, C: CongestionControl> Worker<'s, 'w, S, C> {
    pub const fn new(shared: &'s Shared<'w, S, C>) -> Self {
        Self { shared }
    }

    /// Takes part in all shared tasks until the run ends.
    pub fn help(&self) {
        let shared = self.shared;
        let mut results = StepResults::default();
        loop {
            shared.barrier.wait();
            let task = shared.task.read().unwrap_or_else(PoisonError::into_inner);
            if matches!(task.step, Step::End) {
                return;
            }
            self.perform(&task, &mut results);
            drop(task);
            lock(&shared.results).append(&mut results);
            shared.barrier.wait();
        }
    }

    /// Processes partitions of `task` until all are claimed. If it panics, the run is stopped; the other threads would
    /// wait at the barrier forever if the panic went on.
    pub fn perform(&self, task: &Task, results: &mut StepResults) {
        let shared = self.shared;
        let claim = || task.dcs.get(shared.claimed.fetch_add(1, Ordering::Relaxed));
        let perform = || {
            while let Some(&dc) = claim() {
                match task.step {
                    Step::Exchange => self.exchange(dc),
                    Step::Advance(horizon) => self.advance(dc, horizon, results),
                    Step::End => {}
                }
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(perform)) {
            lock(&shared.panic).get_or_insert(panic);
            shared.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Delivers the packets that other partitions sent to the partition of `dc` in the last window.
    fn exchange(&self, dc: u32) {
        let slot = &self.shared.slots[dc as usize];
        let mut partition = lock(&slot.partition);
        lock(&slot.inbox).empty(|port, batch| partition.deliver(port, batch));
        self.shared.publish(dc, &partition);
    }

    /// Processes all events of the partition of `dc` before `horizon`.
    fn advance(&self, dc: u32, horizon: SimTime, results: &mut StepResults) {
        let shared = self.shared;
        let mut partition = lock(&shared.slots[dc as usize].partition);
        partition.run_until(horizon);
        for channel in partition.full_channels() {
            let mut inbox = lock(&shared.slots[channel.to_dc as usize].inbox);
            if inbox.is_empty() {
                results.received.push(channel.to_dc);
            }
            channel.hand_over(inbox.open(channel.port));
        }
        if !partition.trace.is_empty() {
            results.traced.push(dc);
        }
        let work = std::mem::take(&mut partition.work);
        results.work.add(&work);
        shared.publish_recent(dc, work.events);
        shared.publish(dc, &partition);
    }
}
