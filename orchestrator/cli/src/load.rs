//! Reads and plans the scenario that a path on the command line names.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use lab_files::Links;
use lab_plan::{Engine, Plan, PlanError, PlanOptions};
use lab_policy::ecmp;
use lab_records::RunDir;
use lab_scenario::{Files, PolicySpec, Repetitions, Scenario, did_you_mean, limits};
use lab_switchd::{ObjectError, read_object};
use lab_units::Ratio;

use crate::{
    args::{Overrides, ScaleArg, ScenarioArgs},
    builtin, caller,
    failure::{During, Exit, Failure, Outcome, with_causes},
    terminal::{self, note},
};

/// Parsed scenario with the texts that it was read from.
#[derive(Clone)]
pub struct Loaded {
    /// Parsed scenario.
    pub scenario: Scenario,
    /// YAML text of the scenario.
    pub text: String,
    /// Texts of the files that the scenario names, by their paths.
    pub files: Files,
}

/// Reads a scenario and the files that it names. If there is no such file, `path` may name a built-in scenario.
/// Fails on a file that cannot be read or parsed, with exit code 2.
pub fn load(path: &Path) -> Result<Loaded, Failure> {
    load_changed(path, |_| {})
}

/// Reads a scenario, as [`load`] does, without its policies with trained weights, whose files may not exist yet.
/// Fails on a file that cannot be read or parsed, with exit code 2.
pub fn load_untrained(path: &Path) -> Result<Loaded, Failure> {
    load_changed(path, leave_out_trained)
}

/// Removes the policies with trained weights. If the scenario has no other policies, its policy becomes ECMP.
pub fn leave_out_trained(scenario: &mut Scenario) {
    let policies = &mut scenario.policies;
    policies.retain(|policy| !matches!(policy, PolicySpec::Trained(_)));
    if policies.is_empty() {
        policies.push(PolicySpec::Buckets(&ecmp::POLICY));
    }
}

/// Reads the text of a scenario or sweep. Fails on a file that cannot be read or is not UTF-8, with exit code 2.
pub fn read_scenario_text(path: &Path) -> Result<String, Failure> {
    read_text(path, limits::MAX_SCENARIO_BYTES).map_err(|failure| with_near_name(path, failure))
}

fn load_changed(path: &Path, change: impl FnOnce(&mut Scenario)) -> Result<Loaded, Failure> {
    let path = &locate(path);
    let name = path.display().to_string();
    let bytes = read_limited(path, limits::MAX_SCENARIO_BYTES)
        .map_err(|failure| with_near_name(path, failure))?;
    let base = path.parent().unwrap_or(Path::new(""));
    let place = |named: &str| base.join(named);
    let files = needed_files(&name, &bytes, place)?;
    let mut scenario = parse(&name, &bytes, &files)?;
    change(&mut scenario);
    with_files(scenario, &name, bytes, files, place)
}

/// Adds a hint to the failure for a scenario that does not exist: a scenario with a similar name, or the verb that
/// lists the built-in ones.
fn with_near_name(path: &Path, failure: Failure) -> Failure {
    if path.symlink_metadata().is_ok() {
        return failure;
    }
    let hint = match near_name(path) {
        Some(near) => format!("did you mean `{}`?", near.display()),
        None => "`lcmp-lab scenarios` lists the built-in ones".to_owned(),
    };
    Failure {
        message: format!("{} (hint: {hint})", failure.message),
        ..failure
    }
}

/// Returns the scenario whose name `path` probably misspells: one in the folder of `path`, or else a built-in one.
fn near_name(path: &Path) -> Option<PathBuf> {
    let wanted = path.file_stem()?.to_str()?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let beside = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| path.with_file_name(entry.file_name()));
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|it| it == "yaml");
    near(wanted, beside.filter(is_yaml)).or_else(|| near(wanted, builtin::names()))
}

