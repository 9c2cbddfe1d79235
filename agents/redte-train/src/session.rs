//! A training, from its first step to its weights, which can be interrupted.

use std::collections::BTreeMap;

use lab_redte::{
    ContainerError, Header, Mlp, Weights, container,
    fingerprint::{fingerprint, hash},
    weights::{FORMAT, LAG},
};
use lab_units::Trainer;
use serde::{Deserialize, Serialize};

use crate::{
    constant,
    data::Data,
    direct::{self, Direct},
    maddpg::{self, Maddpg},
    number::float,
    problem::Problem,
    replay,
    scores::Score,
    team,
    traffic::{DataSplit, Traffic},
};

/// Options of a training.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    pub trainer: Trainer,
    pub seed: u64,
    /// Maximum number of steps.
    pub steps: u64,
    /// Number of threads; it does not change the weights.
    pub threads: usize,
}

impl Options {
    /// Returns the default number of steps.
    #[must_use]
    pub const fn default_steps(trainer: Trainer) -> u64 {
        match trainer {
            Trainer::Direct => 1_000,
            Trainer::Maddpg => 15_000,
            Trainer::Static => constant::STEPS,
        }
    }

    /// Returns the number of steps between two validations.
    #[must_use]
    pub const fn period(trainer: Trainer) -> u64 {
        match trainer {
            Trainer::Direct => Direct::PERIOD,
            Trainer::Maddpg => Maddpg::PERIOD,
            Trainer::Static => constant::STEPS,
        }
    }
}

/// Returns the hash of everything that a training on the demands of `traffic` depends on, which needs neither the
/// demands nor their optima. Trainings with the same key have the same weights, to the bit.
#[must_use]
pub fn key(problem: &Problem, traffic: &Traffic, options: &Options) -> String {
    let intervals = [DataSplit::Training, DataSplit::Validation].map(|it| traffic.intervals(it));
    hash(&format!(
        "{REVISION}|{}|{}|{:?}|{problem:?}|{traffic:?}",
        options.trainer,
        options.seed,
        hyperparameters(options, intervals),
    ))
}

/// Validation of a training.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Validation {
    /// Number of steps before the validation.
    pub step: u64,
    /// Mean ratio to the optimum on the validation demands.
    pub score: f64,
}

/// Training in progress.
#[derive(Debug)]
pub struct Session<'d> {
    data: &'d Data,
    options: Options,
    learner: Learner,
    progress: TrainingProgress,
    /// Weights of the best validation.
    best: Vec<Mlp>,
}

/// Part of a training's state that is not floats.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct TrainingProgress {
    step: u64,
    /// Validations, in the order of their steps.
    curve: Vec<Validation>,
    best: Option<Validation>,
}

#[derive(Clone, Debug)]
enum Learner {
    Direct(Direct),
    Maddpg(Box<Maddpg>),
    Static(Vec<Mlp>),
}

/// Header of a checkpoint.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CheckpointHeader {
    format: u32,
    /// Hash of everything that the training depends on.
    training: String,
    progress: TrainingProgress,
}

/// Reason why a training cannot go on from a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error(transparent)]
    File(#[from] ContainerError),
    #[error(
        "it belongs to another training: network, demands, trainer, seed, steps or options differ"
    )]
    OtherTraining,
}

impl<'d> Session<'d> {
    /// Begins a training, with a validation of the untrained actors.
    #[must_use]
    pub fn new(data: &'d Data, options: Options) -> Self {
        let learner = match options.trainer {
            Trainer::Direct => Learner::Direct(Direct::new(data, options.seed)),
            Trainer::Maddpg => Learner::Maddpg(Box::new(Maddpg::new(data, options.seed))),
            Trainer::Static => Learner::Static(team::initial(data, options.seed)),
        };
        let mut session = Self {
            best: learner.actors(),
            progress: TrainingProgress::default(),
            learner,
            options,
            data,
        };
        session.validate();
        session
    }

