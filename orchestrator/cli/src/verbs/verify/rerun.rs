//! Second run of a bundle's scenario, with the same engine at the same kind of place.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use lab_bundle::{TableDifference, compare_tables};
use lab_plan::{Capacity, Plan};
use lab_records::{
    EngineInfo, EngineRequest, RunDir, RunRequest,
    directory::{self, INPUTS_FILE, PLAN_FILE, SCENARIO_FILE},
};
use lab_reports::{
    check::{Answer, Judgement},
    fidelity::{self, Bounds},
};
use lab_units::show::commas;
use serde::Serialize;

use super::work::{KEPT, WorkDir};
use crate::{
    args::Global,
    batch::{DerivedScenario, FoundRuns, Here, RunBatch, Wanted},
    failure::{During, Failure, with_causes},
    programs,
};

/// Comparison of a second run with the bundle's run of the same scenario.
#[derive(Serialize)]
pub struct Rerun {
    /// True if the second run agrees with the bundle's run.
    pub agrees: bool,
    /// First difference between the plans of both runs; `None` if they are equal.
    plan: Option<String>,
    /// Differences between the rows of both runs, by table.
    tables: Vec<TableDifference>,
    /// Bounds on differences in FCTs and paths that the two runs exceed; empty for a simulation, whose rows must be
    /// equal.
    broken: Vec<String>,
}

impl Rerun {
    /// Returns the reasons why the second run does not agree with the bundle's run; empty if it agrees.
    pub fn differences(&self) -> Vec<String> {
        if self.agrees {
            return Vec::new();
        }
        let others: Vec<String> = self.plan.iter().chain(&self.broken).cloned().collect();
        if !others.is_empty() {
            return others;
        }
        let differing = self.tables.iter().filter(|it| !it.is_same());
        differing.map(difference).collect()
    }

    /// Returns true if all rows of both runs are equal.
    pub fn is_exact(&self) -> bool {
        self.tables.iter().all(TableDifference::is_same)
    }
}

/// Runs the unpacked run's scenario again, and compares the plans and rows of both runs.
pub fn rerun(work: &WorkDir, global: &Global) -> Result<Rerun, Failure> {
    let kept = open(&work.at(KEPT))?;
    let global = Global {
        results: work.at("results"),
        json: false,
        ..global.clone()
    };
    let here = Here {
        global: &global,
        threads: None,
        trains: None,
    };
    let wanted = wanted(&kept, work)?;
    let dir = RunBatch::new(here, FoundRuns::default(), INTERRUPTED).only(&wanted)?;
    let again = open(&dir)?;
    // A signal may interrupt the guest of a lab but not this process.
    if again.outcome().is_none_or(|it| it.end.is_interrupted) {
        return Err(Failure::interrupted(INTERRUPTED));
    }
    let tables = compare_tables(&kept, &again).map_err(|error| Failure::records(&error))?;
    let plan = compare_plans(&kept, &again)?;
    let is_same = tables.iter().all(TableDifference::is_same);
    let broken = match (&kept.info().engine, is_same) {
        (EngineInfo::Kernel, false) => broken_bounds(&kept, &again)?,
        (EngineInfo::Kernel, true) | (EngineInfo::Sim(_), _) => Vec::new(),
    };
    let rows_agree = match kept.info().engine {
        EngineInfo::Kernel => broken.is_empty(),
        EngineInfo::Sim(_) => is_same,
    };
    Ok(Rerun {
        agrees: rows_agree && plan.is_none(),
        plan,
        tables,
        broken,
    })
}

fn open(dir: &Path) -> Result<RunDir, Failure> {
    RunDir::open(dir).map_err(|error| Failure::records(&error))
}

/// Returns the request that repeats the run in `kept`. An automatic scale is fitted to the same capacity again.
fn once_more(kept: &RunDir) -> Result<RunRequest, Failure> {
    let capacity = plan(kept)?.auto_scale.map(|auto| named(auto.capacity));
    let scenario = kept.path().join(SCENARIO_FILE);
    RunRequest::again(kept.info(), scenario, capacity).ok_or_else(|| {
        Failure::usage("the bundle's run does not record its options: an earlier lcmp-lab made it")
    })
}

