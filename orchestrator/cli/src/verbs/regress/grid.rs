//! Sweep of a case. Cells that differ in the seed alone are repetitions of one point, which is judged like a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, iter,
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
    failure::{During, Failure},
    terminal,
    verbs::sweep,
};

/// Sweep of a case.
pub struct CaseSweep {
    arguments: SweepArgs,
    manifest: Manifest,
    /// Name of the folder, in the results, with a directory for each run of the sweep.
    folder: String,
}

impl CaseSweep {
    /// Reads the sweep file at `path`; `trains` replaces the file's.
    pub fn read(path: PathBuf, folder: String, trains: Option<TrainsArg>) -> Result<Self, Failure> {
        let arguments = SweepArgs::with_flows(path, trains);
        Ok(Self {
            manifest: sweep::manifest(&arguments)?,
            arguments,
            folder,
        })
    }

    /// Returns the scenario of the first cell, and the cell's name.
    pub fn first_scenario(&self) -> Result<(Scenario, String), Failure> {
        let grid = self.manifest.grid().map_err(Failure::usage)?;
        let first = self.manifest.cell(&grid, 0).map_err(Failure::usage)?;
        Ok((sweep::loaded(&first)?.scenario, first.name))
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
        let dir = results.join(&self.folder).join(now.file_name());
        let ran = if terminal::is_interrupted() {
            Err(Failure::interrupted(INTERRUPTED))
        } else {
            sweep::run_in(&self.manifest, &self.arguments, &dir)
        };
        match ran {
            Ok(results) => Box::new(case_runs(case, results, dir, now)),
            Err(failure) => Box::new(iter::once(CaseRun {
                name: case,
                samples: Err(failure),
            })),
        }
    }

    /// Returns the flows of each point in the sweep's newest run in `results`, by the point's name.
    pub fn newest(&self, case: &str, results: &Path) -> Result<BTreeMap<String, Samples>, Failure> {
        let folder = results.join(&self.folder);
        let Ok(entries) = fs::read_dir(&folder) else {
            return Ok(BTreeMap::new());
        };
        let newest = entries.flatten().map(|entry| entry.path()).max();
        let Some(dir) = newest else {
            return Ok(BTreeMap::new());
        };
        let store = Store::at(&dir);
        let Some(manifest) = store.manifest()? else {
            return Ok(BTreeMap::new());
        };
        let grid = manifest.grid().map_err(Failure::usage)?;
        let cells = manifest.identities(&grid);
        let results = lab_sweep::results(&manifest, &grid, &store, &cells)?;
        let SweepResults {
            title,
            points,
            runs,
            ..
        } = results;
        let paths = runs.into_iter().map(|run| (run.cell, run.path)).collect();
        let mut found = BTreeMap::new();
        for point in points.iter().filter(|point| !point.numbers.is_empty()) {
            let mut samples = flows(point, &paths, &dir)?;
            // A baseline is compared by its slowdowns alone, and paths take most of the memory.
            for policy in &mut samples.policies {
                policy.paths.clear();
            }
            found.insert(point_name(case, &title, point), samples);
        }
        Ok(found)
    }
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
    let scenario = (title.scenarios > 1).then(|| point.scenario.clone());
    let values = title.axes.iter().zip(&point.values);
    let named = values.map(|(axis, value)| format!("{axis} {value}"));
    let parts: Vec<String> = scenario.into_iter().chain(named).collect();
    if parts.is_empty() {
        return case.to_owned();
    }
    format!("{case}: {}", parts.join(", "))
}
