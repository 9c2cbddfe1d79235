//! Process of one cell: simulates its scenario, and writes its results into the sweep's directory.

use std::{fs, num::NonZeroUsize, path::Path, time::Instant};

use lab_kernel::doctor::peak_memory;
use lab_plan::{
    Plan,
    model::{Link, LinkKind},
};
use lab_reports::{
    facts::RunFacts,
    sweep::{CellNetwork, CellNumbers},
};
use lab_scenario::SweepRecords;
use lab_sweep::{CellCost, Manifest, Store, SweepCell};
use nix::sys::signal::Signal;

use super::define;
use crate::{
    args::{Global, Overrides, SimArgs, SimRecordsArg, TrainsArg},
    failure::{Exit, Failure, Outcome},
    load::{self, Loaded},
    parent, terminal,
    verbs::{sim, train},
};

/// Runs the cell `number` of the sweep in the directory `dir` for the process `caller`, and writes its results or its
/// failure there.
pub fn cell(dir: &Path, number: usize, caller: i32, global: &Global) -> Outcome {
    // A cell whose sweep is killed would otherwise go on beside the cells of the next one.
    parent::follow(caller, Signal::SIGKILL)?;
    let store = Store::at(dir);
    let manifest = define::stored(&store)?;
    let grid = manifest.grid().map_err(Failure::usage)?;
    if number >= grid.len() {
        return Err(Failure::usage(format_args!(
            "the sweep has {} cells, numbered from 0",
            grid.len()
        )));
    }
    let cell = manifest.cell(&grid, number).map_err(Failure::usage)?;
    store.forget_failure(&cell.identity)?;
    let since = Instant::now();
    let ended = simulate((&manifest, &store), &cell, global).and_then(|numbers| {
        let cost = CellCost {
            seconds: since.elapsed().as_secs_f64(),
            memory: peak_memory().unwrap_or_default(),
        };
        Ok(store.write(&numbers, cost)?)
    });
    match ended {
        Ok(()) => Ok(Exit::Pass),
        Err(failure) => {
            // Messages about a scenario begin with its name, here the cell's.
            let named = format!("{}: ", cell.name);
            let message = &failure.message;
            let own = message.strip_prefix(&named).unwrap_or(message);
            let own = own.strip_prefix("error: ").unwrap_or(own);
            store.write_failure(&cell.identity, own)?;
            Err(failure)
        }
    }
}

/// Simulates a cell in a run directory in `global.results`, and returns its results. The run directory is moved into the
/// sweep's own if the sweep keeps it.
fn simulate(
    (manifest, store): (&Manifest, &Store),
    cell: &SweepCell,
    global: &Global,
) -> Result<CellNumbers, Failure> {
    let overrides = overrides(manifest, cell);
    let path = Path::new(&cell.name);
    let loaded = train::trained(loaded(cell)?, path, &overrides.policies)?;
    let arguments = SimArgs {
        // Cells share the cores.
        threads: Some(NonZeroUsize::MIN),
        trains: manifest.trains.map(TrainsArg::from),
        records: match manifest.records {
            SweepRecords::Full => SimRecordsArg::Full,
            SweepRecords::Summary | SweepRecords::Flows => SimRecordsArg::Flows,
        },
        ..SimArgs::without_report(overrides)
    };
    let simulation = sim::first(&arguments, path, loaded)?;
    let dir = simulation.run(global)?;
    if terminal::is_interrupted() {
        return Err(Failure::interrupted("a signal interrupted the cell"));
    }
    let run = RunFacts::open(&dir).map_err(|error| Failure::records(&error))?;
    let network = network(&simulation.plan);
    let numbers = CellNumbers::read(&cell.name, &cell.identity, &run, network);
    keep(&dir, manifest.records, store, &cell.identity)?;
    numbers.map_err(|error| Failure::records(&error))
}

/// Moves the run directory `dir` into the sweep's directory, or removes it, as `records` ask.
fn keep(dir: &Path, records: SweepRecords, store: &Store, identity: &str) -> Result<(), Failure> {
    match records {
        SweepRecords::Summary => {
            return fs::remove_dir_all(dir).map_err(|error| Failure::of(&error));
        }
        // The simulation has written no other rows.
        SweepRecords::Flows => {}
        SweepRecords::Full => {
            lab_reports::render(dir).map_err(|error| Failure::report(&error))?;
        }
    }
    Ok(store.keep_run(identity, dir)?)
}

/// Returns the properties of a plan's network that may explain results.
fn network(plan: &Plan) -> CellNetwork {
    let spread = plan.candidate_spread();
    let is_between = |link: &&Link| link.kind == LinkKind::InterDc;
    CellNetwork {
        dcs: plan.dcs.len() as u64,
        links: plan.links.iter().filter(is_between).count() as u64,
        pairs: spread.pairs as u64,
        pairs_with_choice: spread.pairs_with_choice as u64,
        delay_spread: spread.delay,
        capacity_spread: spread.capacity,
    }
}

/// Returns the changes of a cell to its scenario that the command line of `sim` would have.
pub fn overrides(manifest: &Manifest, cell: &SweepCell) -> Overrides {
    Overrides {
        policies: manifest.policies.clone(),
        load: cell.load,
        ..Overrides::default()
    }
}

/// Parses the scenario of a cell.
/// Fails on a scenario that is not valid, with exit code 2.
pub fn loaded(cell: &SweepCell) -> Result<Loaded, Failure> {
    let text = cell.keys.text();
    let scenario = load::parse(&cell.name, text.as_bytes(), &cell.files)?;
    Ok(Loaded {
        scenario,
        text,
        files: cell.files.clone(),
    })
}
