//! `lcmp-lab sweep`: runs the cells of a sweep that have no results yet, and shows what all results say.
//!
//! - `define`: from a sweep file or a scenario and the command line to a manifest
//! - `costs`: estimates of what cells cost
//! - `pool`: processes on this machine that run cells
//! - `slurm`: tasks of Slurm that run cells
//! - `cell`: the process of one cell
//! - `survey`: what a sweep over networks says about each policy
//! - `meter`: progress

mod cell;
mod costs;
mod define;
mod meter;
mod pool;
mod slurm;
mod survey;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, TryLockError},
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use lab_reports::sweep::SweepAnswer;
use lab_sweep::{CellQueue, CellTable, Grid, Manifest, Store, SweepResults};
use lab_units::show::counted;

pub use self::{
    cell::{cell, loaded},
    define::{manifest, results},
    slurm::task,
};
use self::{
    pool::{OnDeath, Pool},
    slurm::Controller,
};
use super::conclude::{conclude, write_page};
use crate::{
    args::{self, Global, SweepArgs, SweepPlace, SweepVerb},
    caller,
    failure::{During, Exit, Failure, Outcome},
    terminal::{self, note},
};

/// Runs `lcmp-lab sweep`.
pub fn sweep(arguments: &SweepArgs, global: &Global) -> Outcome {
    match &arguments.verb {
        Some(SweepVerb::Status { dir }) => status(dir, global.json),
        Some(SweepVerb::Survey(arguments)) => survey::survey(arguments, global.json),
        Some(SweepVerb::Cancel { dir }) => {
            let store = Store::at(dir);
            if store.arrays()?.is_empty() {
                define::stored(&store)?;
            }
            let lock = lock(&store);
            slurm::cancel(&store, lock.is_err())?;
            Ok(Exit::Pass)
        }
        None => run(arguments, global),
    }
}

/// Runs the cells without results, and shows the results of all cells.
fn run(arguments: &SweepArgs, global: &Global) -> Outcome {
    let manifest = manifest(arguments)?;
    let dir = match &arguments.output {
        Some(dir) => dir.clone(),
        None => global.results.join(format!("sweep-{}", manifest.name)),
    };
    let sweep = LockedSweep::open(&manifest, &dir, arguments.on.is_some())?;
    // Cells that a signal or a user ended leave the results of the others.
    let ran = match sweep.run(arguments) {
        Err(failure) if failure.exit != Exit::Inconclusive => return Err(failure),
        ran => ran,
    };
    let results = lab_sweep::results(&manifest, &sweep.grid, &sweep.store, &sweep.cells);
    let shown = results.map_err(Failure::from).and_then(|results| {
        let (table, answer) = answer(&manifest, results);
        let written = write(&sweep.store, &table, &answer);
        let shown = conclude(&answer, written.as_deref().ok(), global.json);
        written.and(shown)
    });
    caller::hand_over(sweep.store.dir());
    if terminal::is_interrupted() {
        return Err(Failure::interrupted(
            "the sweep was interrupted (hint: the same command goes on with the cells that are left)",
        ));
    }
    ran?;
    shown
}

/// Runs the cells of `manifest` without results in the directory `dir` on this machine, and returns the results of all
/// cells. Fails with exit code 4 on a signal.
pub fn run_in<'a>(
    manifest: &'a Manifest,
    arguments: &SweepArgs,
    dir: &Path,
) -> Result<SweepResults<'a>, Failure> {
    let sweep = LockedSweep::open(manifest, dir, false)?;
    sweep.run(arguments)?;
    caller::hand_over(sweep.store.dir());
    if terminal::is_interrupted() {
        return Err(Failure::interrupted("the sweep was interrupted"));
    }
    Ok(lab_sweep::results(
        manifest,
        &sweep.grid,
        &sweep.store,
        &sweep.cells,
    )?)
}

