//! Definition of a sweep: from a sweep file or a scenario, and the command line, to a manifest.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use lab_scenario::{
    Axis, Files, PolicySpec, Scenario, Setting, Sweep, SweepRecords, SweepTrains, WrittenOut,
    is_sweep, parse_sweep,
};
use lab_sweep::{BaseScenario, Manifest, Store, SweepResults};

use crate::{
    args::{RecordsArg, SweepArgs, TrainsArg},
    failure::{During, Failure},
    load, run_dir,
};

/// Returns the manifest of the sweep that `arguments` describe.
/// Fails on a scenario that cannot be read, or an axis none of whose values a scenario accepts, with exit code 2.
pub fn manifest(arguments: &SweepArgs) -> Result<Manifest, Failure> {
    let asked = arguments.file.clone().unwrap_or_default();
    let path = load::locate(&asked);
    let text = load::read_scenario_text(&path)?;
    let mut sweep = if is_sweep(&text) {
        let parsed = parse_sweep(&path.display().to_string(), text.as_bytes());
        parsed.map_err(|errors| Failure::scenario(&errors))?
    } else {
        of_scenario(&path)
    };
    for (at, axis) in arguments.set.iter().enumerate() {
        if arguments.set[..at].iter().any(|it| it.path == axis.path) {
            return Err(Failure::usage(format_args!(
                "`--set` gives the axis `{0}` twice (hint: one `--set {0}=A,B` for several values)",
                axis.path
            )));
        }
        match sweep.axes.iter_mut().find(|it| it.path == axis.path) {
            Some(own) => own.clone_from(axis),
            None => sweep.axes.push(axis.clone()),
        }
    }
    if !arguments.policies.is_empty() {
        sweep.policies.clone_from(&arguments.policies);
    }
    sweep.baseline = arguments.baseline.clone().or(sweep.baseline);
    sweep.records = arguments.records.map_or(sweep.records, RecordsArg::into);
    sweep.trains = arguments.trains.map(SweepTrains::from).or(sweep.trains);
    if sweep.name.is_empty() || sweep.name.starts_with('.') || sweep.name.contains('/') {
        return Err(Failure::usage(format_args!(
            "the sweep's name `{}` is not the name of a folder",
            sweep.name
        )));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let scenarios: Result<Vec<_>, Failure> = sweep
        .scenarios
        .iter()
        .map(|scenario| base(&folder.join(scenario), scenario, &sweep))
        .collect();
    Ok(Manifest::new(sweep, version()?, scenarios?))
}

/// Returns the sweep of a single scenario, without axes.
fn of_scenario(path: &Path) -> Sweep {
    let name =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    Sweep {
        name: name(path.file_stem()),
        scenarios: vec![name(path.file_name())],
        axes: Vec::new(),
        policies: Vec::new(),
        baseline: None,
        trains: None,
        records: SweepRecords::default(),
    }
}

/// Reads a scenario, written out, with all files that it or a value of an axis names.
fn base(path: &Path, name: &str, sweep: &Sweep) -> Result<BaseScenario, Failure> {
    let loaded = load::load(path)?;
    let axes = &sweep.axes;
    check_loads(&loaded.scenario, name, axes)?;
    check_labels(&loaded.scenario, name, sweep)?;
    let path = load::locate(path);
    let shown = path.display().to_string();
    let keys = WrittenOut::read(&shown, &loaded.text, &loaded.files, &loaded.scenario);
    let mut base = BaseScenario {
        name: name.strip_suffix(".yaml").unwrap_or(name).to_owned(),
        keys: keys.map_err(|errors| Failure::scenario(&errors))?,
        files: loaded.files,
    };
    base.files
        .retain(|file, _| !loaded.scenario.extends.contains(file));
    let firsts: Vec<Setting<'_>> = axes
        .iter()
        .filter(|axis| !axis.is_load())
        .map(|axis| Setting {
            path: &axis.path,
            value: &axis.values[0],
        })
        .collect();
    for axis in axes.iter().filter(|axis| !axis.is_load()) {
        let mut files = Files::new();
        let mut refused = None;
        let mut accepted = 0;
        for value in &axis.values {
            // A number names no file, and if one is valid, so are most.
            if value.is_number() && accepted > 0 {
                continue;
            }
            let own = Setting {
                path: &axis.path,
                value,
            };
            // A value that fits only together with those of other axes is tried with their first ones.
            let others = firsts.iter().copied().filter(|it| it.path != own.path);
            let together: Vec<_> = others.chain([own]).collect();
            let found = with(&base, &[own], &path).or_else(|_| with(&base, &together, &path));
            match found {
                Ok(found) => {
                    accepted += 1;
                    files.extend(found);
                }
                Err(failure) => refused = refused.or(Some(failure)),
            }
        }
        match refused {
            Some(failure) if accepted == 0 => return Err(failure),
            _ => base.files.extend(files),
        }
    }
    Ok(base)
}

/// Checks that a scenario has one load, or that an axis sets it, and that no axis sets a load that the axis `load`
/// replaces.
/// Fails with exit code 2.
fn check_loads(scenario: &Scenario, name: &str, axes: &[Axis]) -> Result<(), Failure> {
    let loads = scenario.sweep();
    if axes.iter().any(Axis::is_load) {
        load::check_takes_load(scenario, "the axis `load`")?;
        // Without a list of loads in the scenario, the axis `load` replaces all of them.
        let replaced = axes.iter().find(|axis| {
            let path = axis.path.to_string();
            loads.is_empty() && LOAD_KEYS.iter().any(|key| path.ends_with(key))
        });
        return replaced.map_or(Ok(()), |axis| {
            Err(Failure::usage(format_args!(
                "the axis `load` replaces the values of the axis `{}` (hint: leave one of them out)",
                axis.path
            )))
        });
    }
    if loads.len() < 2 {
        return Ok(());
    }
    let listed: Vec<String> = loads.iter().map(ToString::to_string).collect();
    Err(Failure::usage(format_args!(
        "`{name}` lists several loads, and a cell has one (hint: `--set load={}`)",
        listed.join(",")
    )))
}

/// Ends of the paths of loads in a scenario.
const LOAD_KEYS: [&str; 2] = [".workload.load", ".demands.scale"];

/// Checks that the scenario has the sweep's policies and its baseline, unless an axis changes the policies.
/// Fails with exit code 2.
fn check_labels(scenario: &Scenario, name: &str, sweep: &Sweep) -> Result<(), Failure> {
    let changes_policies = |axis: &Axis| axis.path.to_string() == "policies";
    if sweep.axes.iter().any(changes_policies) {
        return Ok(());
    }
    let labels: Vec<&str> = scenario.policies.iter().map(PolicySpec::label).collect();
    let run: Vec<&str> = match sweep.policies.as_slice() {
        [] => labels.clone(),
        asked => asked.iter().map(String::as_str).collect(),
    };
    let missing = |wanted: &str, known: &[&str]| {
        Failure::usage(format_args!(
            "`{name}` has no policy `{wanted}` to compare (hint: there are `{}`)",
            known.join("`, `")
        ))
    };
    if let Some(wanted) = run.iter().find(|wanted| !labels.contains(wanted)) {
        return Err(missing(wanted, &labels));
    }
    match &sweep.baseline {
        Some(baseline) if !run.contains(&baseline.as_str()) => Err(missing(baseline, &run)),
        _ => Ok(()),
    }
}

/// Returns the files that the scenario `base`, whose path is `path`, names with `settings`.
/// Fails if the scenario is then not valid.
fn with(base: &BaseScenario, settings: &[Setting<'_>], path: &Path) -> Result<Files, Failure> {
    let changed = base.keys.with(settings.iter().copied());
    let text = changed.map_err(Failure::usage)?.text();
    let folder = path.parent().unwrap_or(Path::new(""));
    let values: Vec<String> = settings
        .iter()
        .map(|setting| format!("{}={}", setting.path, setting.value))
        .collect();
    let name = format!("{} with {}", path.display(), values.join(" "));
    let place = |named: &str| folder.join(named);
    Ok(load::loaded(&name, text.into_bytes(), place)?.files)
}

/// Returns the manifest of the sweep in the directory of `store`.
/// Fails if there is none, with exit code 2.
pub fn stored(store: &Store) -> Result<Manifest, Failure> {
    let found = store.manifest().map_err(|error| {
        if error.is_damage() {
            Failure::usage(format_args!(
                "{error} (hint: the command that made the sweep writes it again)"
            ))
        } else {
            error.into()
        }
    });
    found?.ok_or_else(|| {
        Failure::usage(format_args!(
            "`{}` is not the directory of a sweep (hint: `lcmp-lab sweep FILE` makes one)",
            store.dir().display()
        ))
    })
}

/// Reads the results of a sweep from its directory.
pub fn results<'a>(manifest: &'a Manifest, store: &Store) -> Result<SweepResults<'a>, Failure> {
    let grid = manifest.grid().map_err(Failure::usage)?;
    let cells = manifest.identities(&grid);
    Ok(lab_sweep::results(manifest, &grid, store, &cells)?)
}

/// Returns the version of this program: its commit and, if it was built with uncommitted changes, the hash of its file.
pub fn version() -> Result<String, Failure> {
    let commit = env!("LCMP_LAB_COMMIT");
    if !commit.ends_with("+changes") && commit != "unknown" {
        return Ok(commit.to_owned());
    }
    let program: PathBuf = env::current_exe().during("find this program")?;
    let bytes = fs::read(&program).during(format_args!("read `{}`", program.display()))?;
    Ok(format!("{commit}-{}", &run_dir::hash(bytes)[..12]))
}

impl From<TrainsArg> for SweepTrains {
    fn from(argument: TrainsArg) -> Self {
        match argument {
            TrainsArg::Default => Self::Default,
            TrainsArg::Length(length) => Self::Packets(length),
        }
    }
}

impl From<SweepTrains> for TrainsArg {
    fn from(trains: SweepTrains) -> Self {
        match trains {
            SweepTrains::Default => Self::Default,
            SweepTrains::Packets(length) => Self::Length(length),
        }
    }
}
