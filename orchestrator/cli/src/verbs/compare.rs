//! `lcmp-lab compare`: compares runs that differ in a stated way, per policy and flow size.

use std::path::Path;

use lab_reports::compare::{self, CompareError};

use super::conclude::write_and_conclude;
use crate::{
    args::{CompareArgs, Global},
    failure::{Failure, Outcome},
};

/// Runs `lcmp-lab compare`.
pub fn compare(arguments: &CompareArgs, global: &Global) -> Outcome {
    let comparison = compare::compare(&arguments.runs, &arguments.differs).map_err(failure)?;
    let first = arguments.runs.first().map_or(Path::new(""), |it| it);
    write_and_conclude(&comparison, arguments.output.as_deref(), first, global.json)
}

fn failure(error: CompareError) -> Failure {
    let report = match &error {
        CompareError::Report(report) => Some(report),
        _ => None,
    };
    Failure::comparison(&error, report)
}
