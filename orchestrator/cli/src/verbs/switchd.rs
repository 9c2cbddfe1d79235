//! The hidden verb that is a DCI switch's agent.

use std::io::Read;

use crate::failure::{During, Exit, Failure, Outcome};

/// Reads the agent's configuration and is the agent until told to end.
pub fn switchd() -> Outcome {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .during("read the agent's configuration")?;
    let config: lab_abi::wire::AgentConfig = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format_args!("the agent's configuration: {error}")))?;
    lab_switchd::run(&config).during("run the agent")?;
    Ok(Exit::Pass)
}
