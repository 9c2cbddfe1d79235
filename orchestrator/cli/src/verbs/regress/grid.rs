//! Sweep of a case. Cells that differ in the seed alone are repetitions of one point, which is judged like a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io, iter,
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_records::UtcTime;
use lab_regress::Samples;
use lab_reports::{
    facts::RunFacts,
    sweep::{CellNumbers, PointCells, SweepTitle},
};
use lab_scenario::Scenario;
use lab_sweep::{Manifest, Store, SweepResults};

use super::case_run::{CaseRun, EndedRun, INTERRUPTED};
use crate::{
    args::{SweepArgs, TrainsArg},
    caller,
    failure::{During, Failure},
    terminal,
    verbs::sweep,
};

/// Sweep of a case.
pub struct CaseSweep {
    arguments: SweepArgs,
    manifest: Manifest,
    /// Folder, in the results, with a directory for each run of the sweep.
    folder: PathBuf,
}

impl CaseSweep {
    /// Reads the sweep file at `path`; `trains` replaces the file's.
    pub fn read(
        path: PathBuf,
        folder: PathBuf,
        trains: Option<TrainsArg>,
    ) -> Result<Self, Failure> {
        let arguments = SweepArgs::with_flows(path, trains);
        let manifest = sweep::manifest(&arguments)?;
        if manifest.scenarios.len() > 1 {
            return Err(Failure::usage(format_args!(
                "the sweep `{}` has several scenarios, whose assertions differ (hint: a case for each)",
                manifest.name
            )));
        }
        Ok(Self {
            arguments,
            manifest,
            folder,
        })
    }

    /// Returns the scenario of the first cell that has one, and the cell's name.
    pub fn first_scenario(&self) -> Result<(Scenario, String), Failure> {
        let grid = self.manifest.grid().map_err(Failure::usage)?;
        let scenario = |number| {
            let cell = self.manifest.cell(&grid, number).map_err(Failure::usage)?;
            Ok((sweep::loaded(&cell)?.scenario, cell.name))
        };
        let first = scenario(0);
        if first.is_ok() {
            return first;
        }
        (1..grid.len())
            .find_map(|number| scenario(number).ok())
            .map_or(first, Ok)
    }

    /// Returns the labels of the policies that the sweep runs; empty for all of the scenarios.
    pub fn policies(&self) -> &[String] {
        &self.manifest.policies
    }

    /// Returns the number of points.
    pub fn points(&self) -> Result<usize, Failure> {
        let grid = self.manifest.grid().map_err(Failure::usage)?;
        let points = (0..grid.len()).map(|cell| grid.point(cell));
        Ok(points.collect::<BTreeSet<_>>().len())
    }

    /// Runs all cells in a new directory in `results`, and returns the points with their flows, and the cells that failed.
    pub fn runs(&self, case: &str, results: &Path) -> Box<dyn Iterator<Item = CaseRun> + '_> {
        let case = case.to_owned();
        let now = UtcTime::new(SystemTime::now());
        let ran = if terminal::is_interrupted() {
            Err(Failure::interrupted(INTERRUPTED))
        } else {
            new_folder(&results.join(&self.folder), now).and_then(|dir| {
                let results = sweep::run_in(&self.manifest, &self.arguments, &dir)?;
                Ok((results, dir))
            })
        };
        match ran {
            Ok((results, dir)) => Box::new(case_runs(case, results, dir, now)),
            Err(failure) => Box::new(iter::once(CaseRun {
                name: case,
                samples: Err(failure),
            })),
        }
    }

    /// Returns the flows of each point in the sweep's newest run in `results`, by the point's name. Runs by other trains,
    /// and those without a usable cell, are left out.
    pub fn newest(&self, case: &str, results: &Path) -> Result<BTreeMap<String, Samples>, Failure> {
        let folder = results.join(&self.folder);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            entries => entries.during(format_args!("read `{}`", folder.display()))?,
        };
        let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        dirs.sort_unstable();
        for dir in dirs.iter().rev() {
            let store = Store::at(dir);
            let stored = store.manifest()?;
            let Some(manifest) = stored.filter(|it| it.trains == self.manifest.trains) else {
                continue;
            };
            let found = samples(case, &manifest, &store)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(BTreeMap::new())
    }
}

