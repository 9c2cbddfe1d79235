//! Life of an agent, from its configuration to its last message.

use lab_abi::wire::{AgentConfig, AgentMessage, ValidAgentConfig};

use super::setup::Setup;
use crate::{SwitchdError, controller::ControllerConnection, wait::Signals};

/// Runs the agent of one DCI switch until its controller disconnects or stops it.
///
/// The calling thread must be in the switch's network namespace. `SIGTERM` ends the agent. `SIGINT` does not: on Ctrl-C
/// the controller decides when the switches end. Fails with the error that stopped the agent, which the agent has also
/// reported to its controller.
pub fn run(config: AgentConfig) -> Result<(), SwitchdError> {
    let signals = Signals::open()?;
    let mut controller = ControllerConnection::connect(&config.controller_socket)?;
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
