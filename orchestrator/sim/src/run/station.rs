//! A datacenter between threads, and all that threads share.

use std::{
    any::Any,
    panic::resume_unwind,
    sync::{
        Barrier, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::{EndReason, Outcome, RunOptions};
use crate::{
    cc::CongestionControl,
    network::count,
    note::Note,
    semantics::Semantics,
    shard::{Mail, Shard, Work},
    time::SimTime,
    world::World,
};

/// A datacenter, which any thread may take for a window or an exchange.
pub(super) struct Station<'w, P: Semantics, C: CongestionControl> {
    pub shard: Mutex<Shard<'w, P, C>>,
    /// What is on its way there.
    pub mail: Mutex<Vec<Mail>>,
    /// What happened there that the observer has not heard of.
    pub notes: Mutex<Vec<Note>>,
    /// Work done there, after the last window.
    pub work: Mutex<Work>,
    /// As of the last exchange: no thread changes it while others judge by it.
    pub standing: Mutex<Standing>,
}

/// How far a datacenter is.
#[derive(Clone, Copy, Default)]
pub(super) struct Standing {
    /// Its next event.
    pub next: SimTime,
    /// It has more to do than to take samples.
    pub has_work: bool,
    /// Flows that have finished there.
    pub finished: u64,
    /// Events so far, and those of the last window: what the next will about be.
    pub events: u64,
    pub recent: u64,
}

/// What threads share.
pub(super) struct Shared<'w, P: Semantics, C: CongestionControl> {
    pub world: &'w World<'w, P, C>,
    pub until: SimTime,
    pub barrier: Barrier,
    /// By datacenter.
    pub stations: Vec<Station<'w, P, C>>,
    /// Datacenters taken in this window, and in this exchange.
    pub advanced: AtomicUsize,
    pub exchanged: AtomicUsize,
    /// The observer wants no more, or a thread has panicked.
    pub stop: AtomicBool,
    /// For each thread, whether it knew that at the last exchange.
    pub is_ending: Vec<AtomicBool>,
    pub panic: Mutex<Option<Box<dyn Any + Send>>>,
    ended: Mutex<Option<(EndReason, SimTime)>>,
}

impl<'w, P: Semantics, C: CongestionControl> Shared<'w, P, C> {
    pub fn new(world: &'w World<'w, P, C>, options: &'w RunOptions, threads: usize) -> Self {
        let station = |dc| Station {
            shard: Mutex::new(Shard::new(world, dc, &options.told)),
            mail: Mutex::default(),
            notes: Mutex::default(),
            work: Mutex::default(),
            standing: Mutex::default(),
        };
        Self {
            world,
            until: options.until.unwrap_or(SimTime::MAX),
            barrier: Barrier::new(threads),
            stations: (0..count(world.network.dcs.len())).map(station).collect(),
            advanced: AtomicUsize::new(0),
            exchanged: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            is_ending: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            panic: Mutex::default(),
            ended: Mutex::default(),
        }
    }

    /// Ends the run at `horizon`, before which everything has happened.
    pub fn close(&self, horizon: SimTime, reason: EndReason) {
        let end = |station: &Station<'_, P, C>| match reason {
            EndReason::Finished => lock(&station.shard).last_finish(),
            EndReason::Until => self.until,
            EndReason::Stuck | EndReason::Stopped => lock(&station.shard).now(),
        };
        let end = self.stations.iter().map(end).max();
        let end = end.unwrap_or(SimTime::ZERO);
        for station in &self.stations {
            let mut shard = lock(&station.shard);
            shard.close(horizon.max(end));
            lock(&station.notes).append(&mut shard.notes);
        }
        *lock(&self.ended) = Some((reason, end));
    }

    /// Work done everywhere.
    pub fn work(&self) -> Work {
        let mut work = Work::default();
        for station in &self.stations {
            work.add(&lock(&station.work));
        }
        work
    }

    /// How it ended.
    ///
    /// # Panics
    /// If a thread has.
    pub fn outcome(self) -> Outcome {
        if let Some(panic) = lock(&self.panic).take() {
            resume_unwind(panic);
        }
        let mut unfinished: Vec<u32> = Vec::new();
        for station in &self.stations {
            unfinished.extend(lock(&station.shard).unfinished());
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

    /// Whether some thread knew at the last exchange that it is over.
    pub fn is_ending(&self) -> bool {
        let mut flags = self.is_ending.iter();
        flags.any(|flag| flag.load(Ordering::Relaxed))
    }
}

/// A thread that panicked holding a lock is ended by then, and what it held is not used.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
