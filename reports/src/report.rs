//! A run directory to its report.

use std::path::{Path, PathBuf};

use lab_records::{
    Evidence, FlowCounts,
    directory::{FIGURES_DIR, REPORT_FILE, SUMMARY_FILE},
    draft,
};

use crate::{
    answer::Question,
    departures,
    error::{ReportError, write_failed},
    figures::{Captioned, draw_figures},
    page::{Page, page},
    parallel, path_shares,
    run::Run,
    stats::{self, Intervals},
    summary::{PolicySummary, Summary},
    words,
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
    /// Counts of all recorded flows, measured or not.
    pub counts: FlowCounts,
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
        counts: run.flows.total(),
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
        let end = run.end.as_ref();
        let evidence = end.map_or_else(Evidence::default, |end| end.evidence.clone());
        let warnings: Vec<String> = evidence.warnings().iter().map(words::warning).collect();
        let answer = Question {
            verdict: run.verdict.grade,
            reasons: &run.verdict.reasons,
            warnings: warnings.len(),
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
            unexercised: warnings,
            intervals: Intervals::of(run.info.repetitions),
            measured: words::measured(&run.info),
            policies,
            evidence,
        }
    }
}
