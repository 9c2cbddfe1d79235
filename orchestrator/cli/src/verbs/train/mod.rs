//! `lcmp-lab train`: weights of a policy that learns, from a scenario or a file of demands. Verbs that run a scenario
//! also get the weights for its `train: auto` here.
//!
//! - `problem`, `demands`: network and traffic of a plan; a file of demands
//! - `training`: a training with checkpoints; `meter`: its progress
//! - `before`: trainings before a run, and their cache
//! - `estimate`: duration of a training

mod before;
mod demands;
mod estimate;
mod meter;
mod problem;
mod training;

use std::path::{Path, PathBuf};

use lab_plan::Plan;
use lab_policy::redte;
use lab_redte::container;
use lab_redte_train::{Data, Options, Score, Session};
use lab_reports::draw_learning;
use lab_units::{
    Bytes, Trainer,
    show::{self, Side},
};
use serde::Serialize;

use crate::{
    args::{Global, TrainArgs, TrainedPolicy},
    caller,
    failure::{During, Failure, Outcome},
    load::{self, Loaded},
    terminal,
};

pub use before::{Trainings, load, load_shown, load_trained, trained};

/// Result of a training, for `--json`.
#[derive(Serialize)]
struct Output {
    /// The weight file.
    weights: PathBuf,
    /// Hash of the weight file.
    hash: String,
    /// Size of the weight file.
    bytes: u64,
    trainer: Trainer,
    seed: u64,
    /// Number of steps after which the weights were best.
    steps: u64,
    /// Loads in percent, in the order of each score's loads; empty for a file of demands.
    loads: Vec<u64>,
    scores: Vec<Score>,
}

/// Runs `lcmp-lab train`.
pub fn train(arguments: &TrainArgs, global: &Global) -> Outcome {
    match arguments.policy {
        TrainedPolicy::Redte => learned(arguments, global),
    }
}

fn learned(arguments: &TrainArgs, global: &Global) -> Outcome {
    terminal::heed_signals().during("handle signals")?;
    let options = training::options(arguments.trainer, arguments.seed, arguments.steps);
    let loaded = load::load_untrained(&arguments.scenario)?;
    let plan = training::plan(&loaded, &arguments.scenario)?;
    let (data, loads) = data(arguments, &loaded, &plan, options)?;
    let folder = folder(&arguments.output);
    caller::create_dirs(&folder).during(format_args!("create `{}`", folder.display()))?;
    let session = training::trained(&data, options, &folder)?;

    let (weights, validation) = training::weights(&data, &session, options, &plan.name)?;
    let file = weights.encode();
    caller::write(&arguments.output, file.as_bytes())
        .during(format_args!("write `{}`", arguments.output.display()))?;
    draw(&session, options.trainer, &validation, &folder)?;
    let output = Output {
        weights: arguments.output.clone(),
        hash: container::hash(&file).unwrap_or_default().to_owned(),
        bytes: file.len() as u64,
        trainer: options.trainer,
        seed: options.seed,
        steps: weights.header.steps,
        loads,
        scores: training::scored(&data, &session, options, &data.held_out)?,
    };
    terminal::show(global.json, &output, text)
}

/// Returns the demands to train on, and the loads of the scenario in percent.
fn data(
    arguments: &TrainArgs,
    loaded: &Loaded,
    plan: &Plan,
    options: Options,
) -> Result<(Data, Vec<u64>), Failure> {
    let problem = problem::problem(plan);
    if let Some(path) = &arguments.demands {
        let intervals = demands::read(path, plan)?;
        let data = training::solved(|| Data::of_intervals(problem, intervals, options.threads))?;
        return Ok((data, Vec::new()));
    }
    let data = training::sampled(problem, &training::traffic(loaded, plan)?, options)?;
    let sweep = loaded.scenario.sweep().iter();
    let percent = sweep.map(|load| load.scale_nearest(100));
    Ok((data, percent.collect()))
}

/// Draws the learning curve into `folder`, beside the baselines' scores on the same demands.
fn draw(
    session: &Session<'_>,
    trainer: Trainer,
    validation: &[Score],
    folder: &Path,
) -> Result<(), Failure> {
    let curve = session.curve().iter();
    let points = curve.map(|it| (it.step as f64, it.score)).collect();
    let baselines = validation
        .iter()
        .filter(|score| score.policy != redte::name(trainer));
    let levels = baselines.map(|score| (score.policy.clone(), score.mean));
    draw_learning(redte::name(trainer), points, levels.collect(), folder)
        .map_err(|error| Failure::report(&error))?;
    caller::hand_over(folder);
    Ok(())
}

/// Returns the table of the scores, with an explanation.
fn text(output: &Output) -> String {
    let heads = output.loads.iter().map(|load| format!("{load} %"));
    let mut rows = vec![
        [String::new()]
            .into_iter()
            .chain(heads)
            .chain(["mean".to_owned()])
            .collect::<Vec<_>>(),
    ];
    let several = !output.loads.is_empty();
    for score in &output.scores {
        let by_load = score.by_load.iter().filter(|_| several);
        let numbers = by_load
            .chain([&score.mean])
            .map(|number| format!("{number:.4}"));
        rows.push([score.policy.clone()].into_iter().chain(numbers).collect());
    }
    let mut columns = vec![Side::Right; rows[0].len()];
    columns[0] = Side::Left;
    let size = show::about_bytes(Bytes::new(output.bytes));
    format!(
        "largest utilisation ÷ optimum's, on demands that were not trained on:\n{}{}: {size}, SHA-256 {}, {} steps\n",
        show::columns(0, &columns, &rows),
        output.weights.display(),
        output.hash,
        output.steps,
    )
}

/// Returns the folder of a training, which is beside the weight file.
fn folder(weights: &Path) -> PathBuf {
    let mut name = weights.as_os_str().to_owned();
    name.push(".training");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_column_per_load_and_the_mean() {
        let score = |policy: &str, by_load: &[f64], mean| Score {
            policy: policy.to_owned(),
            by_load: by_load.to_vec(),
            mean,
        };
        let output = Output {
            weights: "8dc.redte".into(),
            hash: "5ce0".to_owned(),
            bytes: 99_000,
            trainer: Trainer::Direct,
            seed: 1,
            steps: 160,
            loads: vec![30, 80],
            scores: vec![
                score("ecmp", &[1.19, 1.2], 1.195),
                score("redte-direct", &[1.14, 1.15], 1.145),
            ],
        };
        let expected = "\
largest utilisation ÷ optimum's, on demands that were not trained on:
                30 %    80 %    mean
ecmp          1.1900  1.2000  1.1950
redte-direct  1.1400  1.1500  1.1450
8dc.redte: 99 kB, SHA-256 5ce0, 160 steps
";
        assert_eq!(text(&output), expected);
    }
}