/// Returns the path in `paths` whose file name, without extension, `wanted` probably misspells.
fn near(wanted: &str, paths: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let paths: Vec<PathBuf> = paths.collect();
    let stem = |path: &PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let stems: BTreeSet<String> = paths.iter().filter_map(stem).collect();
    let found = did_you_mean(wanted, stems.iter().map(String::as_str));
    found.and_then(|found| {
        paths
            .into_iter()
            .find(|path| stem(path).as_ref() == Some(&found))
    })
}

/// Parses a scenario, which messages call `name`, and reads each file that it names from the path that `place` returns
/// for it.
/// Fails on a file that cannot be read or parsed, with exit code 2.
pub fn loaded(
    name: &str,
    bytes: Vec<u8>,
    place: impl Fn(&str) -> PathBuf,
) -> Result<Loaded, Failure> {
    let files = needed_files(name, &bytes, &place)?;
    let scenario = parse(name, &bytes, &files)?;
    with_files(scenario, name, bytes, files, place)
}

/// Reads the files without which a scenario cannot be parsed: the scenarios that it extends, the topology file and the
/// graph file; each is read from the path that `place` returns for it. The result is empty if the scenario names none.
/// Fails on a file that cannot be read, and on a scenario or topology file of the wrong form, with exit code 2.
pub fn needed_files(
    name: &str,
    bytes: &[u8],
    place: impl Fn(&str) -> PathBuf,
) -> Result<Files, Failure> {
    let mut files = Files::new();
    loop {
        let missing = lab_scenario::missing_file(name, bytes, &files);
        let Some(missing) = missing.map_err(|errors| Failure::scenario(&errors))? else {
            return Ok(files);
        };
        let naming = missing.named_in.as_deref();
        let text = match naming.and_then(|file| files.get(file)) {
            Some(text) => text.into(),
            None => String::from_utf8_lossy(bytes),
        };
        let name = naming.unwrap_or(name);
        let text = read_named(name, &text, &missing.named_at, &missing.path, &place)?;
        files.insert(missing.path, text);
    }
}

/// Reads the files that `scenario` names, except those that are in `files` already.
fn with_files(
    scenario: Scenario,
    name: &str,
    bytes: Vec<u8>,
    mut files: Files,
    place: impl Fn(&str) -> PathBuf,
) -> Result<Loaded, Failure> {
    let scenario_text = String::from_utf8(bytes).expect("a scenario that parses is UTF-8");
    for (path, named) in lab_scenario::named_files(&scenario) {
        if !files.contains_key(named) {
            let (naming, text) = lab_scenario::text_with(&scenario, &scenario_text, &files, &path);
            let text = read_named(naming.unwrap_or(name), text, &path, named, &place)?;
            files.insert(named.to_owned(), text);
        }
    }
    Ok(Loaded {
        scenario,
        text: scenario_text,
        files,
    })
}

