//! Estimates of what cells cost.

use std::{
    collections::BTreeMap,
    panic::resume_unwind,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use lab_plan::{Engine, PlanOptions};
use lab_scenario::PolicySpec;
use lab_sweep::{CellCost, Grid, Manifest, SweepCell};
use lab_units::{Bytes, show::counted};

use super::cell::{loaded, overrides};
use crate::{
    failure::Failure,
    load,
    terminal::{self, note},
    verbs::sim::{Budget, train_length},
};

/// Estimates the costs of the cells `waiting`, planning `jobs` at a time. Cells of one point differ in the seed alone
/// and cost the same, so only the first one is planned. A cell that cannot be planned costs nothing, and fails when it
/// runs.
pub fn costs(
    manifest: &Manifest,
    grid: &Grid<'_>,
    waiting: &[(usize, &str)],
    jobs: usize,
) -> Vec<(usize, CellCost)> {
    let mut points: Vec<Vec<usize>> = Vec::new();
    let mut known = BTreeMap::new();
    for (number, _) in waiting {
        let index = *known.entry(grid.point(*number)).or_insert(points.len());
        if index == points.len() {
            points.push(Vec::new());
        }
        points[index].push(*number);
    }
    if points.len() > MANY_POINTS {
        note(&format!(
            "estimating the cost of {}",
            counted(points.len() as u64, "point")
        ));
    }
    let next = AtomicUsize::new(0);
    let estimate_points = || {
        let mut costs = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(cells) = points.get(at).filter(|_| !terminal::is_interrupted()) else {
                return costs;
            };
            let first = manifest.cell(grid, cells[0]).ok();
            let planned = first.and_then(|cell| estimate(manifest, &cell).ok());
            let cost = planned.unwrap_or(CellCost {
                seconds: 0.0,
                memory: Bytes::ZERO,
            });
            costs.extend(cells.iter().map(|&number| (number, cost)));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.min(points.len()))
            .map(|_| scope.spawn(estimate_points))
            .collect();
        let costs = workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        costs.collect()
    })
}

/// Number of points from which the estimation is announced.
const MANY_POINTS: usize = 50;

/// Estimates what `cell` costs.
/// Fails if the cell's scenario cannot be planned.
fn estimate(manifest: &Manifest, cell: &SweepCell) -> Result<CellCost, Failure> {
    let overrides = overrides(manifest, cell);
    let path = Path::new(&cell.name);
    let mut loaded = loaded(cell)?;
    // Weights that are not trained yet do not change the estimate, and an empty text can be planned.
    for policy in &loaded.scenario.policies {
        if let PolicySpec::Trained(spec) = policy {
            let file = spec.file().map(String::from);
            loaded.files.extend(file.map(|file| (file, String::new())));
        }
    }
    let options = PlanOptions {
        is_scaled: false,
        ..load::options(&overrides, Engine::Sim)?
    };
    let plan = load::resolve(&loaded.first_run(&overrides), path, &options)?;
    let train = match manifest.trains {
        None => 1,
        Some(trains) => train_length::or_packets(trains.into(), &plan)?,
    };
    let budget = Budget::of(&plan, None, train)?;
    Ok(CellCost {
        seconds: budget.seconds() + START,
        memory: budget.memory() + PROCESS,
    })
}

/// Time in seconds and memory of a cell's process besides its simulations.
const START: f64 = 0.05;
const PROCESS: Bytes = Bytes::new(50_000_000);
