//! Weights that a scenario's `train: auto` asks for: from the cache, or from a training before the first run.
//!
//! Cached weights are files in a cache directory, named by a hash of everything that they depend on. A scenario's
//! folder may also contain the weights, as the folder of a run that is repeated from its records does.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use lab_files::{Links, draft};
use lab_guest::{cache, cached};
use lab_plan::Plan;
use lab_policy::redte;
use lab_redte::{Weights, fingerprint::hash};
use lab_redte_train::{Data, Options, Problem, Traffic, session};
use lab_scenario::{Files, PolicySpec, TrainedSpec, WeightSource, limits};
use lab_units::{
    Nanos,
    show::{about_time, commas},
};
use rustix::fs::{Access, access};

use super::{estimate, problem, training};
use crate::{
    builtin,
    failure::{During, Failure},
    load::{self, Loaded},
    terminal::{self, note},
};

/// Trainings that a scenario's policies need before the first run.
#[derive(Default)]
pub struct Trainings {
    /// Trainings whose weights are not in the cache.
    missing: Vec<Training>,
    workloads: Option<Workloads>,
    cache: Cache,
    /// Texts of the weights that were trained, by their names among the scenario's files.
    files: Files,
}

/// Training of weights that are not in the cache.
struct Training {
    /// Name of the weights among the scenario's files.
    file: String,
    options: Options,
    key: String,
}

/// Network and traffic that all trainings of a scenario learn from.
struct Workloads {
    /// Name of the plan.
    name: String,
    problem: Problem,
    traffic: Traffic,
}

/// Reads a scenario, as [`load::load`] does, with cached weights for those of its `policies` that have `train: auto`;
/// for all such policies if the list is empty. Weights that are not cached have an empty text, with which the scenario
/// can be planned but not run, until [`Trainings::finish`] and [`Trainings::add_to`].
pub fn load(path: &Path, policies: &[String]) -> Result<(Loaded, Trainings), Failure> {
    let mut loaded = load::load(path)?;
    let trainings = Trainings::of(&mut loaded, path, policies, Cache::of_user())?;
    Ok((loaded, trainings))
}

/// Reads a scenario, as [`load()`] does, for a verb that only shows its plan: announces trainings, and performs none.
pub fn load_shown(path: &Path, policies: &[String]) -> Result<Loaded, Failure> {
    let (loaded, trainings) = load(path, policies)?;
    trainings.announce();
    Ok(loaded)
}

/// Reads a scenario, as [`load()`] does, and trains the weights that are not cached.
pub fn load_trained(path: &Path, policies: &[String]) -> Result<Loaded, Failure> {
    trained(load::load(path)?, path, policies)
}

/// Adds the weights of those `policies` in `loaded` that have `train: auto`, and trains the weights that are not
/// cached. `path` is the scenario's.
pub fn trained(mut loaded: Loaded, path: &Path, policies: &[String]) -> Result<Loaded, Failure> {
    let mut trainings = Trainings::of(&mut loaded, path, policies, Cache::of_user())?;
    trainings.announce();
    trainings.finish()?;
    Ok(trainings.add_to(loaded))
}

impl Trainings {
    /// Adds cached weights to `loaded`, and returns the trainings of all other weights.
    fn of(
        loaded: &mut Loaded,
        path: &Path,
        policies: &[String],
        cache: Cache,
    ) -> Result<Self, Failure> {
        let mut trainings = Self {
            cache,
            ..Self::default()
        };
        for spec in specs(loaded, policies) {
            let Some(file) = spec.file().map(String::from) else {
                continue;
            };
            if loaded.files.contains_key(&file) {
                continue;
            }
            let text = match beside(path, &file)? {
                Some(text) => text,
                None => trainings.kept(loaded, path, &spec, &file)?,
            };
            loaded.files.insert(file, text);
        }
        Ok(trainings)
    }

    /// Returns the text of cached weights; if there is none, adds a training and returns an empty text.
    fn kept(
        &mut self,
        loaded: &Loaded,
        path: &Path,
        spec: &TrainedSpec,
        file: &str,
    ) -> Result<String, Failure> {
        let workloads = match self.workloads.take() {
            Some(workloads) => workloads,
            None => Workloads::of(loaded, path)?,
        };
        let options = training::options(spec.trainer, loaded.scenario.seed, None);
        let key = workloads.key(&options);
        self.workloads = Some(workloads);
        if let Some(text) = self.cache.find(&key) {
            return Ok(text);
        }
        self.missing.push(Training {
            file: file.to_owned(),
            options,
            key,
        });
        Ok(String::new())
    }

