//! Scenarios that name other files, whose texts the test has.

use lab_scenario::{Files, Scenario, ScenarioErrors, parse_with};

/// Returns texts by their paths.
pub fn texts(named: &[(&str, &str)]) -> Files {
    let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    named.iter().map(owned).collect()
}

/// Parses the scenario `text`, which problems call `case.yaml`.
pub fn parsed(text: &str, files: &Files) -> Result<Scenario, ScenarioErrors> {
    parse_with("case.yaml", text.as_bytes(), files)
}
