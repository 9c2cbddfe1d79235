//! Runs of requests, by either engine.

use std::path::PathBuf;

use lab_records::{EngineRequest, RunRequest};

use crate::{
    args::{Global, SimArgs, UpArgs},
    failure::Failure,
    verbs::{sim, up},
};

/// Makes the run that `request` asks for, or the first run of a sweep, and returns its directory, without a report.
pub fn make(request: &RunRequest, global: &Global) -> Result<PathBuf, Failure> {
    match &request.engine {
        EngineRequest::Sim(options) => {
            let arguments = SimArgs::of(request, options).map_err(Failure::usage)?;
            sim::run(&arguments, global)
        }
        EngineRequest::Kernel => {
            let arguments = UpArgs::of(request).map_err(Failure::usage)?;
            up::run(&arguments, global)
        }
    }
}
