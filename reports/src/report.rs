//! A run directory to its report and its results in a few numbers.

use std::{
    io,
    path::{Path, PathBuf},
};

use lab_records::{
    Departure, Evidence, Grade, Reason,
    directory::{FIGURES_DIR, REPORT_FILE, SUMMARY_FILE},
    draft,
};
use serde::Serialize;

use crate::{
    answer::Question,
    departures,
    error::ReportError,
    figures::{Captioned, draw_figures},
    page::{Page, page},
    parallel,
    path_shares::{self, PathShares},
    run::Run,
    stats::{self, Change, Intervals, Slowdowns},
};

/// A written report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The page.
    pub html: PathBuf,
    /// The figures, each as SVG and PNG.
    pub figures: Vec<PathBuf>,
    /// The results.
    pub summary: Summary,
}

/// Writes the report of the run directory at `run` into it.
///
/// # Errors
/// If the records cannot be read or the report cannot be written.
pub fn render(run: &Path) -> Result<Report, ReportError> {
    let run = Run::read(run)?;
    let summary = Summary::new(&run);

    let figures_dir = run.dir.join(FIGURES_DIR);
    draft::make_dir(&figures_dir).map_err(write_failed(&figures_dir))?;
    let figures = draw_figures(&run, &figures_dir)?;
    let files = write_files(&figures, &figures_dir)?;

    let numbers = run.dir.join(SUMMARY_FILE);
    let text = serde_json::to_string_pretty(&summary).expect("a summary is plain data") + "\n";
    draft::replace(&numbers, text.as_bytes()).map_err(write_failed(&numbers))?;

    let html = run.dir.join(REPORT_FILE);
    let text = page(&Page {
        run: &run,
        summary: &summary,
        figures: &figures,
    })?;
    draft::replace(&html, text.as_bytes()).map_err(write_failed(&html))?;
    Ok(Report {
        html,
        figures: files,
        summary,
    })
}

/// Writes each drawn figure as SVG and its numbers as CSV into `dir`, and returns the files of all, the PNGs that are there
/// included.
pub fn write_files(figures: &[Captioned], dir: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let mut files = Vec::new();
    for figure in figures {
        let name = figure.image.name;
        let svg = dir.join(format!("{name}.svg"));
        let text = figure.image.standalone(&figure.title);
        draft::replace(&svg, text.as_bytes()).map_err(write_failed(&svg))?;
        let csv = dir.join(format!("{name}.csv"));
        draft::replace(&csv, figure.image.numbers.as_bytes()).map_err(write_failed(&csv))?;
        files.extend([svg, dir.join(format!("{name}.png")), csv]);
    }
    Ok(files)
}

/// Returns the error of writing `path`.
pub fn write_failed(path: &Path) -> impl FnOnce(io::Error) -> ReportError {
    let path = path.to_owned();
    move |source| ReportError::Write { path, source }
}

/// A run's results: what the closing table of `up` shows, and `--json` gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The scenario's name.
    pub scenario: String,
    /// Verdict on the run.
    pub verdict: Grade,
    /// Reasons not to trust the run.
    pub reasons: Vec<Reason>,
    /// Warnings about a ranking by the run: limits to what it shows.
    pub unexercised: Vec<String>,
    /// Estimator of the intervals.
    pub intervals: Intervals,
    /// Window of the measured flows and their number; `None` if all flows are measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// The policies, in the order of the scenario.
    pub policies: Vec<PolicySummary>,
    /// Evidence that the run exercised what it ranks.
    pub evidence: Evidence,
    /// Answer of the run in words.
    #[serde(skip)]
    pub answer: String,
    /// Shares of bytes and flows on each path under each policy.
    #[serde(skip)]
    pub(crate) paths: PathShares,
}

/// One policy's results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicySummary {
    /// Label of the policy.
    pub policy: String,
    /// Parameters that are not the publication's; empty in records of an earlier lcmp-lab.
    pub departures: Vec<Departure>,
    /// Flows recorded.
    pub flows: u64,
    /// Flows that finished.
    pub finished: u64,
    /// Flows that did not finish.
    pub unfinished: u64,
    /// Finished flows with a slowdown under 1, which is an error.
    pub below_one: u64,
    /// FCT slowdown of the scheduled flows; `None` if no flow finished.
    pub slowdown: Option<Slowdowns>,
    /// Change against the first policy; `None` for the first policy, and for a run that is not valid, since the
    /// flows that finished are not the flows that were to be compared.
    pub change: Option<Change>,
}

impl Summary {
    /// Returns the summary of `run`.
    pub(crate) fn new(run: &Run) -> Self {
        let flows = &run.flows;
        let is_compared = run.verdict.is_valid();
        let repetitions = parallel::map(0..flows.policies.len(), |index| {
            flows.slowdowns_by_repetition(index)
        });
        let policies = parallel::map(0..flows.policies.len(), |index| {
            let counts = flows.counts[index];
            PolicySummary {
                policy: flows.policies[index].clone(),
                departures: departures::of(&run.info, &flows.policies[index]).to_vec(),
                flows: counts.flows,
                finished: counts.finished,
                unfinished: counts.unfinished,
                below_one: counts.below_one,
                slowdown: stats::slowdowns(&repetitions[index], flows.unfinished(index)),
                change: (is_compared && index > 0)
                    .then(|| stats::change(&repetitions[0], &repetitions[index])),
            }
        });
        let answer = Question {
            verdict: run.verdict.grade,
            reasons: &run.verdict.reasons,
            warnings: run.verdict.unexercised.len(),
            policies: &policies,
            slowdowns: &repetitions,
            is_one_draw: Intervals::of(run.info.repetitions) == Intervals::OneDraw,
        }
        .answer();
        Self {
            answer,
            paths: path_shares::of(run),
            scenario: run.info.scenario.clone(),
            verdict: run.verdict.grade,
            reasons: run.verdict.reasons.clone(),
            unexercised: run.verdict.unexercised.clone(),
            intervals: Intervals::of(run.info.repetitions),
            measured: run.info.measured_sentence(),
            policies,
            evidence: run
                .end
                .as_ref()
                .map_or_else(Evidence::default, |end| end.evidence.clone()),
        }
    }
}
