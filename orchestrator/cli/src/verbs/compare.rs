//! `lcmp-lab compare`: runs with a stated difference, per policy and size.

use std::path::Path;

use lab_reports::{
    Change, Estimate, Slowdowns,
    compare::{
        self, Against, CompareError, Comparison, PolicyComparison, Written, change_in_numbers,
        change_in_words, change_text, slowdown_text,
    },
};
use lab_units::show::{self, sides};
use serde::Serialize;

use crate::{
    args::{CompareArgs, Global},
    caller,
    failure::{During, Exit, Failure, Outcome},
    load,
    terminal::{note, print, print_json},
};

/// Result of a comparison, for `--json`.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// `pass`, or `inconclusive` if a run cannot be trusted.
    verdict: Exit,
    /// Exit code of the process.
    exit: u8,
    /// Reasons not to trust the comparison.
    reasons: &'a [String],
    /// The page.
    page: &'a Path,
}

/// Runs `lcmp-lab compare`.
pub fn compare(arguments: &CompareArgs, global: &Global) -> Outcome {
    let comparison = compare::compare(&arguments.runs, &arguments.differs).map_err(failure)?;
    let written = write(&comparison, arguments)?;
    let doubts = doubts(&comparison);
    let exit = if comparison.runs.iter().all(|run| run.problems.is_empty()) {
        Exit::Pass
    } else {
        Exit::Inconclusive
    };
    if global.json {
        print_json(&Output {
            comparison: &comparison,
            verdict: exit,
            exit: exit.code(),
            reasons: &doubts,
            page: &written.html,
        });
    } else {
        print(&text(&comparison));
        print(&format!("page: {}", written.html.display()));
    }
    for line in &doubts {
        note(line);
    }
    Ok(exit)
}

fn write(comparison: &Comparison, arguments: &CompareArgs) -> Result<Written, Failure> {
    let dir = match (&arguments.output, arguments.runs.first()) {
        (Some(dir), _) => dir.clone(),
        (None, Some(first)) => load::absolute(first)?.join(compare::DIR),
        (None, None) => return Err(failure(CompareError::OneRun)),
    };
    caller::check_links(&dir).during(format_args!("use `{}`", dir.display()))?;
    let written = comparison.write(&dir);
    caller::hand_over(&dir);
    written.during(format_args!(
        "write the comparison into `{}`",
        dir.display()
    ))
}

fn failure(error: CompareError) -> Failure {
    let report = match &error {
        CompareError::Report(report) => Some(report),
        _ => None,
    };
    Failure::comparison(&error, report)
}

/// Returns what keeps the runs from being compared in full, a line each.
fn doubts(comparison: &Comparison) -> Vec<String> {
    let problems = comparison.runs.iter().flat_map(|run| {
        let line = |problem| format!("not clean: {}: {problem}", run.name);
        run.problems.iter().map(line)
    });
    let alone = comparison.against.iter().flat_map(|against| {
        let line = |policy| {
            format!(
                "not compared: {policy} is not in both A and {}",
                against.run
            )
        };
        against.in_one_run.iter().map(line)
    });
    problems.chain(alone).collect()
}

/// Returns the runs, their differences, and a table for each run against the first.
fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for run in &comparison.runs {
        text += &format!("{}: {} ({})\n", run.name, run.directory, run.engine);
    }
    for difference in &comparison.differences {
        let head = format!("differs: {}: ", difference.aspect.name());
        text += &show::paragraph(&head, &difference.values.join(" | "));
    }
    for against in &comparison.against {
        text += &table(against);
    }
    text
}

fn table(against: &Against) -> String {
    let heads = [
        format!("{} against A", against.run),
        "flows".to_owned(),
        "p50".to_owned(),
        "change".to_owned(),
        "p99".to_owned(),
        "change".to_owned(),
    ];
    let mut rows = vec![heads];
    let in_words = if against.is_of_two_engines {
        change_in_numbers
    } else {
        change_in_words
    };
    rows.extend(against.policies.iter().map(|policy| row(policy, in_words)));
    let mut text = show::table(0, sides(1), &rows);
    for policy in &against.policies {
        let effects = effects(policy, against.is_of_two_engines);
        if !effects.is_empty() {
            text += &show::paragraph(&format!("{}: ", policy.policy), &effects);
        }
    }
    for note in against.notes() {
        text += &show::paragraph("", &note);
    }
    text
}

/// Function that puts a statistic's change into words, given the number of flows.
type InWords = fn(Option<Estimate>, usize, &str) -> String;

fn row(policy: &PolicyComparison, in_words: InWords) -> [String; 6] {
    let runs = [policy.base, policy.other];
    let flows = runs.map(|it| it.map_or(0, |it| it.flows));
    let none = || "–".to_owned();
    let values = |of: fn(&Slowdowns) -> Option<Estimate>| {
        let value = |it: Slowdowns| {
            let least = if it.at_least { "≥ " } else { "" };
            Some(format!("{least}{}", slowdown_text(of(&it)?.value)))
        };
        match runs.map(|it| it.and_then(value)) {
            [None, None] => none(),
            both => both.map(|it| it.unwrap_or_else(none)).join(" → "),
        }
    };
    let change = |of: fn(&Change) -> Option<Estimate>, name: &str| {
        policy
            .change
            .as_ref()
            .map_or_else(none, |it| in_words(of(it), it.flows, name))
    };
    [
        policy.policy.clone(),
        match flows {
            [base, other] if base == other => base.to_string(),
            [base, other] => format!("{base}, {other}"),
        },
        values(|it| it.p50),
        change(|it| it.p50, "p50"),
        values(|it| it.p99),
        change(|it| it.p99, "p99"),
    ]
}

/// Returns the effect on single flows, and the change as the paper reduces its figures. Between two engines no flow is
/// called faster or slower.
fn effects(policy: &PolicyComparison, is_of_two_engines: bool) -> String {
    let mut text = Vec::new();
    if let Some(paired) = policy.paired.as_ref().filter(|_| !is_of_two_engines) {
        text.push(format!(
            "{:.1} % of flows faster, {:.1} % slower; {} effect (Cliff's delta {:+.2})",
            paired.faster * 100.0,
            paired.slower * 100.0,
            paired.effect.name(),
            paired.cliffs_delta
        ));
    }
    if let Some(paper) = &policy.paper {
        text.push(format!(
            "as in the paper: median-bin p50 {}, worst-bin P99 {}",
            change_text(paper.median_bin_p50),
            change_text(paper.worst_bin_p99)
        ));
    }
    text.join("; ")
}