    /// Returns the estimated duration of all trainings that are not finished, in whole seconds; `None` if there are
    /// none.
    pub fn estimate(&self) -> Option<Nanos> {
        let Workloads {
            problem, traffic, ..
        } = self.workloads.as_ref()?;
        let of_training = |it: &Training| estimate::steps(problem, traffic, &it.options);
        let steps: Nanos = self.missing.iter().map(of_training).sum();
        let all = steps.saturating_add(estimate::demands(problem, traffic));
        let seconds = Nanos::from_millis(1_000 * all.get().div_ceil(1_000_000_000));
        (!self.missing.is_empty()).then_some(seconds)
    }

    /// Prints the trainings, with their estimated duration, on standard error.
    pub fn announce(&self) {
        let Some(time) = self.estimate() else {
            return;
        };
        let policy = |training: &Training| {
            let Options { trainer, steps, .. } = training.options;
            format!("`{}` ({} steps)", redte::name(trainer), commas(steps))
        };
        let policies: Vec<String> = self.missing.iter().map(policy).collect();
        note(&format!(
            "before the first run, training of {} takes about {} at most; later runs reuse the weights",
            policies.join(", "),
            about_time(time),
        ));
    }

    /// Trains the missing weights. A second call trains nothing.
    /// Fails if a signal arrives; the next training of the same weights resumes from there.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let Some(workloads) = &self.workloads else {
            return Ok(());
        };
        let mut data = None;
        for training in self.missing.drain(..) {
            terminal::heed_signals().during("listen to signals")?;
            let text = training.text(workloads, &mut data, &self.cache)?;
            self.files.insert(training.file, text);
        }
        Ok(())
    }

    /// Adds the weights that were trained so far to the scenario's files.
    pub fn add_to(&self, mut loaded: Loaded) -> Loaded {
        loaded.files.extend(self.files.clone());
        loaded
    }
}

/// Returns the policies with `train: auto` whose labels are in `policies`; all of them if the list is empty.
fn specs(loaded: &Loaded, policies: &[String]) -> Vec<TrainedSpec> {
    let is_wanted =
        |spec: &&PolicySpec| policies.is_empty() || policies.iter().any(|it| it == spec.label());
    let wanted = loaded.scenario.policies.iter().filter(is_wanted);
    let trained = wanted.filter_map(|spec| match spec {
        PolicySpec::Trained(spec) => Some(spec),
        _ => None,
    });
    let is_auto = |spec: &&TrainedSpec| matches!(spec.weights, WeightSource::Trained(_));
    trained.filter(is_auto).cloned().collect()
}

/// Returns the text of the weights `file` in the folder of the scenario `path`; `None` if there is no such file.
fn beside(path: &Path, file: &str) -> Result<Option<String>, Failure> {
    let path = builtin::resolve(path).with_file_name(file);
    if !path.is_file() {
        return Ok(None);
    }
    load::read_text(&path, limits::MAX_FILE_BYTES).map(Some)
}

impl Workloads {
    /// Plans the scenario without its policies with trained weights.
    fn of(loaded: &Loaded, path: &Path) -> Result<Self, Failure> {
        let mut untrained = loaded.clone();
        load::leave_out_trained(&mut untrained.scenario);
        let plan: Plan = training::plan(&untrained, path)?;
        Ok(Self {
            problem: problem::problem(&plan),
            traffic: training::traffic(&untrained, &plan)?,
            name: plan.name,
        })
    }

    /// Returns a hash of everything that the text of the weights depends on.
    fn key(&self, options: &Options) -> String {
        let training = session::key(&self.problem, &self.traffic, options);
        hash(&format!(
            "{}|{}|{training}",
            env!("CARGO_PKG_VERSION"),
            self.name
        ))
    }
}

impl Training {
    /// Returns the text of the weights, trained here or, in the meantime, by another process. `data` contains the
    /// demands once they are sampled.
    fn text(
        &self,
        workloads: &Workloads,
        data: &mut Option<Data>,
        cache: &Cache,
    ) -> Result<String, Failure> {
        let folder = cache.folder(&self.key)?;
        let _lock = locked(&folder.join(LOCK))?;
        let text = match cache.find(&self.key) {
            Some(text) => text,
            None => self.new_text(workloads, data, &folder)?,
        };
        // A folder that cannot be removed does no harm.
        let _ = fs::remove_dir_all(&folder);
        Ok(text)
    }

