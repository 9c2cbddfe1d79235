//! `lcmp-lab sweep survey`: what a sweep over networks says about each policy.

use std::path::Path;

use lab_reports::{survey::SurveyAnswer, sweep::CellNumbers};
use lab_sweep::{Store, SweepResults};

use super::define::{self, results};
use crate::{
    args::SurveyArgs,
    caller,
    failure::{During, Failure, Outcome},
    verbs::conclude::write_and_conclude,
};

/// Runs `lcmp-lab sweep survey`.
pub fn survey(arguments: &SurveyArgs, json: bool) -> Outcome {
    let store = Store::at(&arguments.dir);
    let manifest = define::stored(&store)?;
    let results = results(&manifest, &store)?;
    let sample = match &arguments.sample {
        None => None,
        Some(_) if manifest.trains.is_none() => {
            return Err(Failure::usage(format_args!(
                "`--sample`: the sweep in `{}` is by packets, and has no error of trains (hint: the sweep by trains comes \
                 first, its sample after `--sample`)",
                arguments.dir.display()
            )));
        }
        Some(dir) => Some(cells_by_packets(dir)?),
    };
    let baseline = manifest.baseline.as_deref();
    let SweepResults {
        title,
        points,
        problems,
        ..
    } = results;
    let answer = SurveyAnswer::new(title, &points, baseline, sample.as_deref(), &problems)
        .map_err(Failure::usage)?;
    if let Some(file) = &arguments.markdown {
        caller::write(file, answer.markdown().as_bytes())
            .during(format_args!("write `{}`", file.display()))?;
    }
    write_and_conclude(&answer, None, store.dir(), json)
}

/// Reads the usable results of the sweep in `dir`.
/// Fails if its cells are not simulated packet by packet.
fn cells_by_packets(dir: &Path) -> Result<Vec<CellNumbers>, Failure> {
    let store = Store::at(dir);
    let manifest = define::stored(&store)?;
    if manifest.trains.is_some() {
        return Err(Failure::usage(format_args!(
            "`--sample {}`: this sweep is by trains (hint: a sweep without `trains`)",
            dir.display()
        )));
    }
    let points = results(&manifest, &store)?.points.into_iter();
    Ok(points.flat_map(|point| point.numbers).collect())
}
