//! Training on a plan's network, as `train` and runs of scenarios with `train: auto` perform it.

use std::{
    fs,
    num::NonZeroUsize,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use lab_files::{Links, draft};
use lab_plan::{Engine, Plan, PlanOptions};
use lab_policy::redte;
use lab_redte::Weights;
use lab_redte_train::{
    Data, DataError, Options, Problem, Score, Session, Traffic, data::Interval, scores,
};
use lab_scenario::Scenario;
use lab_units::{Bytes, Trainer};

use super::{meter::Meter, problem};
use crate::{
    args::Overrides,
    failure::{During, Failure},
    load::{self, Loaded},
    terminal::{self, note},
};

/// Returns the options of a training on all cores; without `steps`, the trainer's default number.
pub fn options(trainer: Trainer, seed: u64, steps: Option<u64>) -> Options {
    Options {
        trainer,
        seed,
        steps: steps.unwrap_or(Options::default_steps(trainer)),
        threads: thread::available_parallelism().map_or(1, NonZeroUsize::get),
    }
}

/// Plans the scenario unscaled, with the flows of one repetition.
pub fn plan(loaded: &Loaded, path: &Path) -> Result<Plan, Failure> {
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

/// Returns the traffic of the scenario's workloads at each load of its sweep.
/// Fails on a scenario without workloads, with exit code 2.
pub fn traffic(loaded: &Loaded, plan: &Plan) -> Result<Traffic, Failure> {
    let scenarios: Vec<Scenario> = match loaded.scenario.sweep() {
        [] => vec![loaded.scenario.clone()],
        loads => loads
            .iter()
            .map(|load| loaded.scenario.clone().at_load(*load))
            .collect(),
    };
    problem::traffic(loaded, &scenarios, plan)
}

/// Samples the demands of `traffic`, and finds their optima.
/// Fails on traffic or a network that cannot be trained on, with exit code 2.
pub fn sampled(problem: Problem, traffic: &Traffic, options: Options) -> Result<Data, Failure> {
    solved(|| Data::sample(problem, traffic, options.seed, options.threads))
}

/// Returns the data that `make` samples and solves, which may take long.
pub fn solved(make: impl FnOnce() -> Result<Data, DataError>) -> Result<Data, Failure> {
    note("   demands  sampling, and solving one linear program per interval");
    make().map_err(|error| match error {
        DataError::Solver(_) => Failure::of(&error),
        DataError::NoChoice | DataError::NoDemand | DataError::FewIntervals { .. } => {
            Failure::usage(error)
        }
    })
}

/// Trains to the end, from the checkpoint in `folder` if there is one, with progress on standard error.
/// Fails if a signal arrives, after a last checkpoint.
pub fn trained<'d>(
    data: &'d Data,
    options: Options,
    folder: &Path,
) -> Result<Session<'d>, Failure> {
    let mut session = begin(data, options, folder)?;
    run(&mut session, options.steps, folder)?;
    Ok(session)
}

/// Returns the weights of a training that has ended, with their scores on the validation demands. `scenario` is the
/// name of the plan.
pub fn weights(
    data: &Data,
    session: &Session<'_>,
    options: Options,
    scenario: &str,
) -> Result<(Weights, Vec<Score>), Failure> {
    let validation = scored(data, session, options, &data.validation)?;
    let weights = session.weights(scenario, env!("CARGO_PKG_VERSION"), &validation);
    Ok((weights, validation))
}

/// Returns the scores of the baselines and of the trained policy.
pub fn scored(
    data: &Data,
    session: &Session<'_>,
    options: Options,
    traces: &[Vec<Interval>],
) -> Result<Vec<Score>, Failure> {
    let mut scores = scores::baselines(data, traces, options.seed, options.threads)
        .map_err(|error| Failure::of(&error))?;
    // The best constant split is a baseline too.
    scores.retain(|score| score.policy != redte::name(options.trainer));
    scores.push(scores::actors(
        data,
        session.best().0,
        options.trainer,
        traces,
    ));
    Ok(scores)
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
        fs::remove_file(&path).during(format_args!("remove `{}`", path.display()))?;
    }
    Ok(())
}

/// Name of the checkpoint file.
const CHECKPOINT: &str = "checkpoint";

const BETWEEN_CHECKPOINTS: Duration = Duration::from_secs(10);

/// Maximum size of a checkpoint; that of `maddpg` on 13 datacenters takes 5 MB.
const MAX_CHECKPOINT: Bytes = Bytes::new(1 << 30);