/// Sweep in a directory that this process has locked.
struct LockedSweep<'a> {
    manifest: &'a Manifest,
    grid: Grid<'a>,
    /// Identity of each cell, or the reason why it has no scenario.
    cells: Vec<Result<String, String>>,
    store: Store,
    _lock: File,
}

impl<'a> LockedSweep<'a> {
    /// Checks the cells of `manifest`, and opens the sweep's directory `dir`, which is created if it is missing.
    fn open(manifest: &'a Manifest, dir: &Path, is_on_slurm: bool) -> Result<Self, Failure> {
        let grid = manifest.grid().map_err(Failure::usage)?;
        let cells = manifest.identities(&grid);
        if let Some(Err(refused)) = cells.first().filter(|_| cells.iter().all(Result::is_err)) {
            return Err(Failure::usage(refused));
        }
        refuse_copies(manifest, &grid, &cells)?;
        let resolved = caller::resolved(dir).during(format_args!("use `{}`", dir.display()))?;
        if let Some(name) = Store::at(&resolved).foreign_file()? {
            return Err(Failure::usage(format_args!(
                "`{}` has the file `{name}` and is not the directory of a sweep (hint: choose a new directory)",
                dir.display()
            )));
        }
        let store = Store::create(&resolved)?;
        let lock = lock(&store)?;
        slurm::check_tasks(&store, manifest, is_on_slurm)?;
        remove_damaged(&store, &cells)?;
        note_others(&store, manifest, &cells)?;
        store.write_manifest(manifest)?;
        Ok(Self {
            manifest,
            grid,
            cells,
            store,
            _lock: lock,
        })
    }

    /// Runs the cells without results, on this machine or on Slurm.
    fn run(&self, arguments: &SweepArgs) -> Result<(), Failure> {
        let Self {
            manifest,
            grid,
            store,
            ..
        } = self;
        let done = store.complete(manifest.records)?;
        let waiting: Vec<(usize, &str)> = self
            .cells
            .iter()
            .enumerate()
            .filter_map(|(number, cell)| Some((number, cell.as_deref().ok()?)))
            .filter(|(_, identity)| !done.contains(*identity))
            .collect();
        let costs = |jobs| costs::costs((manifest, grid), store, &waiting, jobs);
        if arguments.on == Some(SweepPlace::Slurm) {
            if waiting.is_empty() && store.arrays()?.is_empty() {
                return Ok(());
            }
            let costs = costs(args::threads(None))?;
            let by_number: BTreeMap<_, _> = costs.iter().copied().collect();
            let at_a_time = arguments.jobs.map(NonZeroUsize::get);
            let options = (&arguments.slurm, at_a_time);
            return Controller::new((manifest, store), options, &waiting, costs)?.run(&by_number);
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let jobs = args::threads(arguments.jobs);
        let pool = Pool {
            manifest,
            grid,
            store,
            jobs,
            work: store.dir().join(WORK),
            on_death: OnDeath::Fail,
        };
        pool.run(&waiting, CellQueue::new(costs(jobs)?))
    }
}

/// Folder in a sweep's directory with the run directories and logs of cells that run on this machine.
const WORK: &str = "work";

/// Shows the results of a sweep's directory, whose cells may still be running.
fn status(dir: &Path, json: bool) -> Outcome {
    let store = Store::at(dir);
    let manifest = define::stored(&store)?;
    let grid = manifest.grid().map_err(Failure::usage)?;
    let cells = manifest.identities(&grid);
    slurm::describe(&store)?;
    let results = lab_sweep::results(&manifest, &grid, &store, &cells)?;
    let (table, answer) = answer(&manifest, results);
    // A directory in which nothing can be written can still be looked at.
    match write(&store, &table, &answer) {
        Ok(page) => conclude(&answer, Some(&page), json),
        Err(failure) => {
            note(&format!("no page is written: {}", failure.message));
            conclude(&answer, None, json)
        }
    }
}

/// Returns the table of all results of a sweep, and what they say.
fn answer<'a>(manifest: &Manifest, results: SweepResults<'a>) -> (CellTable<'a>, SweepAnswer) {
    let answer = SweepAnswer::new(
        results.title,
        [results.cells, results.done],
        &results.points,
        results.problems,
        results.runs,
        manifest.baseline.as_deref(),
    );
    (results.table, answer)
}

