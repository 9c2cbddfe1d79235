//! Process of one Slurm task: runs the cells of the task one after the other.

use std::{env, path::Path};

use lab_sweep::{CellCost, CellQueue, Store};
use lab_units::Bytes;

use crate::{
    failure::{Exit, Failure, Outcome},
    terminal::{self, note},
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
    let job = number("SLURM_ARRAY_JOB_ID")?;
    let owner = store.claim(name, job)?;
    if owner != job {
        note(&format!("the tasks of Slurm job {owner} run these cells"));
        return Ok(Exit::Pass);
    }
    let grid = manifest.grid().map_err(Failure::usage)?;
    let done = store.complete(manifest.records)?;
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
        // If Slurm started the task again while its first node could not be reached, both may run.
        work: store.slurm().join(format!(
            "{name}-{index}.{}.work",
            number("SLURM_RESTART_COUNT").unwrap_or(0)
        )),
        on_death: OnDeath::Note,
    };
    pool.run(&waiting, queue)?;
    if terminal::is_interrupted() {
        return Err(Failure::interrupted(INTERRUPTED));
    }
    Ok(Exit::Pass)
}

/// Message of a task that a signal ended, such as when its node is stopped.
pub const INTERRUPTED: &str = "the task was interrupted";

/// Returns the number that Slurm has set in a variable.
/// Fails if this process is no Slurm task, with exit code 2.
fn number(variable: &str) -> Result<u64, Failure> {
    let value = env::var(variable).ok().and_then(|text| text.parse().ok());
    value.ok_or_else(|| Failure::usage(format_args!("the variable {variable} has no number")))
}
