//! Manifest of a sweep: everything that the numbers of its cells depend on.

use std::collections::{BTreeMap, BTreeSet};

use lab_scenario::{
    Axis, Files, LOAD, Setting, SettingError, Sweep, SweepRecords, SweepTrains, WrittenOut,
};
use lab_units::{Ratio, ratio::ParseRatioError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    grid::{Grid, TooManyCells},
    label::{label, text_of},
};

/// Everything that the numbers of a sweep's cells depend on, so that a process can run a cell from the directory of the
/// sweep alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name of the sweep.
    pub name: String,
    /// Version of the program: its commit or, for a build with uncommitted changes, also the hash of its file.
    pub version: String,
    /// Scenarios, written out.
    pub scenarios: Vec<BaseScenario>,
    /// Axes, in order.
    pub axes: Vec<Axis>,
    /// Labels of the policies to run; empty for all policies of each scenario.
    pub policies: Vec<String>,
    /// Label of the policy that the others are compared with; `None` for the first.
    pub baseline: Option<String>,
    /// Trains of the simulations; `None` for packets.
    pub trains: Option<SweepTrains>,
    /// What is kept of each cell beside its results, which do not depend on it.
    #[serde(default)]
    pub records: SweepRecords,
}

/// Scenario of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaseScenario {
    /// Name of the scenario, as the sweep has it.
    pub name: String,
    /// Keys of the scenario and of those that it extends.
    pub keys: WrittenOut,
    /// Texts of the files that the scenario or a value of an axis names, by path.
    pub files: Files,
}

/// Cell of a sweep: a scenario to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepCell {
    /// Number of the cell in the grid.
    pub number: usize,
    /// Name for messages: the scenario, and the value of each axis.
    pub name: String,
    /// Keys of the scenario.
    pub keys: WrittenOut,
    /// Load, as of `--load`; `None` for that of the scenario.
    pub load: Option<Ratio>,
    /// Texts of the files that the scenario names, by path.
    pub files: Files,
    /// SHA-256, in hexadecimal digits, of everything that the cell's numbers depend on.
    pub identity: String,
}

/// Error of a cell without a scenario.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CellError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("the axis `{LOAD}`: {0}")]
    Load(#[from] ParseRatioError),
}

/// Parts of a cell that its identity is the hash of.
#[derive(Serialize)]
struct Inputs<'a> {
    version: &'a str,
    policies: &'a [String],
    trains: Option<SweepTrains>,
    load: Option<String>,
    keys: &'a WrittenOut,
    files: &'a Files,
}

impl Manifest {
    /// Creates the manifest of `sweep` for the program `version`.
    #[must_use]
    pub fn new(sweep: Sweep, version: String, scenarios: Vec<BaseScenario>) -> Self {
        Self {
            name: sweep.name,
            version,
            scenarios,
            axes: sweep.axes,
            policies: sweep.policies,
            baseline: sweep.baseline,
            trains: sweep.trains,
            records: sweep.records,
        }
    }

    /// Returns the grid of cells.
    ///
    /// # Errors
    /// If it has too many cells.
    pub fn grid(&self) -> Result<Grid<'_>, TooManyCells> {
        Grid::new(self.scenarios.len(), &self.axes)
    }

    /// Returns the cell with the number `number` in `grid`, this manifest's grid.
    ///
    /// # Errors
    /// If a path does not fit the scenario, or a load is none.
    pub fn cell(&self, grid: &Grid<'_>, number: usize) -> Result<SweepCell, CellError> {
        let positions = grid.positions(number);
        let base = &self.scenarios[positions[0]];
        let mut load = None;
        let mut settings = Vec::new();
        for (axis, &at) in self.axes.iter().zip(&positions[1..]) {
            let value = &axis.values[at];
            if axis.is_load() {
                load = Some(text_of(value).parse()?);
            } else {
                let path = &axis.path;
                settings.push(Setting { path, value });
            }
        }
        let keys = base.keys.with(settings)?;
        let files = named(&keys, &base.files);
        let inputs = Inputs {
            version: &self.version,
            policies: &self.policies,
            trains: self.trains,
            load: load.as_ref().map(Ratio::to_string),
            keys: &keys,
            files: &files,
        };
        let text = serde_json::to_vec(&inputs).expect("inputs are plain data");
        let digest = Sha256::digest(text);
        Ok(SweepCell {
            number,
            name: self.name_of(&positions),
            identity: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            keys,
            load,
            files,
        })
    }

    /// Returns the identity of each cell of `grid`, this manifest's grid, or the reason why the cell has no scenario.
    #[must_use]
    pub fn identities(&self, grid: &Grid<'_>) -> Vec<Result<String, String>> {
        let identity = |number| match self.cell(grid, number) {
            Ok(cell) => Ok(cell.identity),
            Err(error) => Err(error.to_string()),
        };
        (0..grid.len()).map(identity).collect()
    }

    /// Returns the name of the cell at `positions`, such as `8dc, load 0.3, seed 1`.
    #[must_use]
    pub fn name_of(&self, positions: &[usize]) -> String {
        let mut name = self.scenarios[positions[0]].name.clone();
        for (axis, &at) in self.axes.iter().zip(&positions[1..]) {
            name += &format!(", {} {}", axis.path, label(axis, at));
        }
        name
    }
}

/// Selects the `files` whose names are in the values of `keys`, or in the texts of selected files.
fn named(keys: &WrittenOut, files: &Files) -> Files {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut texts = vec![keys.json()];
    while let Some(text) = texts.pop() {
        for (path, content) in files {
            // A topology file names its graph file relative to its own folder.
            let name = path.rsplit('/').next().unwrap_or(path);
            if text.contains(name) && found.insert(path) {
                texts.push(content.clone());
            }
        }
    }
    files
        .iter()
        .filter(|(path, _)| found.contains(path.as_str()))
        .map(|(path, text)| (path.clone(), text.clone()))
        .collect::<BTreeMap<_, _>>()
}
