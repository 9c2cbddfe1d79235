//! Helpers that make plans from scenario texts.

use std::{fs, path::PathBuf};

use lab_plan::{Plan, PlanError, PlanOptions, resolve};
use lab_scenario::{Files, Scenario};
use lab_units::Engine;

/// Returns the directory of the project's own scenarios.
pub fn scenarios() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Returns the directory of the data files that only these tests use.
fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans/data")
}

/// Reads `text` and the files to which it refers. Their paths are relative to [`data`], or to [`scenarios`] if [`data`]
/// lacks the file.
pub fn read(text: &str) -> (Scenario, Files) {
    let bytes = text.as_bytes();
    let mut files = Files::new();
    while let Some(missing) = lab_scenario::missing_file("test.yaml", bytes, &files).unwrap() {
        let text = text_of(&missing.path);
        files.insert(missing.path, text);
    }
    let scenario = lab_scenario::parse_with("test.yaml", bytes, &files).unwrap();
    for path in lab_scenario::files(&scenario) {
        let text = || text_of(path);
        files.entry(path.to_owned()).or_insert_with(text);
    }
    (scenario, files)
}

/// Returns the text of the file at `path`, which is relative to [`data`], or to [`scenarios`] if [`data`] lacks it.
fn text_of(path: &str) -> String {
    let own = fs::read_to_string(data().join(path));
    own.or_else(|_| fs::read_to_string(scenarios().join(path)))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Plans `text` with `options`.
pub fn try_plan(text: &str, options: &PlanOptions) -> Result<Plan, PlanError> {
    let (scenario, files) = read(text);
    resolve(&scenario, text, &files, options)
}

/// Plans `text` for the simulator, unscaled.
pub fn simulated(text: &str) -> Plan {
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    try_plan(text, &options).unwrap()
}

/// Plans `text` with default options.
pub fn plan(text: &str) -> Plan {
    try_plan(text, &PlanOptions::default()).unwrap()
}

/// Returns the scenario of the paper's testbed with fixed, round scale factors.
pub fn testbed_text() -> String {
    fs::read_to_string(data().join("testbed.yaml")).unwrap()
}

/// Returns the text of the project's scenario `name`.
pub fn scenario_text(name: &str) -> String {
    fs::read_to_string(scenarios().join(name)).unwrap()
}

/// Returns the names and texts of all the project's scenarios.
pub fn every_scenario() -> Vec<(String, String)> {
    let folders = [scenarios(), scenarios().join("paper")];
    let entries = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|it| it == "yaml");
    let mut paths: Vec<PathBuf> = paths.filter(is_yaml).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        // The paper's scenarios name files relative to their own folder.
        let is_papers = path.parent() == Some(&scenarios().join("paper"));
        let folder = if is_papers { "paper/" } else { "" };
        let moved = ["topology", "extends"].iter().fold(text, |text, key| {
            text.replace(&format!("\n{key}: "), &format!("\n{key}: {folder}"))
        });
        (
            path.display().to_string(),
            moved.replace("../workloads/", "workloads/"),
        )
    };
    paths.into_iter().map(read).collect()
}