/// Reads the file that a scenario names `named` at the YAML path `path`. `name` is the scenario's name in messages, and
/// `scenario_text` its text.
fn read_named(
    name: &str,
    scenario_text: &str,
    path: &str,
    named: &str,
    place: impl Fn(&str) -> PathBuf,
) -> Result<String, Failure> {
    let own = place(named);
    let built_in = built_in_sizes(path, named).filter(|_| own.symlink_metadata().is_err());
    let place = built_in.unwrap_or(own);
    let text = read_text(&place, limits::MAX_FILE_BYTES).map_err(|failure| {
        let message = failure.message + &hint_about_file(path, &place, named);
        match lab_scenario::problem_at(name, scenario_text, path, message.clone()) {
            Some(problem) => Failure::scenario(&problem),
            None => Failure::usage(format_args!("{name}: {message}")),
        }
    })?;
    // Spreadsheet programs write a byte order mark at the start of CSV files.
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Returns the path of the built-in distribution of flow sizes `named`, such as `websearch`, which a scenario names at the
/// YAML path `path`; `None` if there is none.
fn built_in_sizes(path: &str, named: &str) -> Option<PathBuf> {
    let place = builtin::place(&Path::new(WORKLOADS).join(format!("{named}.csv")));
    let found = may_be_built_in(path, named) && builtin::read(&place).is_some();
    found.then_some(place)
}

/// Returns true if `named` at the YAML path `path` can be the name of a built-in distribution of flow sizes, perhaps
/// misspelt: it has neither folders nor an extension.
fn may_be_built_in(path: &str, named: &str) -> bool {
    path.ends_with(".sizes") && !named.contains(['/', '.'])
}

/// Returns a hint about a file that cannot be read from `place`; the scenario names it `named` at the YAML path `path`.
/// For a missing file, the hint states to what its path is relative, how to copy a built-in file of the same name, and
/// the names of the built-in distributions; for a weight file, how to train one. Otherwise the hint is empty.
fn hint_about_file(path: &str, place: &Path, named: &str) -> String {
    let mut hints = Vec::new();
    if place.symlink_metadata().is_err() {
        hints.push("the path is relative to the scenario".to_owned());
        let stem = Path::new(named).file_stem();
        let mut built_in = builtin::files()
            .map(|(path, _)| path)
            .filter(|path| path.extension().is_some_and(|it| it == "csv"));
        let copied = built_in.find(|path| path.file_stem() == stem);
        hints.extend(copied.map(|path| {
            let path = path.display();
            format!("`lcmp-lab scenarios --copy DIR` writes DIR/{path}")
        }));
        if may_be_built_in(path, named) {
            let built_in = builtin::files().filter(|(path, _)| path.starts_with(WORKLOADS));
            let names: Vec<&str> = built_in
                .filter_map(|(path, _)| path.file_stem()?.to_str())
                .collect();
            hints.push(format!("built-in distributions are {}", names.join(", ")));
        }
    }
    if path.ends_with(".weights") {
        hints.push("`lcmp-lab train` makes weight files".to_owned());
    }
    match hints.as_slice() {
        [] => String::new(),
        hints => format!(" (hint: {})", hints.join("; ")),
    }
}

/// Parses a scenario, which messages call `name`; `files` has the texts of the files of [`needed_files`]. Reads no
/// files.
/// Fails on a scenario with errors, with exit code 2.
pub fn parse(name: &str, bytes: &[u8], files: &Files) -> Result<Scenario, Failure> {
    let parsed = lab_scenario::parse_with(name, bytes, files);
    parsed.map_err(|errors| Failure::scenario(&errors))
}

/// Returns the path to read a scenario, suite or folder from. Prints a message if the path is that of a built-in file
/// or folder.
pub fn locate(path: &Path) -> PathBuf {
    let resolved = builtin::resolve(path);
    if resolved != path {
        let path = path.display();
        let resolved = resolved.display();
        note(&format!("there is no file `{path}`: using {resolved}"));
    }
    resolved
}

impl Loaded {
    /// Fails if `overrides` give a load that nothing in the scenario takes, with exit code 2.
    pub fn check_load(&self, overrides: &Overrides) -> Result<(), Failure> {
        match overrides.load {
            Some(_) => check_takes_load(&self.scenario, "`--load`"),
            None => Ok(()),
        }
    }

    /// Returns the scenario of the first run: with the repetitions in `overrides`, and at the load in `overrides` or
    /// else at the sweep's first load.
    pub fn first_run(self, overrides: &Overrides) -> Self {
        let first = self.scenario.sweep().first().copied();
        let repeated = self.repeated(overrides.repetitions);
        match overrides.load.or(first) {
            Some(load) => repeated.at_load(load),
            None => repeated,
        }
    }

    fn repeated(mut self, repetitions: Option<u32>) -> Self {
        if let Some(count) = repetitions {
            self.scenario.repetitions = Repetitions::both(count);
        }
        self
    }

    fn at_load(self, load: Ratio) -> Self {
        Self {
            scenario: self.scenario.at_load(load),
            ..self
        }
    }
}

/// Fails if the scenario has no traffic with a load, which `asked` would set, with exit code 2.
pub fn check_takes_load(scenario: &Scenario, asked: &str) -> Result<(), Failure> {
    let mut traffic = scenario.traffic.iter();
    if traffic.any(|it| it.sampled().is_some()) {
        return Ok(());
    }
    Err(Failure::usage(format_args!(
        "{asked}: all flows of the scenario are listed, so it has no load (hint: only a `workload`, or `demands`, has one)"
    )))
}

/// Calls `run` for each load of the scenario's sweep, or once if there is no sweep or `overrides` give a load. Each
/// call receives overrides that reproduce exactly that run. Returns [`Exit::Failed`] if a check failed in any run, else
/// the last exit code other than [`Exit::Pass`]. Stops at the first error and after a signal.
pub fn each_run(
    loaded: &Loaded,
    overrides: &Overrides,
    mut run: impl FnMut(Loaded, Overrides) -> Outcome,
) -> Outcome {
    loaded.check_load(overrides)?;
    let loaded = loaded.clone().repeated(overrides.repetitions);
    let loads = match overrides.load {
        Some(load) => vec![load],
        None => loaded.scenario.sweep().to_vec(),
    };
    if loads.is_empty() {
        return run(loaded, overrides.clone());
    }
    let count = loads.len();
    let mut gravest = Exit::Pass;
    for (done, load) in loads.into_iter().enumerate() {
        let loaded = loaded.clone().at_load(load);
        if count > 1 {
            let name = &loaded.scenario.name;
            note(&format!("run {} of {count}: {name}", done + 1));
        }
        let mut overrides = overrides.clone();
        overrides.load = Some(load);
        let exit = run(loaded, overrides)?;
        if gravest != Exit::Failed && exit != Exit::Pass {
            gravest = exit;
        }
        if terminal::is_interrupted() && done + 1 < count {
            note(&format!(
                "{} of {count} runs were not started",
                count - done - 1
            ));
            break;
        }
    }
    Ok(gravest)
}

/// Plans a loaded scenario for a lab.
/// Fails on a scenario that cannot be planned, with exit code 2.
pub fn plan_loaded(loaded: &Loaded, arguments: &ScenarioArgs) -> Result<Plan, Failure> {
    let options = lab_options(&arguments.overrides)?;
    resolve(loaded, &arguments.scenario, &options)
}

fn lab_options(overrides: &Overrides) -> Result<PlanOptions, Failure> {
    Ok(PlanOptions {
        is_scaled: true,
        ..options(overrides, Engine::Kernel)?
    })
}

/// Plans a scenario for the kernel engine or, if no scale makes it fit into a lab, for the simulator; then also returns the
/// reason.
/// Fails on a scenario that cannot be planned for either, with exit code 2.
pub fn plan_for_either(
    loaded: &Loaded,
    arguments: &ScenarioArgs,
) -> Result<(Plan, Option<String>), Failure> {
    let overrides = &arguments.overrides;
    let options = lab_options(overrides)?;
    match lab_plan::resolve(&loaded.scenario, &loaded.text, &loaded.files, &options) {
        Ok(plan) => Ok((plan, None)),
        Err(error @ (PlanError::NoScale { .. } | PlanError::QpTimeout { .. })) => {
            let options = self::options(overrides, Engine::Sim)?;
            let plan = resolve(loaded, &arguments.scenario, &options)?;
            Ok((plan, Some(error.to_string())))
        }
        Err(error) => Err(unplanned(loaded, &arguments.scenario, &options, &error)),
    }
}

/// Returns the options for planning with `engine`. They depend only on the command line, so that the same command line
/// gives the same plan on every machine.
/// Fails if the run of `--scale` cannot be read, with exit code 2.
pub fn options(overrides: &Overrides, engine: Engine) -> Result<PlanOptions, Failure> {
    let policies = &overrides.policies;
    Ok(PlanOptions {
        seed: overrides.seed,
        policies: (!policies.is_empty()).then(|| policies.clone()),
        engine,
        scale: overrides.scale.as_ref().map(factors).transpose()?,
        capacity: overrides.scale_for.unwrap_or_default(),
        ..PlanOptions::default()
    })
}

/// Returns the rate and time factors of `--scale`, read from a run's records if `--scale` names a run.
pub fn factors(scale: &ScaleArg) -> Result<(Ratio, Ratio), Failure> {
    let path = match scale {
        ScaleArg::Factors(rate, time) => return Ok((*rate, *time)),
        ScaleArg::Run(path) => path,
    };
    let run = RunDir::open(path).map_err(|error| {
        Failure::usage(format_args!(
            "`--scale {}`: {} (hint: give a run directory, or the factors for rates and times, such as `1/6000,100`)",
            path.display(),
            with_causes(&error)
        ))
    })?;
    let scale = run.info().scale;
    Ok((scale.rate, scale.time))
}

/// Plans a scenario that was loaded from `path`.
/// Fails on a scenario that cannot be planned, with exit code 2.
pub fn resolve(loaded: &Loaded, path: &Path, options: &PlanOptions) -> Result<Plan, Failure> {
    lab_plan::resolve(&loaded.scenario, &loaded.text, &loaded.files, options)
        .map_err(|error| unplanned(loaded, path, options, &error))
}

/// Returns the failure of planning a scenario that was loaded from `path`, with the line of the value that causes it. A
/// value in `options`, from the command line, has no line.
fn unplanned(loaded: &Loaded, path: &Path, options: &PlanOptions, error: &PlanError) -> Failure {
    if let PlanError::File { source, .. } = error {
        return Failure::scenario(source);
    }
    let is_replaced = |at: &str| {
        (options.policies.is_some() && at == "policies")
            || (options.scale.is_some() && at.starts_with("scale"))
    };
    let problem = error.path().filter(|at| !is_replaced(at)).and_then(|at| {
        let (file, text) =
            lab_scenario::text_with(&loaded.scenario, &loaded.text, &loaded.files, at);
        let name = file.map_or_else(|| path.display().to_string(), str::to_owned);
        let message = error.to_string();
        // The YAML path has a line of its own.
        let without_path = message.strip_prefix(&format!("`{at}`: "));
        let message = without_path.unwrap_or(&message).to_owned();
        lab_scenario::problem_at(&name, text, at, message)
    });
    match problem {
        Some(problem) => Failure::scenario(&problem),
        None => Failure::usage(format_args!("{}: {error}", path.display())),
    }
}

/// Reads a text file of at most `limit` bytes.
/// Fails on a file that cannot be read, is too large or is not UTF-8, with exit code 2.
pub fn read_text(path: &Path, limit: usize) -> Result<String, Failure> {
    String::from_utf8(read_limited(path, limit)?)
        .map_err(|error| Failure::usage(format_args!("`{}` is not UTF-8: {error}", path.display())))
}

fn read_limited(path: &Path, limit: usize) -> Result<Vec<u8>, Failure> {
    caller::read_as(|| read_here(path, limit))
        .during("switch to the rights of the user who called sudo")?
}

fn read_here(path: &Path, limit: usize) -> Result<Vec<u8>, Failure> {
    if let Some(bytes) = builtin::read(path) {
        return Ok(bytes.to_vec());
    }
    lab_files::read(path, Links::Follow, limit as u64)
        .map_err(|error| Failure::usage(lab_files::failed(path, &error)))
}

/// Returns the absolute path of an existing file; the path names the same file in a guest. Fails on a file that does
/// not exist, with exit code 2.
pub fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|source| {
        Failure::usage(format_args!("cannot read `{}`: {source}", path.display()))
    })
}

