//! Parallel run of all partitions, one virtual time window after the other.
//!
//! Conservative parallel discrete-event simulation (Chandy, Misra, Bryant). A packet takes at least the
//! shortest inter-DC delay, the lookahead, from one partition to another. From the time of the next
//! event on, all partitions may therefore run for the lookahead without messages; then they exchange
//! packets, and the next window begins. The number of threads does not change the result.
//!
//! - `shared`: state that threads share; `worker`: one thread

mod shared;
mod worker;

use std::thread;

use self::{shared::Shared, worker::Worker};
use crate::{
    cc::CongestionControl,
    partition::Work,
    semantics::SemanticsRules,
    time::SimTime,
    trace::{TraceEvent, TraceFilter},
    world::World,
};

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Number of threads; at least one.
    pub threads: usize,
    /// Time limit of the run.
    pub until: Option<SimTime>,
    /// Flows whose single events are traced.
    pub trace_filter: TraceFilter,
}

/// Receiver of trace events, in order of time.
pub trait Observer {
    /// Processes an event.
    fn on_event(&mut self, event: TraceEvent);

    /// Processes the progress after a window; false stops the run.
    fn on_progress(&mut self, progress: Progress) -> bool;
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// End of the last window: all events before are processed.
    pub now: SimTime,
    /// Counters of the work done so far.
    pub work: Work,
    /// Number of flows in the run.
    pub flows: u64,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// End of the run: the last flow's end if all finished, the time limit if that came first, else the time of the
    /// last event.
    pub end: SimTime,
    /// Counters of the work done.
    pub work: Work,
    /// Cause of the end.
    pub reason: EndReason,
    /// Flows that started and did not finish.
    pub unfinished: Vec<u32>,
}

/// Cause of a run's end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndReason {
    /// Every flow has all its ACKs.
    Finished,
    /// No event is left: the QPs of flows gave up, or wait for lost packets without a time-out.
    Stuck,
    /// The time limit was reached.
    Until,
    /// The observer stopped the run.
    Stopped,
}

/// Runs a world to its end.
///
/// # Panics
/// If a thread panics, after the other threads have ended.
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
    /// Adds the counters of another partition.
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
