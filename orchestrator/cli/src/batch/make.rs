//! Makers of wanted runs.

use std::{num::NonZeroUsize, path::PathBuf};

use lab_records::EngineRequest;

use super::Wanted;
use crate::{
    args::{Global, SimArgs, TrainsArg, UpArgs},
    caller,
    failure::Failure,
    terminal,
    verbs::{sim, up},
};

/// Maker of runs, such as this process or a job of a cluster.
pub trait Make {
    /// Performs a run, or the first run of a sweep, and returns its directory, which has no report yet.
    fn make(&mut self, wanted: &Wanted) -> Result<PathBuf, Failure>;

    /// Returns true after a signal: the last run may be incomplete, and no other run may begin.
    fn is_interrupted(&self) -> bool {
        terminal::is_interrupted()
    }
}

/// Maker that performs runs in this process, with either engine.
pub struct Here<'a> {
    /// Flags common to all verbs; `results` is the folder of the new run directories.
    pub global: &'a Global,
    /// Number of threads of a simulation; `None` for one per core.
    pub threads: Option<NonZeroUsize>,
    /// Trains of simulations whose request names none; `None` for packets.
    pub trains: Option<TrainsArg>,
}

impl Make for Here<'_> {
    fn make(&mut self, wanted: &Wanted) -> Result<PathBuf, Failure> {
        let request = &wanted.request;
        let run = match (&request.engine, &wanted.derived) {
            (EngineRequest::Sim(options), derived) => {
                let asked = SimArgs::of(request, options).map_err(Failure::usage)?;
                let arguments = SimArgs {
                    threads: self.threads,
                    trains: asked.trains.or(self.trains),
                    ..asked
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
            // A guest reads the scenario from the host's files, so the scenario must be in one.
            (EngineRequest::Kernel, Some(_)) => Err(Failure::usage(format_args!(
                "{}: a lab can run only a scenario from a file",
                wanted.name
            ))),
        }?;
        caller::hand_over(&run);
        Ok(run)
    }
}