/// Returns the value of `--scale-for` for a capacity. A capacity that differs from this version's default is written as
/// times, like a measured capacity.
fn named(capacity: Capacity) -> String {
    let is_measured = capacity != Capacity::default_of(capacity.place);
    let named = Capacity {
        is_measured,
        ..capacity
    };
    named.argument()
}

/// Returns the second run to perform: `kept`'s scenario with the same options. A simulation reads the scenario from
/// memory, a lab run from files in `work`.
fn wanted(kept: &RunDir, work: &WorkDir) -> Result<Wanted, Failure> {
    let mut wanted = Wanted::new_run(kept.info().scenario.clone(), once_more(kept)?);
    match wanted.request.engine {
        EngineRequest::Sim(_) => {
            wanted.derived = Some(DerivedScenario {
                text: read(kept, SCENARIO_FILE)?,
                files: inputs(kept)?,
            });
        }
        EngineRequest::Kernel => {
            wanted.request.scenario = write_inputs(kept, &work.at("scenario"))?;
        }
    }
    Ok(wanted)
}

fn plan(run: &RunDir) -> Result<Plan, Failure> {
    run.plan()
        .map_err(|error| Failure::records(&error))?
        .ok_or_else(|| missing(PLAN_FILE))
}

/// Returns the texts of the files that the scenario names, by their paths.
fn inputs(kept: &RunDir) -> Result<BTreeMap<String, String>, Failure> {
    let text = directory::read_text(kept.path(), INPUTS_FILE);
    let Some(text) = text.map_err(|error| Failure::records(&error))? else {
        return Ok(BTreeMap::new());
    };
    serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format_args!("`{INPUTS_FILE}`: {error}")))
}

/// Writes the scenario, its files and its eBPF objects below `dir`, and returns the scenario's path. The scenario is
/// nested as deeply as the largest number of `..` parts in a file's name, so that `..` stays inside `dir`. An absolute
/// name is refused.
fn write_inputs(kept: &RunDir, dir: &Path) -> Result<PathBuf, Failure> {
    let mut inputs = programs::kept(kept.path())?;
    let texts = self::inputs(kept)?.into_iter();
    inputs.extend(texts.map(|(name, text)| (name, text.into_bytes())));
    let depth = inputs
        .keys()
        .map(|name| {
            let parts = Path::new(name).components();
            parts.filter(|it| *it == Component::ParentDir).count()
        })
        .max();
    let base: PathBuf = std::iter::repeat_n("d", depth.unwrap_or(0)).collect();
    let mut files = Vec::new();
    for (name, bytes) in inputs {
        let path = inside(&base, &name).ok_or_else(|| {
            Failure::usage(format_args!(
                "`{name}`, which the scenario names, is not a relative path inside the bundle: the kernel engine \
                 cannot read it from the bundle"
            ))
        })?;
        files.push((path, bytes));
    }
    let scenario = free_path(&base, |path| files.iter().any(|(taken, _)| taken == path));
    files.push((scenario.clone(), read(kept, SCENARIO_FILE)?.into_bytes()));
    for (path, bytes) in &files {
        let path = dir.join(path);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, bytes))
            .during(format_args!("write `{}`", path.display()))?;
    }
    Ok(dir.join(scenario))
}

/// Returns an unused path in `base` for the scenario. Records keep the scenario as [`SCENARIO_FILE`], and a file that
/// it names, such as an extended scenario, may have the same name.
fn free_path(base: &Path, is_taken: impl Fn(&Path) -> bool) -> PathBuf {
    let mut path = base.join(SCENARIO_FILE);
    while is_taken(&path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path = base.join(format!("own-{name}"));
    }
    path
}

