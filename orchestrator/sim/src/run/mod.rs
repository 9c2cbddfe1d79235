//! Parallel run of all partitions in windows of virtual time.
//!
//! The method is conservative parallel discrete-event simulation (Chandy, Misra, Bryant). A packet takes at least the
//! shortest inter-DC delay, the lookahead, from one partition to another. So from the time of the next event on, all
//! partitions can run for one lookahead without messages. Then they exchange packets, and the next window begins. The
//! number of threads does not change the result.
//!
//! Only partitions with packets from others or with events in a window are touched: in a network of hundreds of
//! datacenters, most have neither. Windows with few events are processed by one thread.
//!
//! - `options`, `outcome`: options of a run; its progress and its result
//! - `coordinator`: thread that plans the windows; `worker`: any thread; `step_results`: results of its part of a step
//! - `shared`: state that the threads share

mod coordinator;
mod options;
mod outcome;
mod shared;
mod step_results;
mod worker;

use std::thread;

use self::{coordinator::Coordinator, shared::Shared, worker::Worker};
pub use self::{
    options::RunOptions,
    outcome::{EndReason, Observer, Outcome, Progress},
};
use crate::{cc::CongestionControl, semantics::SemanticsRules, world::World};

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
        for _ in 1..threads {
            let shared = &shared;
            scope.spawn(move || Worker::new(shared).help());
        }
        Coordinator::new(&shared, observer).run()
    })
}
