//! Makers of wanted runs.

use std::{num::NonZeroUsize, path::PathBuf};

use lab_records::EngineRequest;

use super::Wanted;
use crate::{
    args::{Global, SimArgs, UpArgs},
    caller,
    failure::Failure,
    terminal,
    verbs::{sim, up},
};

/// Maker of runs.
pub trait Make {
    /// Makes a run, or the first run of a sweep, and returns its directory, without a report.
    fn make(&mut self, wanted: &Wanted) -> Result<PathBuf, Failure>;

    /// True if a signal has ended the batch: the last run may be incomplete, and no other begins.
    fn is_interrupted(&self) -> bool {
        terminal::is_interrupted()
    }
}

/// Maker of runs in this process, by either engine.
pub struct Here<'a> {
    /// Flags of every verb; runs go to their results directory.
    pub global: &'a Global,
    /// Threads of a simulation; `None` for one per core.
    pub threads: Option<NonZeroUsize>,
}

impl Make for Here<'_> {
    fn make(&mut self, wanted: &Wanted) -> Result<PathBuf, Failure> {
        let request = &wanted.request;
        let run = match (&request.engine, &wanted.derived) {
            (EngineRequest::Sim(options), derived) => {
                let arguments = SimArgs {
                    threads: self.threads,
                    ..SimArgs::of(request, options).map_err(Failure::usage)?
                };
                let path = &request.scenario;
                match derived {
                    None => sim::run(&arguments, self.global),
                    Some(derived) => {
                        sim::run_loaded(&arguments, self.global, path, derived.loaded(path)?)
                    }
                }
            }
            (EngineRequest::Kernel, None) => {
                up::run(&UpArgs::of(request).map_err(Failure::usage)?, self.global)
            }
            // A guest reads the scenario from the host's files.
            (EngineRequest::Kernel, Some(_)) => Err(Failure::usage(format_args!(
                "{}: a lab runs only a scenario that is in a file",
                wanted.name
            ))),
        }?;
        caller::hand_over(&run);
        Ok(run)
    }
}