/// Returns the path of `name` relative to the root of `base`, without `..` parts; `None` if it leaves that root.
fn inside(base: &Path, name: &str) -> Option<PathBuf> {
    let mut path = base.to_owned();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir => path.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

fn read(kept: &RunDir, name: &str) -> Result<String, Failure> {
    let text = directory::read_text(kept.path(), name);
    text.map_err(|error| Failure::records(&error))?
        .ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Failure {
    Failure::usage(format_args!("the bundle's run has no `{name}`"))
}

/// Returns the first difference between the plans of both runs; `None` if they are equal.
fn compare_plans(kept: &RunDir, again: &RunDir) -> Result<Option<String>, Failure> {
    let kept = plan(kept)?;
    let again = plan(again)?;
    let what = if kept.scenario_hash == again.scenario_hash {
        "the second run has a different plan of the same scenario"
    } else {
        "the second run has a different scenario, or different files that the scenario names"
    };
    let difference = kept.difference(again);
    Ok(difference.map(|difference| format!("{what}: {difference}")))
}

/// Returns the reasons why FCT and path checks fail, with the bounds for two kernel engine runs of one scenario.
fn broken_bounds(kept: &RunDir, again: &RunDir) -> Result<Vec<String>, Failure> {
    let bound = |text: &str| vec![text.parse().expect("a bound")];
    let bounds = Bounds {
        max_p50: bound("1%"),
        max_p99: bound("10%"),
        min_paths: bound("98%"),
        ..Bounds::default()
    };
    let compared = fidelity::compare(kept.path(), again.path())
        .and_then(|it| it.bounded(&bounds))
        .map_err(|error| Failure::environment(with_causes(&error)))?;
    let checks = compared.checks().into_iter();
    let failed = checks.filter(|it| it.grade == Judgement::Fail);
    Ok(failed.map(|it| it.reason).collect())
}

/// Returns the comparison of the two runs as text, one line for each kind of difference.
pub fn text(rerun: &Rerun) -> String {
    let mut text = String::new();
    let (same, others): (Vec<_>, Vec<_>) = rerun.tables.iter().partition(|it| it.is_same());
    let names: Vec<&str> = same.iter().map(|it| it.table).collect();
    if !names.is_empty() {
        text += &format!("rerun: the same rows in {}\n", names.join(", "));
    }
    for it in others {
        text += &format!("rerun: {}\n", difference(it));
    }
    for one in &rerun.broken {
        text += &format!("rerun: out of bounds: {one}\n");
    }
    if rerun.agrees && !rerun.is_exact() {
        text += "rerun: FCTs and paths agree within the bounds of the kernel engine\n";
    }
    if let Some(plan) = &rerun.plan {
        text += &format!("rerun: {plan}\n");
    }
    text
}

fn difference(it: &TableDifference) -> String {
    format!(
        "{}: of {} rows, {} differ and {} are missing in the second run; {} are new",
        it.table,
        commas(it.rows.unwrap_or(0)),
        commas(it.changed),
        commas(it.only_first),
        commas(it.only_second)
    )
}

const INTERRUPTED: &str = "the second run was interrupted: the bundle is not verified";

#[cfg(test)]
mod tests {
    use lab_units::{Nanos, Place};

    use super::*;

    #[test]
    fn a_capacity_is_named_by_its_place_only_if_it_is_the_default_there() {
        let default = Capacity::default_of(Place::Here);
        assert_eq!(named(default), "here");
        let of_another_version = Capacity {
            hop_ns: Nanos::new(5_000),
            hop_wall_ns: Nanos::new(5_000),
            ..default
        };
        let read: Capacity = named(of_another_version).parse().unwrap();
        assert!(read.is_measured);
        assert_eq!(
            (read.hop_ns, read.flow_ns),
            (Nanos::new(5_000), default.flow_ns)
        );
    }

    #[test]
    fn a_named_file_is_not_overwritten_by_the_scenario() {
        let free = |taken: &[&str]| {
            let is_taken = |path: &Path| taken.iter().any(|it| Path::new(it) == path);
            free_path(Path::new("d"), is_taken)
        };
        assert_eq!(free(&[]), Path::new("d/scenario.yaml"));
        assert_eq!(free(&["scenario.yaml"]), Path::new("d/scenario.yaml"));
        let both = ["d/scenario.yaml", "d/own-scenario.yaml"];
        assert_eq!(free(&both), Path::new("d/own-own-scenario.yaml"));
    }

    #[test]
    fn named_files_stay_inside_the_folder() {
        let at = |name| inside(Path::new("d/d"), name);
        assert_eq!(at("../workloads/a.csv"), Some("d/workloads/a.csv".into()));
        assert_eq!(at("./a.csv"), Some("d/d/a.csv".into()));
        assert_eq!(at("../../a.csv"), Some("a.csv".into()));
        assert_eq!(at("../../../a.csv"), None);
        assert_eq!(at("/etc/passwd"), None);
    }
}
