//! Table of the results of all cells, for tools that read Parquet.

use std::path::Path;

use lab_records::{RecordsError, Texts, Values, parquet_table};
use lab_reports::sweep::{CellNumbers, DrawSlowdowns};

use crate::{grid::Grid, label::labels, manifest::Manifest};

/// Table with a row for each cell, policy, selection of flows and repetition.
#[derive(Debug)]
pub struct CellTable<'a> {
    manifest: &'a Manifest,
    rows: Vec<CellRow>,
}

#[derive(Debug)]
struct CellRow {
    /// Position of the scenario, followed by that of each axis's value.
    positions: Vec<usize>,
    identity: String,
    verdict: String,
    policy: String,
    /// Selection of flows: `all` or `with-choice`.
    slice: &'static str,
    unfinished: u64,
    draw: DrawSlowdowns,
}

impl<'a> CellTable<'a> {
    /// Creates the table of a sweep, without rows.
    #[must_use]
    pub const fn new(manifest: &'a Manifest) -> Self {
        Self {
            manifest,
            rows: Vec::new(),
        }
    }

    /// Adds the results of the cell with the number `number` in `grid`.
    pub(crate) fn push(&mut self, grid: &Grid<'_>, number: usize, numbers: &CellNumbers) {
        for policy in &numbers.policies {
            for (slice, draws) in [("all", &policy.all), ("with-choice", &policy.with_choice)] {
                self.rows.extend(draws.iter().map(|draw| CellRow {
                    positions: grid.positions(number),
                    identity: numbers.identity.clone(),
                    verdict: numbers.verdict.to_string(),
                    policy: policy.policy.clone(),
                    slice,
                    unfinished: policy.unfinished,
                    draw: *draw,
                }));
            }
        }
    }

    /// Writes the table to `path`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RecordsError> {
        let rows = || self.rows.iter();
        let counts =
            |of: fn(&CellRow) -> u64| Values::Integers(rows().map(|row| Some(of(row))).collect());
        let numbers = |of: fn(&CellRow) -> Option<f64>| Values::Floats(rows().map(of).collect());
        let texts = |of: fn(&CellRow) -> &str| Values::Texts(rows().map(of).collect());
        let scenarios = &self.manifest.scenarios;
        let scenario = rows().map(|row| scenarios[row.positions[0]].name.as_str());
        let mut columns = vec![("scenario".to_owned(), Values::Texts(scenario.collect()))];
        for (at, axis) in self.manifest.axes.iter().enumerate() {
            let labels = labels(axis);
            let values: Texts = rows()
                .map(|row| labels[row.positions[at + 1]].as_str())
                .collect();
            columns.push((axis.path.to_string(), Values::Texts(values)));
        }
        columns.extend(
            [
                ("policy", texts(|row| &row.policy)),
                ("slice", texts(|row| row.slice)),
                ("repetition", counts(|row| row.draw.repetition.into())),
                ("flows", counts(|row| row.draw.flows)),
                ("p50", numbers(|row| row.draw.p50)),
                ("p99", numbers(|row| row.draw.p99)),
                ("mean", numbers(|row| row.draw.mean)),
                ("unfinished", counts(|row| row.unfinished)),
                ("verdict", texts(|row| &row.verdict)),
                ("identity", texts(|row| &row.identity)),
            ]
            .map(|(name, values)| (name.to_owned(), values)),
        );
        parquet_table::write(path, &columns)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use lab_records::Grade;
    use lab_reports::sweep::{CellNetwork, CellPolicy};
    use lab_scenario::Axis;
    use parquet::file::reader::SerializedFileReader;

    use super::*;

    fn draw(repetition: u32, p99: Option<f64>) -> DrawSlowdowns {
        DrawSlowdowns {
            repetition,
            flows: 2_000,
            p50: Some(1.25),
            p99,
            mean: None,
            p50_without_window: None,
            p99_without_window: None,
        }
    }

    #[test]
    fn a_row_is_a_repetition_of_a_policy_in_a_cell() {
        let axes: Vec<Axis> = ["load=0.3,0.8", "seed=1..2"]
            .map(|it| it.parse().unwrap())
            .into();
        let scenario = serde_json::json!({ "name": "8dc", "keys": {}, "files": {} });
        let manifest: Manifest = serde_json::from_value(serde_json::json!({
            "name": "grid", "version": "1", "scenarios": [scenario], "axes": axes, "policies": [],
            "baseline": null, "trains": null,
        }))
        .unwrap();
        let grid = manifest.grid().unwrap();
        let mut table = CellTable::new(&manifest);
        let numbers = CellNumbers {
            cell: "8dc".to_owned(),
            identity: "abc".to_owned(),
            plan: String::new(),
            verdict: Grade::Valid,
            reasons: Vec::new(),
            flows: 4_000,
            flows_with_choice: Some(2_000),
            network: CellNetwork::default(),
            policies: vec![CellPolicy {
                policy: "ecmp".to_owned(),
                unfinished: 3,
                busiest: None,
                mechanism: None,
                all: vec![draw(0, Some(4.5)), draw(1, None)],
                with_choice: vec![draw(0, Some(5.5))],
            }],
        };
        // The third cell has the second load and the first seed.
        table.push(&grid, 2, &numbers);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cells.parquet");
        table.write(&path).unwrap();
        let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let rows: Vec<String> = file
            .into_iter()
            .map(|row| row.unwrap().to_string())
            .collect();
        let row = |slice: &str, repetition: u32, p99: &str| {
            format!(
                "{{scenario: \"8dc\", load: \"0.8\", seed: \"1\", policy: \"ecmp\", slice: \"{slice}\", \
                 repetition: {repetition}, flows: 2000, p50: 1.25, p99: {p99}, mean: null, unfinished: 3, \
                 verdict: \"valid\", identity: \"abc\"}}"
            )
        };
        let expected = [
            row("all", 0, "4.5"),
            row("all", 1, "null"),
            row("with-choice", 0, "5.5"),
        ];
        assert_eq!(rows, expected);
    }
}
