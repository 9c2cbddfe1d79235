//! The agent at work: one thread that sleeps until something is due or has come.
//!
//! - [`start`][]: tables, first sample, attachment
//! - [`turn`][]: what ends a sleep, and what is done then
//! - [`ports`][]: which ports are alive
//! - [`tell`][]: what the controller is told
//! - [`demand`][]: what the datacenter's hosts sent, since when
//! - [`signals`][]: what ends the agent from outside

mod demand;
mod ports;
mod signals;
mod start;
mod tell;
mod turn;

use lab_abi::wire::{AgentConfig, AgentMessage};

use crate::{
    SwitchdError,
    attach::Attached,
    clock::{Alarm, Periodic},
    controller::Controller,
    install::Slots,
    links::LinkWatch,
    program::Program,
    qdisc::Qdiscs,
    sampler::Sampler,
    wait::Sleeper,
};
use demand::DemandMeter;
use ports::PortHealth;
use signals::Signals;
use tell::Tally;

/// Runs the agent of one DCI switch until its controller is gone or it is told to stop.
///
/// The calling thread is in the switch's network namespace. `SIGTERM` ends the agent; `SIGINT` does
/// not, for on Ctrl-C it is the controller that decides when the switches go.
///
/// # Errors
///
/// What kept the agent from starting or from going on; the controller has been told.
pub fn run(config: &AgentConfig) -> Result<(), SwitchdError> {
    let signals = Signals::open()?;
    let mut controller = Controller::connect(&config.controller_socket)?;
    let served =
        Agent::start(config.clone()).and_then(|agent| agent.serve(&signals, &mut controller));
    let last = match &served {
        Ok(()) => AgentMessage::Bye,
        Err(error) => AgentMessage::Error {
            message: error.chain(),
        },
    };
    controller.close(&last);
    served
}

/// What the agent holds while it works.
struct Agent {
    /// As the controller has it by now.
    config: AgentConfig,
    slots: Slots,
    /// Declared before the program, so that on an error it is taken off before it goes.
    attached: Attached,
    program: Program,
    qdiscs: Qdiscs,
    links: LinkWatch,
    alarm: Alarm,
    sleeper: Sleeper,
    wants_to_write: bool,
    sampler: Sampler,
    ports: Vec<PortHealth>,
    sampling: Periodic,
    recording: Periodic,
    reporting_links: Periodic,
    telling: Periodic,
    demanding: Option<Periodic>,
    collecting: Periodic,
    tally: Tally,
    demands: DemandMeter,
    /// Flows taken over from an agent that was killed.
    adopted: Option<u64>,
}
