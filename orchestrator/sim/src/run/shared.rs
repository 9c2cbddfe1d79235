//! State that the threads of a run share.

use std::{
    any::Any,
    sync::{
        Barrier, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use super::{options::RunOptions, step_results::StepResults};
use crate::{
    cc::CongestionControl,
    partition::{OwnFlows, PacketBatch, Partition, SampleTimes},
    semantics::SemanticsRules,
    time::SimTime,
    world::World,
};

/// Partition that any thread may claim for one step, with its inbox.
pub(super) struct PartitionSlot<'w, S: SemanticsRules, C: CongestionControl> {
    pub partition: Mutex<Partition<'w, S, C>>,
    pub inbox: Mutex<Inbox>,
}

/// Packets from other partitions, which are delivered in the next exchange.
pub(super) struct Inbox {
    /// Packets for each port of the partition, in the order of the ports.
    batches: Vec<PacketBatch>,
    first_port: u32,
    /// Ports with packets.
    full: Vec<u32>,
}

/// Status that a partition publishes after a step, for the thread that plans the next step.
#[derive(Default)]
pub(super) struct PartitionStatus {
    /// True if any event that can send packets is scheduled.
    has_work: AtomicBool,
    /// Number of events processed in the last window, as an estimate for the next one.
    recent: AtomicU64,
}

/// Step in which each listed partition is processed once, by any thread.
pub(super) struct Task {
    pub step: Step,
    /// Partitions to process, by datacenter; threads claim them in this order.
    pub dcs: Vec<u32>,
}

#[derive(Clone, Copy)]
pub(super) enum Step {
    /// Delivers the packets in the partition's inbox.
    Exchange,
    /// Processes all events before this time.
    Advance(SimTime),
    /// Ends the threads.
    End,
}

/// State that all threads of a run share.
pub(super) struct Shared<'w, S: SemanticsRules, C: CongestionControl> {
    pub world: &'w World<'w, S, C>,
    pub until: SimTime,
    pub threads: usize,
    /// Meeting point of all threads, at the beginning and at the end of a shared task.
    pub barrier: Barrier,
    /// Partitions, indexed by datacenter.
    pub slots: Vec<PartitionSlot<'w, S, C>>,
    /// Time of each partition's next event in picoseconds, indexed by datacenter; [`SimTime::MAX`] if no event is
    /// scheduled. It is apart from the other data because every window reads all times.
    next: Vec<AtomicU64>,
    statuses: Vec<PartitionStatus>,
    /// Current task.
    pub task: RwLock<Task>,
    /// Number of partitions that have been claimed in the current task.
    pub claimed: AtomicUsize,
    /// Results of the helping threads in the current task.
    pub results: Mutex<StepResults>,
    /// True once the observer has stopped the run or a thread has panicked.
    pub stop: AtomicBool,
    pub panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'w, S: SemanticsRules, C: CongestionControl> Shared<'w, S, C> {
    pub fn new(world: &'w World<'w, S, C>, options: &'w RunOptions, threads: usize) -> Self {
        let flows = (0u32..).zip(OwnFlows::of_all(world));
        let sample_times = SampleTimes::new(
            options.samples,
            options.until.unwrap_or(SimTime::MAX),
            world,
        );
        let slots: Vec<_> = flows
            .map(|(dc, flows)| {
                let ports = &world.network.dcs[dc as usize].ports;
                PartitionSlot {
                    partition: Mutex::new(Partition::new(
                        world,
                        (dc, flows),
                        &options.trace_filter,
                        sample_times,
                    )),
                    inbox: Mutex::new(Inbox {
                        batches: ports.clone().map(|_| PacketBatch::default()).collect(),
                        first_port: ports.start,
                        full: Vec::new(),
                    }),
                }
            })
            .collect();
        let shared = Self {
            world,
            until: options.until.unwrap_or(SimTime::MAX),
            threads,
            barrier: Barrier::new(threads),
            next: slots.iter().map(|_| AtomicU64::new(u64::MAX)).collect(),
            statuses: slots.iter().map(|_| PartitionStatus::default()).collect(),
            slots,
            task: RwLock::new(Task {
                step: Step::Exchange,
                dcs: Vec::new(),
            }),
            claimed: AtomicUsize::new(0),
            results: Mutex::default(),
            stop: AtomicBool::new(false),
            panic: Mutex::default(),
        };
        for (dc, slot) in (0u32..).zip(&shared.slots) {
            shared.publish(dc, &lock(&slot.partition));
        }
        shared
    }

    /// Publishes the status of the partition of `dc`.
    pub fn publish(&self, dc: u32, partition: &Partition<'_, S, C>) {
        let next = partition.next_time().unwrap_or(SimTime::MAX);
        self.next[dc as usize].store(next.picos(), Ordering::Relaxed);
        let status = &self.statuses[dc as usize];
        status
            .has_work
            .store(partition.has_work(), Ordering::Relaxed);
    }

    /// Publishes the number of events that the partition of `dc` processed in this window.
    pub fn publish_recent(&self, dc: u32, events: u64) {
        let status = &self.statuses[dc as usize];
        status.recent.store(events, Ordering::Relaxed);
    }

    /// Returns the number of events that the partition of `dc` processed in its last window.
    pub fn recent(&self, dc: u32) -> u64 {
        self.statuses[dc as usize].recent.load(Ordering::Relaxed)
    }

    /// Returns the time of the next event of all partitions; [`SimTime::MAX`] if no event is scheduled.
    pub fn next(&self) -> SimTime {
        let times = self.next.iter().map(|next| next.load(Ordering::Relaxed));
        times.min().map_or(SimTime::MAX, SimTime::from_picos)
    }

    /// Returns the partitions that have events before `horizon`, in the order of the datacenters.
    pub fn due(&self, horizon: SimTime) -> impl Iterator<Item = u32> {
        let times = (0u32..).zip(&self.next);
        times
            .filter(move |(_, next)| next.load(Ordering::Relaxed) < horizon.picos())
            .map(|(dc, _)| dc)
    }

    /// Returns true if any event that can send packets is scheduled.
    pub fn has_work(&self) -> bool {
        self.statuses
            .iter()
            .any(|status| status.has_work.load(Ordering::Relaxed))
    }
}

impl Inbox {
    /// Returns the packets for `port`, a port of the partition, which are about to be added; the port must be empty.
    pub fn open(&mut self, port: u32) -> &mut PacketBatch {
        self.full.push(port);
        &mut self.batches[(port - self.first_port) as usize]
    }

    /// Calls `deliver` with the packets for each port and empties the inbox.
    pub fn empty(&mut self, mut deliver: impl FnMut(u32, &mut PacketBatch)) {
        for port in self.full.drain(..) {
            deliver(port, &mut self.batches[(port - self.first_port) as usize]);
        }
    }

    /// Returns true if no port has packets.
    pub const fn is_empty(&self) -> bool {
        self.full.is_empty()
    }
}

/// Locks a mutex, even a poisoned one: the thread that panicked has ended the run, and the value is no longer used.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