/// Checks that the eBPF object of each policy in `plan` is a switch program. The objects' paths are relative to the
/// file `scenario`. Fails with exit code 2 and lists all objects that are not switch programs.
pub fn check_objects(loaded: &Loaded, scenario: &Path, plan: &Plan) -> Result<(), Failure> {
    let base = scenario.parent().unwrap_or(Path::new(""));
    let is_run = |spec: &PolicySpec| plan.policies.iter().any(|run| run.label == spec.label());
    let mut wrong = Vec::new();
    for (at, spec) in loaded.scenario.policies.iter().enumerate() {
        if let PolicySpec::Ebpf(own) = spec
            && is_run(spec)
            && let Err(error) = read_object(&base.join(&own.object))
        {
            wrong.push(format!(
                "{}: `policies[{at}].ebpf`: `{}` is not a switch program: {}",
                scenario.display(),
                own.object,
                with_hint(&error),
            ));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(wrong.join("\nerror: ")))
}

/// Returns the message of an eBPF object's error, with a hint if the object is missing.
fn with_hint(error: &ObjectError) -> String {
    match error {
        ObjectError::Read(_) => format!(
            "{error} (hint: the path is relative to the scenario; `agents/ebpf/build.sh SOURCE.c \
             OBJECT.o` builds an object)"
        ),
        ObjectError::NotAnObject { .. }
        | ObjectError::License { .. }
        | ObjectError::NoProgram
        | ObjectError::NoMap { .. }
        | ObjectError::OtherMap { .. } => error.to_string(),
    }
}

/// Folder of the built-in distributions of flow sizes.
const WORKLOADS: &str = "workloads";

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const TRAINED: &str = "
name: trained
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }]
traffic: [{ flows: [{ from: dc1/h1, to: dc2/h1, size: 1 MB }] }]
policies: [ecmp, redte: { weights: w.redte }]
";

    /// Returns the failure of planning a scenario in `folder` that names the weight file `w.redte`.
    fn refused(folder: &Path) -> Failure {
        let path = folder.join("trained.yaml");
        fs::write(&path, TRAINED).unwrap();
        let planned = load(&path)
            .and_then(|loaded| resolve(&loaded, &path, &PlanOptions::default()).map(drop));
        planned.unwrap_err()
    }

    #[test]
    fn a_weight_file_that_cannot_be_read_is_a_usage_error_with_a_place_and_a_hint() {
        type Make = fn(&Path);
        let cases: [(Make, &str, &str, &str); 6] = [
            (
                |_| (),
                "No such file",
                "at `policies[1].redte.weights`",
                "hint: the path is relative to the scenario; `lcmp-lab train` makes weight files",
            ),
            (
                |path| fs::create_dir(path).unwrap(),
                "is a directory",
                "at `policies[1].redte.weights`",
                "hint: `lcmp-lab train` makes weight files",
            ),
            (
                |path| fs::File::create(path).unwrap().set_len(70_000_000).unwrap(),
                "has more than the allowed 67108864 bytes",
                "at `policies[1].redte.weights`",
                "hint: `lcmp-lab train` makes weight files",
            ),
            (
                |path| fs::write(path, [0x80, 2, 0x8a]).unwrap(),
                "is not UTF-8",
                "at `policies[1].redte.weights`",
                "hint: `lcmp-lab train` makes weight files",
            ),
            (
                |path| fs::write(path, "").unwrap(),
                "does not start with",
                "at `policies[1].redte`",
                "hint: `lcmp-lab train` makes weight files",
            ),
            (
                // The largest file that is read, all of it NUL characters.
                |path| fs::File::create(path).unwrap().set_len(64 << 20).unwrap(),
                "does not start with",
                "at `policies[1].redte`",
                "hint: `lcmp-lab train` makes weight files",
            ),
        ];
        for (make, problem, place, hint) in cases {
            let folder = tempfile::tempdir().unwrap();
            make(&folder.path().join("w.redte"));
            let began = Instant::now();
            let failure = refused(folder.path());
            let took = began.elapsed();
            assert_eq!(failure.exit, Exit::Usage, "{failure:?}");
            let message = &failure.message;
            for part in [problem, place, hint] {
                assert!(message.contains(part), "{part}: {message}");
            }
            assert!(took < Duration::from_secs(2), "{problem}: {took:?}");
        }
    }

    /// Returns the failure of planning the scenario `text`, whose files are in `folder`.
    fn unplanned_text(text: &str, folder: &Path, overrides: &Overrides) -> String {
        let bytes = text.as_bytes().to_vec();
        let loaded = loaded("t.yaml", bytes, |named| folder.join(named)).unwrap();
        let options = lab_options(overrides).unwrap();
        let failure = resolve(&loaded, Path::new("t.yaml"), &options).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        failure.message
    }

    /// Returns the failure of planning a scenario of two hosts with `key` as the eighth line.
    fn unplanned_with(key: &str) -> String {
        let text = format!(
            "name: t
topology:
  dcs: [{{ name: a, hosts: 1 }}, {{ name: b, hosts: 1 }}]
  links: [{{ between: [a, b], rate: 10 Gbit, delay: 1 ms }}]
traffic:
  - flows: [{{ from: a/h1, to: b/h1, size: 1 MB, start: 1500 ns }}]
policies: [ecmp]
{key}
"
        );
        unplanned_text(&text, Path::new(""), &Overrides::default())
    }

    #[test]
    fn an_error_in_a_named_file_has_the_line_of_that_file() {
        let text = "name: t
topology:
  dcs: [{ name: a, hosts: 1 }, { name: b, hosts: 1 }]
  links: [{ between: [a, b], rate: 10 Gbit, delay: 1 ms }]
traffic: [{ workload: { sizes: s.csv, pairs: all-to-all, load: 10%, duration: 1 ms } }]
policies: [ecmp]
";
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("s.csv"), "bytes,percent\n2,50\n1,100\n").unwrap();
        let message = unplanned_text(text, folder.path(), &Overrides::default());
        let wanted = "`1` is below `2` in the previous row
 --> s.csv:3:1
  |
