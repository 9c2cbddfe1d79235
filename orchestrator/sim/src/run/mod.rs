//! Parallel run of all partitions in windows of virtual time.
//!
//! The method is conservative parallel discrete-event simulation (Chandy, Misra, Bryant). A packet takes at least the
//! shortest inter-DC delay, the lookahead, from one partition to another. So from the time of the next event on, all
//! partitions can run for one lookahead without messages. Then they exchange packets, and the next window begins. The
//! number of threads does not change the result.
//!
//! - `options`, `outcome`: options of a run; its progress and its result
//! - `shared`: state that the threads share; `worker`: one thread

mod options;
mod outcome;
mod shared;
mod worker;

use std::thread;

pub use self::{
    options::RunOptions,
    outcome::{EndReason, Observer, Outcome, Progress},
};
use self::{shared::Shared, worker::Worker};
use crate::{cc::CongestionControl, partition::Work, semantics::SemanticsRules, world::World};

/// Runs the simulation of `world` to its end, with the threads that the options give.
///
/// # Panics
/// Panics if a thread panics, after the other threads have ended.
pub fn run<S: SemanticsRules, C: CongestionControl + Send>(
    world: &World<'_, S, C>,
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
    /// Adds another partition's counters to these.
    fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.packet_hops += other.packet_hops;
        self.drops += other.drops;
        self.buffer_drops += other.buffer_drops;
        self.reroutes += other.reroutes;
        self.data_packets += other.data_packets;
        self.go_backs += other.go_backs;
        self.timeouts += other.timeouts;
        self.finished += other.finished;
        self.not_pinned += other.not_pinned;
    }
}
