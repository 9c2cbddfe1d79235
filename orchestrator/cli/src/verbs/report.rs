//! `lcmp-lab report`.

use crate::{
    args::{Global, ReportArgs},
    failure::{Failure, Outcome},
    load,
    verbs::up,
};

/// Writes the report of a run again.
pub fn report(arguments: &ReportArgs, global: &Global) -> Outcome {
    let newest = || global.results.join(lab_records::directory::LATEST);
    let run = match &arguments.run {
        Some(run) => load::absolute(run)?,
        None => load::absolute(&newest()).map_err(|_| {
            Failure::usage(format_args!(
                "there is no run in `{}` (hint: lcmp-lab up SCENARIO)",
                global.results.display()
            ))
        })?,
    };
    if !run.join(lab_records::directory::RUN_FILE).is_file() {
        return Err(Failure::usage(format_args!(
            "`{}` is no run directory: it has no `{}`",
            run.display(),
            lab_records::directory::RUN_FILE
        )));
    }
    up::conclude(&run, global)
}