3 | 1,100
  | ^
  |
  = hint: each value must be at least that of the row before";
        assert!(message.contains(wanted), "{message}");
    }

    #[test]
    fn an_error_of_planning_has_the_line_of_its_value() {
        let message = unplanned_with("measure: { from: 5 ms }");
        let wanted = "no flow starts from 5 ms on; the last flow starts at 1.5 µs
 --> t.yaml:8:1
  |
8 | measure: { from: 5 ms }
  | ^^^^^^^
  |
  = at `measure`
  = hint: move `from` or `to`, or lengthen the traffic";
        assert!(message.contains(wanted), "{message}");
    }

    /// The scale of the command line takes the place of that in the text.
    #[test]
    fn an_error_about_a_value_of_the_command_line_has_no_line() {
        let text = "name: t
topology:
  dcs: [{ name: a, hosts: 1 }, { name: b, hosts: 1 }]
  links: [{ between: [a, b], rate: 10 Gbit, delay: 1 s }]
traffic: [{ flows: [{ from: a/h1, to: b/h1, size: 1 MB }] }]
policies: [ecmp]
scale: { rate: 1/1000, time: 1 }
";
        let overrides = Overrides {
            scale: Some("1/1000,1000000".parse().unwrap()),
            ..Overrides::default()
        };
        let message = unplanned_text(text, Path::new(""), &overrides);
        assert!(
            message.starts_with("t.yaml: twice the longest round trip"),
            "{message}"
        );
    }

    /// The default of 1 µs is not in the text, but `topology` is.
    #[test]
    fn an_error_about_a_default_has_the_line_of_the_innermost_key_around_it() {
        let message = unplanned_with("scale: { rate: 1, time: 1/1000000 }");
        let wanted = "is 1 us, which becomes 0 at a scale of 1/1000000
 --> t.yaml:2:1
  |
2 | topology:
  | ^^^^^^^^
  |
  = at `topology.defaults.host_link.delay`";
        assert!(message.contains(wanted), "{message}");
    }
}
