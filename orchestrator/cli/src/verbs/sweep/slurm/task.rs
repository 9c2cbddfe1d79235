//! Process of one Slurm task: runs the cells of the task one after the other.

use std::path::{Path, PathBuf};

use lab_sweep::{CellCost, CellQueue, Store};
use lab_units::Bytes;

use crate::{
    failure::{Exit, Failure, Outcome},
    terminal,
    verbs::sweep::{
        define,
        pool::{OnDeath, Pool},
    },
};

/// Runs the cells of the task `index` of the array `name` that have no results yet. A task that Slurm started again
/// goes on where it was.
/// Fails if the sweep or the program is not the one that submitted the task, with exit code 2.
pub fn task(dir: &Path, name: &str, index: usize) -> Outcome {
    let store = Store::at(dir);
    let manifest = define::stored(&store)?;
    let version = define::version()?;
    if version != manifest.version {
        return Err(Failure::usage(format_args!(
            "the sweep is of lcmp-lab {}, but this node has {version}",
            manifest.version
        )));
    }
    let array = store.array(name)?;
    let cells = array.and_then(|array| array.tasks.into_iter().nth(index));
    let Some(cells) = cells else {
        return Err(Failure::usage(format_args!(
            "the sweep has no task {index} of the array `{name}`"
        )));
    };
    let grid = manifest.grid().map_err(Failure::usage)?;
    let done = store.done()?;
    let mut waiting = Vec::new();
    for cell in cells.iter().filter(|cell| !done.contains(&cell.identity)) {
        let is_own = cell.number < grid.len()
            && manifest
                .cell(&grid, cell.number)
                .is_ok_and(|own| own.identity == cell.identity);
        if !is_own {
            return Err(Failure::usage(
                "the definition of the sweep has changed since the task was submitted",
            ));
        }
        waiting.push((cell.number, cell.identity.as_str()));
    }
    // A single cell runs at a time, so neither its time nor its memory matters.
    let free = CellCost {
        seconds: 0.0,
        memory: Bytes::ZERO,
    };
    let queue = CellQueue::new(waiting.iter().map(|(number, _)| (*number, free)).collect());
    let pool = Pool {
        manifest: &manifest,
        grid: &grid,
        store: &store,
        jobs: 1,
        work: work(&store, name, index),
        on_death: OnDeath::Note,
    };
    pool.run(&waiting, queue)?;
    if terminal::is_interrupted() {
        return Err(Failure::interrupted("the task was interrupted"));
    }
    Ok(Exit::Pass)
}

/// Returns the folder with the run directories of a task's cells.
pub fn work(store: &Store, name: &str, index: usize) -> PathBuf {
    store.slurm().join(format!("{name}-{index}.work"))
}
