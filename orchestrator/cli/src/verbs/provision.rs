//! `lcmp-lab provision`: the clone's provisioning script, brought along so that the binary alone can
//! mend what `doctor` finds.

use std::{os::unix::process::ExitStatusExt, process::Command};

use crate::{
    args::ProvisionArgs,
    failure::{During, Exit, Failure, Outcome},
};

/// Installs what is missing, or says what is.
pub fn provision(arguments: &ProvisionArgs) -> Outcome {
    let mut command = Command::new("bash");
    // The script's text is ours; what the user says are arguments to it. This program is built.
    command.args(["-c", SCRIPT, NAME, "--run-only"]);
    let options = [
        (arguments.check, "--check"),
        (arguments.guest, "--guest"),
        (arguments.no_guest, "--no-guest"),
    ];
    command.args(
        options
            .into_iter()
            .filter_map(|(on, name)| on.then_some(name)),
    );
    let status = command.status().during("run `bash`")?;
    if status.success() {
        return Ok(Exit::Pass);
    }
    Err(Failure::environment(match status.signal() {
        Some(signal) => format!("provisioning was ended by signal {signal}"),
        None if arguments.check => {
            "what is listed above is missing (hint: sudo lcmp-lab provision)".to_owned()
        }
        None => "not everything could be installed (hint: the reason is above)".to_owned(),
    }))
}

const SCRIPT: &str = include_str!("../../../../vagrant/provision.sh");
const NAME: &str = "lcmp-lab provision";
