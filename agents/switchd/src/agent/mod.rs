//! Agent of one DCI switch: one thread that sleeps until a timer is due or a descriptor is readable.
//!
//! - [`setup`][]: tables, first sample, attachment
//! - [`iteration`][]: sources of wake-ups, and the work of each
//! - [`report`][]: messages to the controller

mod iteration;
mod report;
mod setup;

use lab_abi::wire::{AgentConfig, AgentMessage, ValidAgentConfig};

use crate::{
    SwitchdError,
    attach::Attached,
    clock::{Alarm, Periodic},
    controller::Controller,
    failover::{LinkWatch, PortLiveness},
    flow_gc::{Evictor, FlowCounts},
    install::Slots,
    program::Program,
    qdisc::Qdiscs,
    sampler::Sampler,
    wait::{Signals, Sleeper},
};
use report::DemandMeter;
use setup::Setup;

/// Runs the agent of one DCI switch until its controller is gone or stops it.
///
/// The calling thread is in the switch's network namespace. `SIGTERM` ends the agent. `SIGINT` does
/// not: on Ctrl-C the controller decides when the switches end.
/// Fails with the failure that kept the agent from starting or continuing, which it also reported.
pub fn run(config: AgentConfig) -> Result<(), SwitchdError> {
    let signals = Signals::open()?;
    let mut controller = Controller::connect(&config.controller_socket)?;
    let served = ValidAgentConfig::try_from(config)
        .map_err(SwitchdError::from)
        .and_then(Setup::read)
        .and_then(Setup::start)
        .and_then(|agent| agent.serve(&signals, &mut controller));
    let last = match &served {
        Ok(()) => AgentMessage::Bye,
        Err(error) => AgentMessage::Error {
            message: error.chain(),
        },
    };
    controller.close(&last);
    served
}

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
    /// Times at which the flow table is cut back to its capacity.
    eviction: Periodic,
}
