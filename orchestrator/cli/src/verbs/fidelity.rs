//! `lcmp-lab fidelity`: compares two runs of one plan flow by flow.

use lab_reports::fidelity::{self, Bounds, FidelityError};

use super::conclude::write_and_conclude;
use crate::{
    args::{FidelityArgs, Global},
    failure::{Failure, Outcome},
};

/// Runs `lcmp-lab fidelity`.
pub fn fidelity(arguments: &FidelityArgs, global: &Global) -> Outcome {
    let bounds = Bounds {
        max_p50: arguments.max_p50.clone(),
        max_p95: arguments.max_p95.clone(),
        max_p99: arguments.max_p99.clone(),
        max_difference: arguments.max_difference.clone(),
        min_paths: arguments.min_paths.clone(),
        min_pearson: arguments.min_pearson.clone(),
        min_compared: arguments.min_compared.clone(),
    };
    let comparison = fidelity::compare(&arguments.first, &arguments.second)
        .and_then(|it| it.bounded(&bounds))
        .map_err(failure)?;
    let asked = arguments.output.as_deref();
    write_and_conclude(&comparison, asked, &arguments.first, global.json)
}

fn failure(error: FidelityError) -> Failure {
    let report = match &error {
        FidelityError::Report(report) => Some(report),
        _ => None,
    };
    Failure::comparison(&error, report)
}
