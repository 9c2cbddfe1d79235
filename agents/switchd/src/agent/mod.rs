//! Agent of one DCI switch: one thread that sleeps until a timer is due or a file descriptor is readable.
//!
//! - [`mod@run`][]: the agent's life: repetitions, each with its configuration
//! - [`setup`][]: tables, first sample, attachment
//! - [`iteration`][]: wake-ups, and the work that each of them causes
//! - [`report`][]: messages to the controller
//! - [`actor`][]: trained weights that change the hash buckets
//! - [`unpin`][]: flows whose next hop is no longer a candidate
//! - [`demands`][]: bytes sent to each destination between two reports

mod actor;
mod demands;
mod iteration;
mod report;
mod run;
mod setup;
mod unpin;

use lab_abi::wire::ValidAgentConfig;

use crate::{
    attach::Attached,
    clock::{Alarm, Periodic},
    failover::{LinkWatch, PortLiveness},
    flow_gc::{Evictor, FlowCounts},
    install::Slots,
    program::Program,
    qdisc::Qdiscs,
    sampler::Sampler,
    wait::Sleeper,
};
use actor::SwitchActor;
use demands::DemandMeter;
pub use run::run;

/// State of an agent in one repetition: its configuration, the attached program, and its sockets and timers.
struct Agent {
    /// Configuration to which all commands from the controller have been applied.
    config: ValidAgentConfig,
    slots: Slots,
    /// Program's attachments to the ports' interfaces; declared before the program, so that on an error the program is
    /// detached before it is unloaded.
    attached: Attached,
    program: Program,
    qdiscs: Qdiscs,
    links: LinkWatch,
    alarm: Alarm,
    sleeper: Sleeper,
    wants_to_write: bool,
    sampler: Sampler,
    ports: PortLiveness,
    timers: Timers,
    flow_counts: FlowCounts,
    evictor: Evictor,
    demands: DemandMeter,
    /// Trained weights; `None` if only the controller changes buckets.
    actor: Option<SwitchActor>,
    /// Number of queue samples taken.
    samples: u64,
    /// Number of samples that began more than one interval late.
    late_samples: u64,
    /// Number of flows taken over from a killed agent; `None` if there was no such agent.
    adopted: Option<u64>,
}

/// Cause of a repetition's end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum RepetitionEnd {
    /// The controller ended the repetition or has disconnected.
    Stopped,
    /// The agent received `SIGTERM`.
    Terminated,
}

/// Timers of an agent's periodic work.
struct Timers {
    sample: Periodic,
    records: Periodic,
    links: Periodic,
    stats: Periodic,
    demands: Option<Periodic>,
    flow_gc: Periodic,
    /// Times at which a full flow table is reduced to its capacity.
    eviction: Periodic,
}