    /// Resumes the training of a checkpoint.
    ///
    /// # Errors
    /// If the checkpoint cannot be read, or belongs to another training.
    pub fn resume(
        data: &'d Data,
        options: Options,
        checkpoint: &str,
    ) -> Result<Self, CheckpointError> {
        let (header, floats): (CheckpointHeader, _) =
            container::decode(TITLE, CHECKPOINT_FORMAT, checkpoint)?;
        let mut session = Self::new(data, options);
        if header.training != session.identity() {
            return Err(CheckpointError::OtherTraining);
        }
        let mut rest = floats.as_slice();
        for vector in session.vectors() {
            let (own, others) = rest
                .split_at_checked(vector.len())
                .ok_or(CheckpointError::OtherTraining)?;
            vector.copy_from_slice(own);
            rest = others;
        }
        session.progress = header.progress;
        Ok(session)
    }

    /// Trains until the next validation; returns false once the training has ended: after the last step or, with
    /// `direct`, if the latest [`PATIENCE`] validations were no better than the best before them.
    pub fn advance(&mut self) -> bool {
        if self.has_ended() {
            return false;
        }
        let Options {
            seed,
            steps,
            threads,
            ..
        } = self.options;
        let step = self.progress.step;
        match &mut self.learner {
            Learner::Direct(direct) => direct.advance(self.data, seed, step, threads),
            Learner::Maddpg(maddpg) => maddpg.advance(self.data, seed, step, steps, threads),
            Learner::Static(networks) => {
                *networks = constant::best(self.data, seed).networks(self.data);
            }
        }
        self.progress.step += Options::period(self.options.trainer);
        self.validate();
        true
    }

    fn has_ended(&self) -> bool {
        let TrainingProgress { step, curve, best } = &self.progress;
        let patience = match self.learner {
            Learner::Direct(_) => PATIENCE,
            Learner::Maddpg(_) | Learner::Static(_) => usize::MAX,
        };
        let since = curve
            .iter()
            .filter(|it| best.is_some_and(|best| it.step > best.step));
        *step >= self.options.steps || since.count() >= patience
    }

    fn validate(&mut self) {
        let actors = self.learner.actors();
        let score = team::score(self.data, &actors, &self.data.validation);
        let step = self.progress.step;
        let validation = Validation { step, score };
        self.progress.curve.push(validation);
        // Untrained actors are never the result, however bad the trained ones are.
        if step > 0 && self.progress.best.is_none_or(|best| score < best.score) {
            self.progress.best = Some(validation);
            self.best = actors;
        }
    }

    /// Returns the text of the state, from which [`Session::resume`] goes on as if there had been no interruption.
    #[must_use]
    pub fn checkpoint(&mut self) -> String {
        let header = CheckpointHeader {
            format: CHECKPOINT_FORMAT,
            training: self.identity(),
            progress: self.progress.clone(),
        };
        let vectors = self.vectors();
        let floats: Vec<f32> = vectors
            .into_iter()
            .flat_map(|it| it.iter().copied())
            .collect();
        container::encode(TITLE, &header, &floats)
    }

    /// Returns the best validation's weights, trained on the demands of `scenario` by a program of this version.
    #[must_use]
    pub fn weights(&self, scenario: &str, version: &str, scores: &[Score]) -> Weights {
        let data = self.data;
        let options = &self.options;
        let scores = scores
            .iter()
            .map(|score| (score.policy.clone(), score.mean));
        Weights {
            header: Header {
                format: FORMAT,
                scenario: scenario.to_owned(),
                topology: fingerprint(&data.problem.topology, &data.problem.capacities),
                divisors: data.divisors,
                shapes: self
                    .best
                    .iter()
                    .map(|network| network.shape().clone())
                    .collect(),
                paper_interval_ns: data.problem.interval,
                lag: LAG,
                trainer: options.trainer,
                options: hyperparameters(options, intervals(data)),
                seed: options.seed,
                steps: self.progress.best.map_or(0, |best| best.step),
                version: version.to_owned(),
                scores: scores.collect(),
            },
            networks: self.best.clone(),
        }
    }

    /// Returns the networks of the best validation.
    #[must_use]
    pub fn best(&self) -> (&[Mlp], Option<Validation>) {
        (&self.best, self.progress.best)
    }

