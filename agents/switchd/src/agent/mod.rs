//! Agent of one DCI switch: one thread that sleeps until a timer is due or a descriptor is readable.
//!
//! - [`mod@run`][]: from the configuration to the last message
//! - [`setup`][]: tables, first sample, attachment
//! - [`iteration`][]: sources of wake-ups, and the work that each causes
//! - [`report`][]: messages to the controller
//! - [`demands`][]: bytes to each destination, from report to report

mod demands;
mod iteration;
mod report;
mod run;
mod setup;

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
use demands::DemandMeter;
pub use run::run;

/// Running agent.
struct Agent {
    /// Configuration with all commands of the controller applied.
    config: ValidAgentConfig,
    slots: Slots,
    /// Declared before the program: on an error the program is detached before it is unloaded.
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
    /// Samples taken.
    samples: u64,
    /// Samples that began more than one interval late.
    late_samples: u64,
    /// Flows taken over from an agent that was killed.
    adopted: Option<u64>,
}

/// Periodic work of an agent.
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
