//! Table of outcomes in the README of the scenarios.

use std::{collections::BTreeMap, env, fmt::Write, fs};

use super::{Mode, Outcome, Outcomes};

/// Checks that the README contains the table of `outcomes`. If `UPDATE_SETTINGS` is set, writes the table instead.
pub(super) fn is_in_the_readme(outcomes: &Outcomes) {
    let text = fs::read_to_string(README).expect("the README");
    let (before, rest) = text
        .split_once(START)
        .expect("the README has the start of the table");
    let (_, after) = rest
        .split_once(END)
        .expect("the README has the end of the table");
    let current = format!("{before}{START}\n{}{END}{after}", rendered(outcomes));
    if env::var_os("UPDATE_SETTINGS").is_some() {
        fs::write(README, &current).expect("the README can be written");
        return;
    }
    assert!(
        text == current,
        "the table of settings in scenarios/README.md is out of date (hint: UPDATE_SETTINGS=1 cargo test -p lab-kernel settings)"
    );
}

/// Formats the outcomes as a table in Markdown: for each mapping, one line for all keys with the same outcomes.
fn rendered(outcomes: &Outcomes) -> String {
    let mut lines: BTreeMap<(&str, &[Outcome; 3]), Vec<&str>> = BTreeMap::new();
    for (key, outcomes) in outcomes {
        let (mapping, last) = key.rsplit_once('.').unwrap_or(("", key));
        lines.entry((mapping, outcomes)).or_default().push(last);
    }
    let titles = Mode::ALL.map(Mode::title).join(" | ");
    let mut text = format!("| in | keys | {titles} |\n|---|---|---|---|---|\n");
    for ((mapping, outcomes), keys) in lines {
        let mapping = match mapping {
            "" => String::new(),
            _ => format!("`{mapping}`"),
        };
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        let [sim, scaled, lab] = outcomes;
        let _ = writeln!(
            text,
            "| {mapping} | {} | {sim} | {scaled} | {lab} |",
            keys.join(", ")
        );
    }
    text
}

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/README.md");
const START: &str = "<!-- settings -->";
const END: &str = "<!-- end of settings -->";