    /// Returns all validations, in the order of their steps.
    #[must_use]
    pub fn curve(&self) -> &[Validation] {
        &self.progress.curve
    }

    /// Returns the number of steps taken.
    #[must_use]
    pub const fn step(&self) -> u64 {
        self.progress.step
    }

    /// Returns the hash of everything that the training depends on.
    fn identity(&self) -> String {
        let data = self.data;
        let options = &self.options;
        let parts = [&data.training, &data.validation];
        let demands = parts.map(|traces| {
            let intervals = traces.iter().flatten();
            intervals
                .map(|interval| &interval.measured)
                .collect::<Vec<_>>()
        });
        hash(&format!(
            "{}|{}|{}|{}|{:?}|{demands:?}",
            fingerprint(&data.problem.topology, &data.problem.capacities),
            options.trainer,
            options.seed,
            options.steps,
            hyperparameters(options, intervals(data)),
        ))
    }

    fn vectors(&mut self) -> Vec<&mut Vec<f32>> {
        let mut vectors = match &mut self.learner {
            Learner::Direct(direct) => direct.vectors(),
            Learner::Maddpg(maddpg) => maddpg.vectors(),
            Learner::Static(networks) => networks.iter_mut().map(|it| &mut it.parameters).collect(),
        };
        vectors.extend(self.best.iter_mut().map(|network| &mut network.parameters));
        vectors
    }
}

impl Learner {
    fn actors(&self) -> Vec<Mlp> {
        match self {
            Self::Direct(direct) => direct.networks.clone(),
            Self::Maddpg(maddpg) => maddpg.actors(),
            Self::Static(networks) => networks.clone(),
        }
    }
}

/// Returns the numbers of intervals for training and for validation, over all loads.
fn intervals(data: &Data) -> [usize; 2] {
    [&data.training, &data.validation].map(|traces| traces.iter().map(Vec::len).sum())
}