    /// Trains in `folder`, and stores the weights in the cache next to it; returns the text of the weights.
    fn new_text(
        &self,
        workloads: &Workloads,
        data: &mut Option<Data>,
        folder: &Path,
    ) -> Result<String, Failure> {
        let Workloads {
            name,
            problem,
            traffic,
        } = workloads;
        let data = match data {
            Some(data) => data,
            None => data.insert(training::sampled(problem.clone(), traffic, self.options)?),
        };
        let session = training::trained(data, self.options, folder)?;
        let text = training::weights(data, &session, self.options, name)?
            .0
            .encode();
        let path = folder.with_extension(EXTENSION);
        draft::replace(&path, text.as_bytes())
            .during(format_args!("write `{}`", path.display()))?;
        Ok(text)
    }
}

/// Waits until no other process holds the lock at `path`, and takes it.
/// Fails if a signal arrives.
fn locked(path: &Path) -> Result<File, Failure> {
    let what = format!("lock `{}`", path.display());
    let file = File::create(path).during(&what)?;
    let mut is_noted = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error).during(&what),
            Err(TryLockError::WouldBlock) if terminal::is_interrupted() => {
                return Err(Failure::interrupted("interrupted"));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN_ATTEMPTS),
        }
        if !is_noted {
            is_noted = true;
            note("  training  another process trains the same weights: waiting for it");
        }
    }
}

/// Directories of cached weights, in the order of their use.
#[derive(Default)]
struct Cache(Vec<PathBuf>);

impl Cache {
    /// Returns the directories for weights in the program's cache directories.
    fn of_user() -> Self {
        let caches = cached::directories(&cache::default_dir()).into_iter();
        Self(caches.map(|dir| dir.join("weights")).collect())
    }

    /// Returns the text of the weights that are cached under `key`; `None` if there is none, or it is damaged.
    fn find(&self, key: &str) -> Option<String> {
        let files = self
            .0
            .iter()
            .map(|dir| dir.join(key).with_extension(EXTENSION));
        let read = |path: PathBuf| {
            let bytes = lab_files::read(&path, Links::Refuse, limits::MAX_FILE_BYTES as u64);
            String::from_utf8(bytes.ok()?).ok()
        };
        files
            .filter_map(read)
            .find(|text| Weights::decode(text).is_ok())
    }

    /// Creates the folder of the training of `key` in the first writable directory.
    /// Fails if no directory is writable, with exit code 3.
    fn folder(&self, key: &str) -> Result<PathBuf, Failure> {
        let mut folders = self.0.iter().map(|dir| dir.join(key));
        let is_writable = |folder: &PathBuf| {
            draft::make_dir(folder).is_ok() && access(folder, Access::WRITE_OK).is_ok()
        };
        folders.find(is_writable).ok_or_else(|| {
            Failure::environment(format_args!(
                "no directory for trained weights is writable (hint: name one with `{}`)",
                cache::DIR_VARIABLE
            ))
        })
    }
}

/// Extension of a file with cached weights.
const EXTENSION: &str = "redte";

/// Name of the lock in the folder of a training.
const LOCK: &str = "lock";

const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use lab_redte_train::Session;
    use lab_units::Trainer;

    use super::*;

    const SCENARIO: &str = "
name: diamond
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2 }, { name: dc3 }, { name: dc4, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc1, dc3], rate: 40 Gbit, delay: 5 ms }
    - { between: [dc2, dc4], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc3, dc4], rate: 40 Gbit, delay: 5 ms }
traffic:
  - workload: { sizes: sizes.csv, pairs: all-to-all, load: 0.3, duration: 1 s }
