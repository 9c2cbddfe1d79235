//! `lcmp-lab coverage`: how often a run's intervals contain the true value.

use std::path::Path;

use lab_reports::coverage::{self, Coverage, CoverageError, CoverageRow, Study};
use lab_units::show::{self, sides};
use serde::Serialize;

use crate::{
    args::{CoverageArgs, Global},
    failure::{Exit, Failure, Outcome},
    terminal::{note, print, print_json},
};

/// Result of a study of how often confidence intervals contain the true value, for `--json`.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    coverage: &'a Coverage,
    /// Share of confidence intervals that contain the true value, the minimum over all rows of the table.
    least_held: f64,
    /// `fail` if `least_held` is below `--min`, else `pass`.
    verdict: Exit,
    /// Exit code of the process.
    exit: u8,
    /// Path of the run directory.
    run: &'a Path,
}

/// Runs `lcmp-lab coverage`.
pub fn coverage(arguments: &CoverageArgs, global: &Global) -> Outcome {
    let study = Study {
        repetitions: usize::from(arguments.group),
        groups: usize::from(arguments.groups),
    };
    let coverage = coverage::coverage(&arguments.run, study).map_err(|error| failure(&error))?;
    let least = coverage.least_held();
    let min = f64::from(arguments.min) / 100.0;
    let exit = if least >= min {
        Exit::Pass
    } else {
        Exit::Failed
    };
    if global.json {
        print_json(&Output {
            coverage: &coverage,
            least_held: least,
            verdict: exit,
            exit: exit.code(),
            run: &arguments.run,
        });
    } else {
        print(&text(&coverage));
    }
    if exit == Exit::Failed {
        note(&format!(
            "in one row of the table, only {} of the confidence intervals contain the true value, fewer than {} \
             (hint: more repetitions)",
            percent(least),
            percent(min),
        ));
    }
    Ok(exit)
}

fn failure(error: &CoverageError) -> Failure {
    match error {
        CoverageError::Report(report) => Failure::comparison(error, Some(report)),
        CoverageError::NotValid { .. } => Failure {
            exit: Exit::Inconclusive,
            ..Failure::usage(error)
        },
        CoverageError::SmallGroup(_)
        | CoverageError::FewRepetitions { .. }
        | CoverageError::FewFlows { .. } => Failure::usage(error),
    }
}

/// Returns the table of a coverage study, with an explanation of the table's columns.
fn text(coverage: &Coverage) -> String {
    let first = coverage.rows.first().map_or("", |row| &row.policy);
    let heads = [
        "holds",
        "",
        "value",
        "A/A",
        "−10 %",
        "−20 %",
        "wrong",
        &format!("against {first}"),
        "wrong",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(coverage.rows.iter().map(row));
    let mut text = format!(
        "{}: {} groups, each of {} of the {} repetitions\n",
        coverage.scenario, coverage.groups, coverage.repetitions, coverage.of
    );
    text += &show::table(0, sides(2), &rows);
    text += &show::paragraph("", WORDS);
    text
}

fn row(row: &CoverageRow) -> [String; 9] {
    let (held, wrong) = row.change.map_or_else(
        || ("–".to_owned(), String::new()),
        |change| (percent(change.held), percent(change.wrong)),
    );
    [
        row.policy.clone(),
        row.statistic.to_owned(),
        percent(row.held),
        percent(row.same),
        percent(row.less_10.better),
        percent(row.less_20.better),
        percent(row.less_10.worse.max(row.less_20.worse)),
        held,
        wrong,
    ]
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

const WORDS: &str = "value: groups whose 95 % interval contains the value over all repetitions; A/A: pairs of groups \
     whose interval of the change contains zero; −10 %, −20 %: pairs in which slowdowns reduced by that share are \
     called better, and (wrong) worse; against: groups whose interval of the change between the policies contains the \
     change over all repetitions, and (wrong) lies on the other side of zero.";
