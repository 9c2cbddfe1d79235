//! Table with the errors of trains, made again for one of its scenarios.

mod common;

use std::fs;

use common::{lcmp_lab, root};
use serde_json::Value;

/// On 13dc.yaml, p50 and p99 change by trains as the table says.
#[test]
fn the_table_has_the_errors_of_trains() {
    let readme = fs::read_to_string(root().join("orchestrator/sim/README.md")).unwrap();
    let cells = |start: &str| -> Vec<String> {
        let row = readme.lines().find(|line| line.starts_with(start));
        let cells = row.expect("a row").split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let columns = cells("| scenario | trains |");
    let expected = cells("| `13dc` |");
    let scenario = root().join("scenarios/13dc.yaml");
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["bench", "trains", scenario.to_str().unwrap(), "--json"];
    let out = lcmp_lab(folder.path(), &arguments);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let trials: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(expected[2], trials["trains"].to_string());
    let policies = trials["policies"].as_array().unwrap();
    for trial in policies {
        let policy = trial["policy"].as_str().unwrap();
        let label = format!("`{policy}`");
        let column = columns.iter().position(|name| *name == label);
        let change = ["p50", "p99"].map(|percentile| {
            let change = trial["change"][percentile].as_f64().unwrap();
            percent(change)
        });
        assert_eq!(expected[column.unwrap()], change.join(" / "), "{policy}");
    }
    assert!(policies.len() >= 5, "{} policies", policies.len());
}

fn percent(change: f64) -> String {
    let shown = format!("{:+.1}", change * 100.0);
    match shown.as_str() {
        "+0.0" | "-0.0" => "0.0".to_owned(),
        _ => shown.replace('-', "−"),
    }
}
