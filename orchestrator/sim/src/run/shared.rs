//! State that the threads of a run share.

use std::{
    any::Any,
    panic::resume_unwind,
    sync::{
        Barrier, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::{
    options::RunOptions,
    outcome::{EndReason, Outcome},
};
use crate::{
    cc::CongestionControl,
    network::count,
    partition::{Channel, Partition, Work},
    semantics::SemanticsRules,
    time::SimTime,
    trace::TraceEvent,
    world::World,
};

/// Partition that any thread may claim for one window or one exchange, with its mailboxes.
pub(super) struct PartitionSlot<'w, S: SemanticsRules, C: CongestionControl> {
    pub partition: Mutex<Partition<'w, S, C>>,
    /// Packets from other partitions, which are delivered in the next exchange.
    pub inbox: Mutex<Vec<Channel>>,
    /// Trace events of the window, which the observer has not received yet.
    pub trace: Mutex<Vec<TraceEvent>>,
    /// Counters as of the end of the last window.
    pub work: Mutex<Work>,
    /// Status as of the last exchange; constant during a window.
    pub status: Mutex<PartitionStatus>,
}

/// Status that a partition publishes at an exchange.
#[derive(Clone, Copy, Default)]
pub(super) struct PartitionStatus {
    /// Time of the partition's next event; [`SimTime::MAX`] if no event is scheduled.
    pub next: SimTime,
    /// True if any event that can send packets is scheduled.
    pub has_work: bool,
    /// Number of flows that have finished.
    pub finished: u64,
    /// Number of events processed so far.
    pub events: u64,
    /// Number of events processed in the last window, as an estimate for the next one.
    pub recent: u64,
}

/// State that all threads of a run share.
pub(super) struct Shared<'w, S: SemanticsRules, C: CongestionControl> {
    pub world: &'w World<'w, S, C>,
    pub until: SimTime,
    pub barrier: Barrier,
    /// Partitions, indexed by datacenter.
    pub slots: Vec<PartitionSlot<'w, S, C>>,
    /// Number of partitions claimed in the current window.
    pub advanced: AtomicUsize,
    /// Number of partitions claimed in the current exchange.
    pub exchanged: AtomicUsize,
    /// True once the observer has stopped the run or a thread has panicked.
    pub stop: AtomicBool,
    /// Value of `stop` that each thread read at the last exchange.
    pub is_ending: Vec<AtomicBool>,
    pub panic: Mutex<Option<Box<dyn Any + Send>>>,
    ended: Mutex<Option<(EndReason, SimTime)>>,
}

impl<'w, S: SemanticsRules, C: CongestionControl> Shared<'w, S, C> {
    pub fn new(world: &'w World<'w, S, C>, options: &'w RunOptions, threads: usize) -> Self {
        let slot = |dc| PartitionSlot {
            partition: Mutex::new(Partition::new(world, dc, &options.trace_filter)),
            inbox: Mutex::default(),
            trace: Mutex::default(),
            work: Mutex::default(),
            status: Mutex::default(),
        };
        Self {
            world,
            until: options.until.unwrap_or(SimTime::MAX),
            barrier: Barrier::new(threads),
            slots: (0..count(world.network.dcs.len())).map(slot).collect(),
            advanced: AtomicUsize::new(0),
            exchanged: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            is_ending: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            panic: Mutex::default(),
            ended: Mutex::default(),
        }
    }

    /// Ends the run for `reason`; all events before `horizon` have been processed.
    pub fn close(&self, horizon: SimTime, reason: EndReason) {
        let end = |slot: &PartitionSlot<'_, S, C>| match reason {
            EndReason::Finished => lock(&slot.partition).last_finish(),
            EndReason::Until => self.until,
            EndReason::Stuck | EndReason::Stopped => lock(&slot.partition).now(),
        };
        let end = self.slots.iter().map(end).max().unwrap_or(SimTime::ZERO);
        for slot in &self.slots {
            let mut partition = lock(&slot.partition);
            partition.close(horizon.max(end));
            lock(&slot.trace).append(&mut partition.trace);
        }
        *lock(&self.ended) = Some((reason, end));
    }

    /// Returns the sum of all partitions' counters.
    pub fn work(&self) -> Work {
        let mut work = Work::default();
        for slot in &self.slots {
            work.add(&lock(&slot.work));
        }
        work
    }

    /// Returns the result of the run, after all threads have ended.
    ///
    /// # Panics
    /// Panics if a thread panicked.
    pub fn outcome(self) -> Outcome {
        if let Some(panic) = lock(&self.panic).take() {
            resume_unwind(panic);
        }
        let mut unfinished: Vec<u32> = Vec::new();
        for slot in &self.slots {
            unfinished.extend(lock(&slot.partition).unfinished());
        }
        unfinished.sort_unstable();
        let ended = *lock(&self.ended);
        let (reason, end) = ended.unwrap_or((EndReason::Stopped, SimTime::ZERO));
        Outcome {
            end,
            work: self.work(),
            reason,
            unfinished,
        }
    }

    /// Returns true if any thread had read `stop` as true at the last exchange.
    pub fn is_ending(&self) -> bool {
        self.is_ending
            .iter()
            .any(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Locks a mutex, even a poisoned one: the thread that panicked has ended the run, and the value is no longer used.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