policies: [ecmp, static: { train: auto }]
scale: { rate: 1/2000, time: 100 }
seed: 1
";

    const FILE: &str = "trained:static";

    /// Folder with a scenario, its size distribution, and a cache.
    struct Case(tempfile::TempDir);

    impl Case {
        fn new() -> Self {
            let case = Self(tempfile::tempdir().unwrap());
            fs::write(case.at("sizes.csv"), "bytes,percent\n1000,0\n1000000,100\n").unwrap();
            case
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// Loads the scenario `text` with the weights of `policies`.
        fn load(&self, text: &str, policies: &[&str]) -> (Loaded, Trainings) {
            let path = self.at("scenario.yaml");
            fs::write(&path, text).unwrap();
            let mut loaded = load::load(&path).unwrap();
            let policies: Vec<String> = policies.iter().map(|&it| it.to_owned()).collect();
            let cache = Cache(vec![self.at("cache")]);
            let trainings = Trainings::of(&mut loaded, &path, &policies, cache).unwrap();
            (loaded, trainings)
        }

        /// Trains the weights of the scenario and returns them.
        fn trained(&self) -> String {
            let (loaded, mut trainings) = self.load(SCENARIO, &[]);
            assert_eq!(loaded.files[FILE], "");
            assert!(trainings.estimate().is_some());
            trainings.finish().unwrap();
            assert_eq!(trainings.estimate(), None);
            trainings.add_to(loaded).files[FILE].clone()
        }

        /// Returns the names of the files in the cache.
        fn kept(&self) -> Vec<String> {
            let entries = fs::read_dir(self.at("cache")).unwrap();
            let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
            let names = entries.map(|entry| name(entry).into_string().unwrap());
            names.collect()
        }
    }

    #[test]
    fn weights_are_trained_once_and_again_for_another_scenario() {
        let case = Case::new();
        let text = case.trained();
        assert_eq!(Weights::decode(&text).unwrap().header.scenario, "diamond");
        let kept = case.kept();
        assert!(kept.len() == 1 && kept[0].ends_with(".redte"), "{kept:?}");

        let (loaded, trainings) = case.load(SCENARIO, &[]);
        assert!(trainings.missing.is_empty());
        assert_eq!(loaded.files[FILE], text);
        for (old, new) in [
            ("seed: 1", "seed: 2"),
            ("load: 0.3", "load: 0.4"),
            ("rate: 40 Gbit", "rate: 50 Gbit"),
        ] {
            let (_, trainings) = case.load(&SCENARIO.replace(old, new), &[]);
            assert_eq!(trainings.missing.len(), 1, "{new}");
        }
        let scaled = SCENARIO.replace("1/2000", "1/1000");
        assert!(case.load(&scaled, &[]).1.missing.is_empty());
    }

    #[test]
    fn damaged_weights_are_trained_again() {
        let case = Case::new();
        let text = case.trained();
        let file = case.at("cache").join(&case.kept()[0]);
        fs::write(&file, &text[..text.len() - 8]).unwrap();
        assert_eq!(case.trained(), text);
    }

    #[test]
    fn only_the_weights_of_policies_that_run_are_trained() {
        let case = Case::new();
        let (loaded, trainings) = case.load(SCENARIO, &["ecmp"]);
        assert!(trainings.missing.is_empty());
        assert!(!loaded.files.contains_key(FILE));
        assert_eq!(case.load(SCENARIO, &["static"]).1.missing.len(), 1);
    }

    /// The folder of a repeated run has the weights of the first run.
    #[test]
    fn weights_beside_the_scenario_need_no_training() {
        let case = Case::new();
        fs::write(case.at(FILE), "weights").unwrap();
        let (loaded, trainings) = case.load(SCENARIO, &[]);
        assert_eq!(loaded.files[FILE], "weights");
        assert!(trainings.missing.is_empty());
    }

    #[test]
    fn a_training_goes_on_from_the_checkpoint_of_an_interrupted_one() {
        let scenario = SCENARIO.replace("static", "redte-direct");
        let first = Case::new();
        let second = Case::new();
        let (loaded, mut whole) = first.load(&scenario, &[]);
        whole.finish().unwrap();
        let whole = whole.add_to(loaded).files["trained:redte-direct"].clone();

        let (loaded, mut resumed) = second.load(&scenario, &[]);
        let training = &resumed.missing[0];
        assert_eq!(training.options.trainer, Trainer::Direct);
        let Workloads {
            problem, traffic, ..
        } = resumed.workloads.as_ref().unwrap();
        let data = training::sampled(problem.clone(), traffic, training.options).unwrap();
        let mut session = Session::new(&data, training.options);
        session.advance();
        let folder = resumed.cache.folder(&training.key).unwrap();
        fs::write(folder.join("checkpoint"), session.checkpoint()).unwrap();
        let (_, still) = second.load(&scenario, &[]);
        assert_eq!(still.missing.len(), 1);
        resumed.finish().unwrap();
        assert_eq!(resumed.add_to(loaded).files["trained:redte-direct"], whole);
        assert_eq!(second.kept().len(), 1);
    }
}
