//! Results of a sweep from its directory.

use std::collections::BTreeMap;

use lab_records::Grade;
use lab_reports::{
    sweep::{CellNumbers, CellProblem, CellRun, PointCells, SweepTitle},
    words,
};
use lab_scenario::SweepTrains;

use crate::{
    grid::Grid,
    label::label,
    manifest::Manifest,
    store::{Store, StoreError, kept_at},
    table::CellTable,
};

/// Results of a sweep's cells, as far as they have ended.
#[derive(Debug)]
pub struct SweepResults<'a> {
    /// Description of the sweep.
    pub title: SweepTitle,
    /// Number of cells in the grid.
    pub cells: usize,
    /// Number of cells with results and the records asked for.
    pub done: usize,
    /// Points of the grid, in the order of their first cells.
    pub points: Vec<PointCells>,
    /// Cells that failed, and cells whose results are not valid.
    pub problems: Vec<CellProblem>,
    /// Run directories of the cells that have one.
    pub runs: Vec<CellRun>,
    /// Results of all cells, with those that are not valid.
    pub table: CellTable<'a>,
}

/// Reads the results of the cells of `manifest` from `store`; `identities` has each cell's identity, or the reason why it
/// has no scenario. Cells that have not ended are left out.
///
/// # Errors
/// If a file cannot be read.
pub fn results<'a>(
    manifest: &'a Manifest,
    grid: &Grid<'_>,
    store: &Store,
    identities: &[Result<String, String>],
) -> Result<SweepResults<'a>, StoreError> {
    let failed = store.failed()?;
    let mut points: Vec<PointCells> = Vec::new();
    let mut known = BTreeMap::new();
    let mut problems = Vec::new();
    let mut done = 0;
    let mut runs = Vec::new();
    let mut table = CellTable::new(manifest);
    for (number, identity) in identities.iter().enumerate() {
        let at = grid.point(number);
        let index = *known.entry(at).or_insert_with_key(|at| {
            points.push(empty_point(manifest, grid, at));
            points.len() - 1
        });
        let point = &mut points[index];
        point.cells += 1;
        let name = || manifest.name_of(&grid.positions(number));
        let failure = |problem| CellProblem {
            cell: name(),
            problem,
            is_failed: true,
        };
        let identity = match identity {
            Ok(identity) => identity,
            Err(message) => {
                problems.push(failure(message.clone()));
                continue;
            }
        };
        let numbers = match store.numbers(identity) {
            Err(error) if error.is_damage() => {
                let hint = "(hint: the command that made the sweep makes it again)";
                problems.push(failure(format!("{error} {hint}")));
                continue;
            }
            numbers => numbers?,
        };
        if let Some(numbers) = numbers {
            let records = manifest.records;
            if store.has_records(identity, records) {
                done += 1;
                runs.extend(kept_at(identity, records).map(|path| CellRun { cell: name(), path }));
            } else if failed.contains(identity) {
                // The cell ran again for its records.
                problems.extend(store.failure(identity)?.map(failure));
            }
            table.push(grid, number, &numbers);
            problems.extend(doubt(name, &numbers));
            // Results of an invalid run are not those of its scenario.
            if numbers.verdict != Grade::Invalid {
                point.numbers.push(numbers);
            }
        } else if failed.contains(identity) {
            problems.extend(store.failure(identity)?.map(failure));
        }
    }
    let title = SweepTitle {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        method: match manifest.trains {
            None => "packet by packet".to_owned(),
            Some(SweepTrains::Default) => "trains of packets".to_owned(),
            Some(SweepTrains::Packets(length)) => format!("trains of up to {length} packets"),
        },
        axes: grid
            .point_axes()
            .map(|axis| axis.path.to_string())
            .collect(),
        scenarios: manifest.scenarios.len(),
    };
    Ok(SweepResults {
        title,
        cells: identities.len(),
        done,
        points,
        problems,
        runs,
        table,
    })
}

fn empty_point(manifest: &Manifest, grid: &Grid<'_>, at: &[usize]) -> PointCells {
    let axes = grid.point_axes().zip(&at[1..]);
    PointCells {
        scenario: manifest.scenarios[at[0]].name.clone(),
        values: axes.map(|(axis, &at)| label(axis, at)).collect(),
        cells: 0,
        numbers: Vec::new(),
    }
}

/// Returns the problem of a cell whose results are not valid.
fn doubt(cell: impl FnOnce() -> String, numbers: &CellNumbers) -> Option<CellProblem> {
    let reasons: Vec<String> = numbers.reasons.iter().map(words::reason).collect();
    (numbers.verdict != Grade::Valid).then(|| CellProblem {
        cell: cell(),
        problem: format!("{}: {}", numbers.verdict, reasons.join("; ")),
        is_failed: false,
    })
}