/// Writes a sweep's table and its page, and returns the path of the page.
fn write(store: &Store, table: &CellTable<'_>, answer: &SweepAnswer) -> Result<PathBuf, Failure> {
    let written = table.write(&store.dir().join(TABLE));
    written.map_err(|error| Failure::records(&error))?;
    write_page(answer, store.dir())
}

/// Name of the table of all results in a sweep's directory.
const TABLE: &str = "cells.parquet";

/// Checks that no two cells are the same, such as those of the loads 0.3 and 30 %.
/// Fails with exit code 2.
fn refuse_copies(
    manifest: &Manifest,
    grid: &Grid<'_>,
    cells: &[Result<String, String>],
) -> Result<(), Failure> {
    let mut known = BTreeMap::new();
    for (number, cell) in cells.iter().enumerate() {
        let Ok(identity) = cell else { continue };
        if let Some(first) = known.insert(identity, number) {
            let [first, second] = [first, number].map(|it| manifest.name_of(&grid.positions(it)));
            return Err(Failure::usage(format_args!(
                "two cells of the sweep are the same: `{first}` and `{second}`"
            )));
        }
    }
    Ok(())
}

/// Removes results of `cells` that are damaged, so that these cells run again.
fn remove_damaged(store: &Store, cells: &[Result<String, String>]) -> Result<(), Failure> {
    // Tasks on Slurm may replace a file between its look and its removal.
    if !store.arrays()?.is_empty() {
        return Ok(());
    }
    let own = cells.iter().filter_map(|cell| cell.as_deref().ok());
    let removed = store.remove_damaged(own)?;
    if removed > 0 {
        let results = counted(removed as u64, "damaged result");
        note(&format!("removed {results}: cells with them run again"));
    }
    Ok(())
}

/// Says how many cells have results already, and how many results in the directory belong to no cell.
fn note_others(
    store: &Store,
    manifest: &Manifest,
    cells: &[Result<String, String>],
) -> Result<(), Failure> {
    let own: BTreeSet<&String> = cells.iter().filter_map(|cell| cell.as_ref().ok()).collect();
    let done = store.done()?;
    let count = |cells: &BTreeSet<String>| cells.iter().filter(|it| own.contains(it)).count();
    let found = count(&done);
    let again = match found - count(&store.complete(manifest.records)?) {
        0 => String::new(),
        again => format!("; {again} of these run again, for the records asked for"),
    };
    note(&format!(
        "{found} of {} cells have results in {}{again}",
        cells.len(),
        store.dir().display()
    ));
    let others = done.len() - found;
    if others == 0 {
        return Ok(());
    }
    let why = match store.manifest() {
        Ok(Some(earlier)) if earlier.version != manifest.version => format!(
            ": the last sweep there was of lcmp-lab {}, this is {}",
            earlier.version, manifest.version
        ),
        _ => String::new(),
    };
    note(&format!(
        "{others} other results in the directory belong to earlier definitions of this sweep and are not used{why}"
    ));
    Ok(())
}

/// Locks the directory of `store` until the result is dropped, so that no two processes run its cells.
fn lock(store: &Store) -> Result<File, Failure> {
    let path = store.lock();
    let file = lab_files::append(&path).during(format_args!("open `{}`", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::usage(format_args!(
            "another process runs the sweep in `{}` (hint: `lcmp-lab sweep status` shows its results so far)",
            store.dir().display()
        ))),
        Err(TryLockError::Error(error)) => {
            Err(error).during(format_args!("lock `{}`", path.display()))
        }
    }
}
