//! `lcmp-lab report`.

use crate::{
    args::{Global, ReportArgs},
    failure::Outcome,
    load,
    verbs::up,
};

/// Writes the report of a run again.
pub fn report(arguments: &ReportArgs, global: &Global) -> Outcome {
    let newest = || global.results.join(lab_records::format::LATEST);
    let run = load::absolute(&arguments.run.clone().unwrap_or_else(newest))?;
    up::conclude(&run, global)
}
