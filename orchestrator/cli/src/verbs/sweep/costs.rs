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
use lab_sweep::{CellCost, Grid, Manifest, Store, SweepCell};
use lab_units::{Bytes, show::counted};

use super::cell::{loaded, overrides};
use crate::{
    failure::Failure,
    load,
    terminal::{self, note},
    verbs::sim::{Budget, train_length},
};

/// Estimates the costs of the cells `waiting`, planning `jobs` at a time, and keeps the estimates in `store` for the next
/// start. Cells of one point differ in the seed alone and cost the same, so only the first one is planned. A cell that
/// cannot be planned costs nothing, and fails when it runs.
pub fn costs(
    (manifest, grid): (&Manifest, &Grid<'_>),
    store: &Store,
    waiting: &[(usize, &str)],
    jobs: usize,
) -> Result<Vec<(usize, CellCost)>, Failure> {
    let earlier = store.estimates()?;
    let mut known = BTreeMap::new();
    for (number, identity) in waiting {
        if let Some(cost) = earlier.get(*identity) {
            known.insert(grid.point(*number), *cost);
        }
    }
    let mut firsts = BTreeMap::new();
    for (number, _) in waiting {
        let point = grid.point(*number);
        if !known.contains_key(&point) {
            firsts.entry(point).or_insert(*number);
        }
    }
    if !firsts.is_empty() {
        known.extend(estimates((manifest, grid), &firsts, jobs));
        let mut all: BTreeMap<&str, CellCost> = earlier
            .iter()
            .map(|(identity, cost)| (identity.as_str(), *cost))
            .collect();
        for (number, identity) in waiting {
            all.extend(
                known
                    .get(&grid.point(*number))
                    .map(|cost| (*identity, *cost)),
            );
        }
        store.write_estimates(&all)?;
    }
    let nothing = CellCost {
        seconds: 0.0,
        memory: Bytes::ZERO,
    };
    let cost = |number| known.get(&grid.point(number)).copied();
    let costs = waiting
        .iter()
        .map(|&(number, _)| (number, cost(number).unwrap_or(nothing)));
    Ok(costs.collect())
}

/// Estimates what the cells `firsts`, by point, cost. Leaves out cells that cannot be planned, and those that an interrupt
/// came before.
fn estimates(
    (manifest, grid): (&Manifest, &Grid<'_>),
    firsts: &BTreeMap<Vec<usize>, usize>,
    jobs: usize,
) -> Vec<(Vec<usize>, CellCost)> {
    if firsts.len() > MANY_POINTS {
        let points = counted(firsts.len() as u64, "point");
        note(&format!("estimating the cost of {points}"));
    }
    let waiting: Vec<_> = firsts.iter().collect();
    let next = AtomicUsize::new(0);
    let estimate_points = || {
        let mut costs = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(point, &number)) = waiting.get(at).filter(|_| !terminal::is_interrupted())
            else {
                return costs;
            };
            let cell = manifest.cell(grid, number).ok();
            let cost = cell.and_then(|cell| estimate(manifest, &cell).ok());
            costs.extend(cost.map(|cost| (point.clone(), cost)));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.min(waiting.len()))
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