/// Returns the hyperparameters and the numbers of intervals for training and for validation, by name.
fn hyperparameters(options: &Options, [training, validation]: [usize; 2]) -> BTreeMap<String, f64> {
    let count = |number: u64| float(usize::try_from(number).unwrap_or(usize::MAX));
    let own: &[(&str, f64)] = match options.trainer {
        Trainer::Direct => &[
            ("batch", float(direct::BATCH)),
            ("learning rate", f64::from(direct::RATE)),
            ("patience", float(PATIENCE)),
        ],
        Trainer::Maddpg => &[
            ("actor learning rate", f64::from(maddpg::ACTOR_RATE)),
            ("batch", float(maddpg::BATCH)),
            ("circle", count(maddpg::CIRCLE)),
            ("circle repeats", count(maddpg::CIRCLE_REPEATS)),
            ("critic learning rate", f64::from(maddpg::CRITIC_RATE)),
            ("exploration steps", count(maddpg::EXPLORATION)),
            ("gamma", f64::from(maddpg::GAMMA)),
            ("replay", float(replay::CAPACITY)),
            ("replay alpha", replay::ALPHA),
            ("replay beta", maddpg::BETA),
            ("tau", f64::from(maddpg::TAU)),
        ],
        Trainer::Static => &[("batch", float(constant::BATCH))],
    };
    let shared = [
        ("steps", count(options.steps)),
        ("training intervals", float(training)),
        ("validation intervals", float(validation)),
    ];
    let all = own.iter().copied().chain(shared);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Number of validations without improvement after which a training by `direct` ends. `maddpg` does not end early, as
/// published.
pub const PATIENCE: usize = 20;

/// Version of the arithmetic of samples, optima and trainers. Every change that alters weights must raise it, so that
/// weights that are cached under a [`key`] are trained again.
const REVISION: u32 = 1;

/// First line of a checkpoint.
const TITLE: &str = "lcmp-lab redte training";

/// Version of the checkpoint's format. Programs with another version refuse the checkpoint and train from the start.
const CHECKPOINT_FORMAT: u32 = 1;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testing::{diamond, diamond_data, diamond_traffic};

    fn options(trainer: Trainer, threads: usize) -> Options {
        let steps = match trainer {
            Trainer::Direct => 60,
            Trainer::Maddpg => 750,
            Trainer::Static => constant::STEPS,
        };
        Options {
            trainer,
            seed: 7,
            steps,
            threads,
        }
    }

    /// Returns the hash of the weights at the end of a training.
    fn trained(mut session: Session<'_>) -> String {
        while session.advance() {}
        let text = session.weights("diamond", "0.1.0", &[]).encode();
        container::hash(&text).unwrap().to_owned()
    }

    /// Weights are the same on every machine and at every level of optimisation. A change that alters these hashes
    /// makes all weight files unreproducible, and must raise [`REVISION`].
    #[test]
    fn a_training_repeats_to_the_bit() {
        let data = diamond_data();
        for (trainer, hash) in [
            (
                Trainer::Direct,
                "d9849b561308b26b1200beeb9e1cc42f540b142dac561bc00decb42a18b1948b",
            ),
            (
                Trainer::Maddpg,
                "6a41068b0f4af82dc524fdc59adb7ff65193405fceb0b9b8dfb2dea84b9eae8a",
            ),
            (
                Trainer::Static,
                "c1d27af4a052994dd84e16431e7ddc764f172ba0dc43e37c4648692588ae89b4",
            ),
        ] {
            for threads in [1, 2] {
                let session = Session::new(&data, options(trainer, threads));
                assert_eq!(trained(session), hash, "{trainer}, {threads} threads");
            }
        }
    }

    #[test]
    fn an_interrupted_training_goes_on_to_the_same_weights() {
        let data = diamond_data();
        for trainer in [Trainer::Direct, Trainer::Maddpg, Trainer::Static] {
            let options = options(trainer, 1);
            let whole = trained(Session::new(&data, options));
            let mut killed = Session::new(&data, options);
            killed.advance();
            killed.advance();
            let checkpoint = killed.checkpoint();
            drop(killed);
            let resumed = Session::resume(&data, options, &checkpoint).unwrap();
            assert_eq!(trained(resumed), whole, "{trainer}");
            let other = Options { seed: 8, ..options };
            let error = Session::resume(&data, other, &checkpoint).unwrap_err();
            assert!(error.to_string().contains("another training"), "{error}");
        }
    }

    #[test]
    fn a_key_depends_on_network_traffic_and_options_but_not_on_threads() {
        let problem = diamond();
        let traffic = diamond_traffic();
        let options = options(Trainer::Direct, 1);
        let first = key(&problem, &traffic, &options);
        let threads = Options {
            threads: 2,
            ..options
        };
        assert_eq!(key(&problem, &traffic, &threads), first);
        let mut busier = traffic.clone();
        busier.loads[0][0].mean_bytes += 1.0;
        let mut slower = problem.clone();
        slower.capacities.reverse();
        let keys = BTreeSet::from([
            key(&problem, &traffic, &Options { seed: 8, ..options }),
            key(
                &problem,
                &traffic,
                &Options {
                    steps: 61,
                    ..options
                },
            ),
            key(&problem, &traffic, &self::options(Trainer::Static, 1)),
            key(&problem, &busier, &options),
            key(&slower, &traffic, &options),
            first,
        ]);
        assert_eq!(keys.len(), 6);
    }

    #[test]
    fn weights_fit_their_network_and_say_their_origin() {
        let data = diamond_data();
        let mut session = Session::new(&data, options(Trainer::Direct, 1));
        session.advance();
        let score = Score {
            policy: "ecmp".to_owned(),
            by_load: vec![1.5],
            mean: 1.5,
        };
        let bytes = session.weights("diamond", "0.1.0", &[score]).encode();
        let weights = Weights::decode(&bytes).unwrap();
        let problem = &data.problem;
        let actors = weights
            .actors(&problem.topology, &problem.capacities)
            .unwrap();
        assert_eq!(actors.len(), 1);
        assert_eq!(weights.header.steps, 10);
        assert_eq!(weights.header.scores["ecmp"], 1.5);
        assert_eq!(weights.header.options["training intervals"], 60.0);
    }
}
