//! `lcmp-lab train`: weights of a policy that learns, from a scenario or a file of demands.

mod demands;
mod meter;
mod problem;

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use lab_files::{Links, draft};
use lab_plan::{Engine, Plan, PlanOptions};
use lab_policy::redte;
use lab_redte::container;
use lab_redte_train::{Data, DataError, Options, Score, Session, data::Interval, scores};
use lab_reports::draw_learning;
use lab_scenario::Scenario;
use lab_units::{
    Bytes, Trainer,
    show::{self, Side},
};
use serde::Serialize;

use self::meter::Meter;
use crate::{
    args::{Global, Overrides, TrainArgs, TrainedPolicy},
    caller,
    failure::{During, Failure, Outcome},
    load::{self, Loaded},
    terminal::{self, note},
};

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
    /// Steps after which the weights were the best.
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
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let loaded = load::load_untrained(&arguments.scenario)?;
    let plan = plan(&loaded, &arguments.scenario)?;
    let (data, loads) = data(arguments, &loaded, &plan, threads)?;
    let options = Options {
        trainer: arguments.trainer,
        seed: arguments.seed,
        steps: arguments
            .steps
            .unwrap_or(Options::default_steps(arguments.trainer)),
        threads,
    };
    let folder = folder(&arguments.output);
    caller::create_dirs(&folder).during(format_args!("create `{}`", folder.display()))?;
    let mut session = begin(&data, options, &folder)?;
    run(&mut session, options.steps, &folder)?;

    let validation = scored(&data, &session, options, &data.validation)?;
    let weights = session.weights(&plan.name, env!("CARGO_PKG_VERSION"), &validation);
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
        scores: scored(&data, &session, options, &data.held_out)?,
    };
    terminal::show(global.json, &output, text)
}

/// Plans the scenario unscaled, with the flows of one repetition.
fn plan(loaded: &Loaded, path: &Path) -> Result<Plan, Failure> {
    let one = Overrides {
        repetitions: Some(1),
        ..Overrides::default()
    };
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    load::resolve(&loaded.clone().first_run(&one), path, &options)
}

/// Returns the demands to train on, and the loads of the scenario in percent.
fn data(
    arguments: &TrainArgs,
    loaded: &Loaded,
    plan: &Plan,
    threads: usize,
) -> Result<(Data, Vec<u64>), Failure> {
    note("   demands  sampling, and solving one linear program per interval");
    let problem = problem::problem(plan);
    let of_data = |error: DataError| match error {
        DataError::Solver(_) => Failure::of(&error),
        DataError::NoChoice | DataError::NoDemand | DataError::FewIntervals { .. } => {
            Failure::usage(error)
        }
    };
    if let Some(path) = &arguments.demands {
        let intervals = demands::read(path, plan)?;
        let data = Data::of_intervals(problem, intervals, threads).map_err(of_data)?;
        return Ok((data, Vec::new()));
    }
    let sweep = loaded.scenario.sweep();
    let scenarios: Vec<Scenario> = match sweep {
        [] => vec![loaded.scenario.clone()],
        loads => loads
            .iter()
            .map(|load| loaded.scenario.clone().at_load(*load))
            .collect(),
    };
    let traffic = problem::traffic(loaded, &scenarios, plan)?;
    let data = Data::sample(problem, &traffic, arguments.seed, threads).map_err(of_data)?;
    let percent = sweep.iter().map(|load| load.scale_nearest(100));
    Ok((data, percent.collect()))
}

/// Returns the training of the checkpoint in `folder`, or a new one.
fn begin<'d>(data: &'d Data, options: Options, folder: &Path) -> Result<Session<'d>, Failure> {
    let path = folder.join(CHECKPOINT);
    if !path.exists() {
        return Ok(Session::new(data, options));
    }
    let bytes = lab_files::read(&path, Links::Refuse, MAX_CHECKPOINT.get())
        .map_err(|error| Failure::usage(lab_files::failed(&path, &error)))?;
    let text = String::from_utf8_lossy(&bytes);
    match Session::resume(data, options, &text) {
        Ok(session) => {
            note(&format!("  training  goes on at step {}", session.step()));
            Ok(session)
        }
        Err(error) => {
            let path = path.display();
            note(&format!(
                "warning: `{path}`: {error}; training from the start"
            ));
            Ok(Session::new(data, options))
        }
    }
}

/// Trains to the end, with a checkpoint in `folder` every [`BETWEEN_CHECKPOINTS`].
/// Fails if a signal arrives, after a last checkpoint.
fn run(session: &mut Session<'_>, steps: u64, folder: &Path) -> Result<(), Failure> {
    let path = folder.join(CHECKPOINT);
    let mut meter = Meter::new(steps);
    let mut saved = Instant::now();
    while session.advance() {
        meter.show(session);
        let is_interrupted = terminal::is_interrupted();
        if is_interrupted || saved.elapsed() >= BETWEEN_CHECKPOINTS {
            saved = Instant::now();
            draft::replace(&path, session.checkpoint().as_bytes())
                .during(format_args!("write `{}`", path.display()))?;
        }
        if is_interrupted {
            return Err(Failure::interrupted(format_args!(
                "interrupted after {} steps (hint: the same command goes on from there)",
                session.step()
            )));
        }
    }
    meter.end(session);
    if path.exists() {
        std::fs::remove_file(&path).during(format_args!("remove `{}`", path.display()))?;
    }
    Ok(())
}

/// Returns the scores of the baselines and of the trained policy.
fn scored(
    data: &Data,
    session: &Session<'_>,
    options: Options,
    traces: &[Vec<Interval>],
) -> Result<Vec<Score>, Failure> {
    let mut scores = scores::baselines(data, traces, options.seed, options.threads)
        .map_err(|error| Failure::of(&error))?;
    scores.push(scores::actors(
        data,
        session.best().0,
        options.trainer,
        traces,
    ));
    Ok(scores)
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

/// Returns the folder of a training: beside the weight file.
fn folder(weights: &Path) -> PathBuf {
    let mut name = weights.as_os_str().to_owned();
    name.push(".training");
    name.into()
}

/// Name of the state's file.
const CHECKPOINT: &str = "checkpoint";

const BETWEEN_CHECKPOINTS: Duration = Duration::from_secs(10);

/// Maximum size of a checkpoint; that of `maddpg` on 13 datacenters takes 5 MB.
const MAX_CHECKPOINT: Bytes = Bytes::new(1 << 30);

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