/// Reads the flows of each point in the directory of `store`, by the point's name, without their paths.
fn samples(
    case: &str,
    manifest: &Manifest,
    store: &Store,
) -> Result<BTreeMap<String, Samples>, Failure> {
    let SweepResults {
        title,
        points,
        runs,
        ..
    } = sweep::results(manifest, store)?;
    let paths = runs.into_iter().map(|run| (run.cell, run.path)).collect();
    let mut found = BTreeMap::new();
    for point in points.iter().filter(|point| !point.numbers.is_empty()) {
        let mut samples = flows(point, &paths, store.dir())?;
        // A baseline is compared by its slowdowns alone, and paths take most of the memory.
        for policy in &mut samples.policies {
            policy.paths.clear();
        }
        found.insert(point_name(case, &title, point), samples);
    }
    Ok(found)
}

/// Creates a new folder in `parent`, named after `now`.
fn new_folder(parent: &Path, now: UtcTime) -> Result<PathBuf, Failure> {
    caller::check_links(parent).during(format_args!("use `{}`", parent.display()))?;
    fs::create_dir_all(parent).during(format_args!("create `{}`", parent.display()))?;
    let name = now.file_name();
    // Another suite may have started in the same second.
    for number in 1.. {
        let path = match number {
            1 => parent.join(&name),
            _ => parent.join(format!("{name}-{number}")),
        };
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                made.during(format_args!("create `{}`", path.display()))?;
                return Ok(path);
            }
        }
    }
    unreachable!("some number is free")
}

/// Returns the points with their flows, and the cells without usable results, in the order of the grid.
fn case_runs(
    case: String,
    results: SweepResults<'_>,
    dir: PathBuf,
    started: UtcTime,
) -> impl Iterator<Item = CaseRun> + use<> {
    let SweepResults {
        title,
        points,
        problems,
        runs,
        ..
    } = results;
    let paths: BTreeMap<String, String> =
        runs.into_iter().map(|run| (run.cell, run.path)).collect();
    let is_usable = |name: &str| {
        let mut cells = points.iter().flat_map(|point| &point.numbers);
        cells.any(|cell| cell.cell == name)
    };
    let failed: Vec<CaseRun> = problems
        .into_iter()
        .filter(|it| !is_usable(&it.cell))
        .map(|it| CaseRun {
            name: format!("{case}: {}", it.cell),
            samples: Err(Failure::environment(it.problem)),
        })
        .collect();
    let usable = points.into_iter().filter(|point| !point.numbers.is_empty());
    let of_point = move |point: PointCells| CaseRun {
        name: point_name(&case, &title, &point),
        samples: flows(&point, &paths, &dir).map(|samples| {
            let run = EndedRun {
                dir: dir.clone(),
                at: started.to_string(),
            };
            (run, samples)
        }),
    };
    usable.map(of_point).chain(failed)
}

/// Reads the flows of a point's cells; `paths` has the run directory of each cell in the sweep's directory `dir`.
fn flows(
    point: &PointCells,
    paths: &BTreeMap<String, String>,
    dir: &Path,
) -> Result<Samples, Failure> {
    let read = |cell: &CellNumbers| {
        let path = paths.get(&cell.cell).ok_or_else(|| {
            Failure::environment(format_args!(
                "the flows of the cell `{}` are missing",
                cell.cell
            ))
        })?;
        let run = RunFacts::open(&dir.join(path)).during("read the run")?;
        Samples::read(&run).during("read the flows")
    };
    let runs: Result<Vec<Samples>, Failure> = point.numbers.iter().map(read).collect();
    Ok(Samples::joined(runs?).expect("the point has cells"))
}

/// Returns the name of a point in a suite, such as `grid: load 30%`.
fn point_name(case: &str, title: &SweepTitle, point: &PointCells) -> String {
    let values = title.axes.iter().zip(&point.values);
    let named = values.map(|(axis, value)| format!("{axis} {value}"));
    let parts: Vec<String> = named.collect();
    if parts.is_empty() {
        return case.to_owned();
    }
    format!("{case}: {}", parts.join(", "))
}
