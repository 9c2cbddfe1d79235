//! `lcmp-lab init`: writes a scenario to start from, whose topology, load and duration fit together.
//!
//! - `network`: the network that the command line names, with the options that its graph needs
//! - `draft`: values that were chosen for the scenario, and the scenario's text
//! - `fit`: choice of the values, by plans of drafts

mod draft;
mod fit;
mod network;

use std::path::Path;

use lab_units::Engine;

use self::{fit::Fitted, network::InitNetwork};
use crate::{
    args::InitArgs,
    caller,
    failure::{Failure, Outcome},
    terminal::note,
};

/// Runs `lcmp-lab init`.
pub fn init(arguments: &InitArgs) -> Outcome {
    let output = arguments.output.as_deref();
    if let Some(path) = output.filter(|path| path.symlink_metadata().is_ok() && !arguments.force) {
        return Err(Failure::usage(format_args!(
            "`{}` already exists (hint: `--force` overwrites it)",
            path.display()
        )));
    }
    let folder = output.and_then(Path::parent).unwrap_or(Path::new(""));
    let network = match &arguments.topology {
        Some(named) => InitNetwork::named(named, folder)?,
        None => InitNetwork::example(),
    };
    let engine = Engine::from(arguments.engine);
    let fitted = fit::fit(network, arguments.load, engine, folder)?;
    let exit = caller::write_to(output, &fitted.draft.text())?;
    report(&fitted);
    let name = output.map_or_else(|| "FILE".to_owned(), |path| path.display().to_string());
    let run = match engine {
        Engine::Sim => format!("lcmp-lab sim {name}"),
        Engine::Kernel => format!("sudo lcmp-lab up {name}"),
    };
    note(&format!(
        "next: `lcmp-lab check {name}` explains what a run cannot show; `{run}` runs it"
    ));
    Ok(exit)
}

/// Prints the number of flows, and the warnings that no other values would avoid.
fn report(fitted: &Fitted) {
    let remaining = match fitted.warnings.as_slice() {
        [] => "no warnings".to_owned(),
        codes => format!("`check` still warns of {}", codes.join(", ")),
    };
    let in_labs = match &fitted.lab_warnings {
        Ok(codes) if codes.is_empty() => String::new(),
        Ok(codes) => format!("; in a lab also of {}", codes.join(", ")),
        Err(why) => format!("; no lab can run it: {why}"),
    };
    note(&format!(
        "{} flows per policy; {remaining}{in_labs}",
        fitted.flows
    ));
}
