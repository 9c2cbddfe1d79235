//! Windows of virtual time, on one thread or many.
//!
//! Conservative parallel simulation (Chandy, Misra, Bryant): nothing leaves a datacenter that
//! reaches another in less than the shortest inter-DC delay, so from the time of the next event on
//! all datacenters may run for that long without hearing of each other. Then what left is handed
//! over, and the next window begins. One thread does the same, datacenter by datacenter, so the
//! number of threads changes nothing but the time it takes.
//!
//! - `station`: a datacenter between threads
//! - `worker`: one thread

mod station;
mod worker;

use std::thread;

use self::{station::Shared, worker::Worker};
use crate::{
    cc::CongestionControl,
    note::Note,
    semantics::Semantics,
    shard::{Told, Work},
    time::SimTime,
    world::World,
};

/// How a simulation is run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Threads that share the datacenters; at least one.
    pub threads: usize,
    /// When it stops, finished or not.
    pub until: Option<SimTime>,
    /// Whose stories are told.
    pub told: Told,
}

/// Who hears what happens, in order of time.
pub trait Observer {
    /// Something worth a row.
    fn note(&mut self, note: Note);

    /// How far it is; false stops the simulation.
    fn progress(&mut self, progress: Progress) -> bool;
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Everything before has happened.
    pub now: SimTime,
    /// Work done so far.
    pub work: Work,
    /// Flows in all.
    pub flows: u64,
}

/// How a simulation ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When: at the end of the last flow if all finished, at the time limit if that came first, else
    /// when something last happened.
    pub end: SimTime,
    /// Work done.
    pub work: Work,
    /// Why.
    pub reason: EndReason,
    /// Flows that started and did not finish.
    pub unfinished: Vec<u32>,
}

/// Why a simulation ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndReason {
    /// Every flow has all its ACKs.
    Finished,
    /// Nothing can happen any more: flows wait for packets that were lost.
    Stuck,
    /// The time was up.
    Until,
    /// The observer wanted no more.
    Stopped,
}

/// Runs a world to its end.
///
/// # Panics
/// If a thread panics; the others are ended first.
pub fn run<P: Semantics, C: CongestionControl + Send>(
    world: &World<'_, P, C>,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Outcome {
    let threads = options.threads.clamp(1, world.network.dcs.len().max(1));
    let shared = Shared::new(world, options, threads);
    thread::scope(|scope| {
        for me in 1..threads {
            let shared = &shared;
            scope.spawn(move || Worker::new(shared, me).work(None));
        }
        Worker::new(&shared, 0).work(Some(observer));
    });
    shared.outcome()
}

impl Work {
    /// Adds what was done elsewhere.
    fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.packet_hops += other.packet_hops;
        self.drops += other.drops;
        self.data_packets += other.data_packets;
        self.finished += other.finished;
    }
}
