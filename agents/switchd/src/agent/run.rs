//! Life of an agent: repetitions, each from its configuration to its last message.

use std::os::fd::AsFd;

use lab_abi::wire::{AgentCommand, AgentConfig, AgentMessage, ValidAgentConfig};

use super::{RepetitionEnd, setup::Setup};
use crate::{
    SwitchdError,
    controller::ControllerConnection,
    wait::{Signals, Sleeper, WakeSource},
};

/// Runs the agent of one DCI switch until its controller disconnects.
///
/// The calling thread must be in the switch's network namespace. A repetition begins with a configuration, the first
/// with `config`, and ends when the controller stops it. Later repetitions reuse the loaded program, whose maps are
/// emptied in between. `SIGTERM` ends the agent. `SIGINT` does not: on Ctrl-C the controller decides when the switches
/// end. Fails with the error that stopped the agent, which the agent has also reported to its controller.
pub fn run(config: AgentConfig) -> Result<(), SwitchdError> {
    let signals = Signals::open()?;
    let mut controller = ControllerConnection::connect(&config.controller_socket)?;
    let served = serve(config, &signals, &mut controller);
    if let Err(error) = &served {
        controller.finish(&AgentMessage::Error {
            message: error.chain(),
        });
    }
    served
}

/// Serves repetitions until the controller disconnects.
fn serve(
    first: AgentConfig,
    signals: &Signals,
    controller: &mut ControllerConnection,
) -> Result<(), SwitchdError> {
    let mut next = Some(first);
    let mut kept = None;
    while let Some(config) = next {
        let config = ValidAgentConfig::try_from(config)?;
        let agent = Setup::read(config)?.start(kept)?;
        let (ending, program) = agent.serve(signals, controller)?;
        controller.finish(&AgentMessage::Bye);
        kept = program;
        next = match ending {
            RepetitionEnd::Stopped => wait_for_begin(signals, controller)?,
            RepetitionEnd::Terminated => None,
        };
    }
    Ok(())
}

/// Waits for the configuration of the next repetition; `None` if the controller has disconnected, or on `SIGTERM`.
fn wait_for_begin(
    signals: &Signals,
    controller: &mut ControllerConnection,
) -> Result<Option<AgentConfig>, SwitchdError> {
    let sleeper = Sleeper::new()?;
    sleeper.add(WakeSource::Controller, controller.as_fd())?;
    sleeper.add(WakeSource::Signals, signals.as_fd())?;
    loop {
        let woken = sleeper.sleep()?;
        if woken.contains(&WakeSource::Signals) && signals.has_sigterm()? {
            return Ok(None);
        }
        let received = controller.receive()?;
        // Other commands were meant for the repetition that has ended.
        let begun = received
            .commands
            .into_iter()
            .find_map(|command| match command {
                AgentCommand::Begin(config) => Some(*config),
                _ => None,
            });
        if begun.is_some() || received.is_closed {
            return Ok(begun.filter(|_| !received.is_closed));
        }
    }
}
