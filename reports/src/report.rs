//! Report of a run directory.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use lab_records::{
    FlowCounts,
    directory::{FIGURES_DIR, REPORT_FILE, SUMMARY_FILE},
    draft,
};
use lab_units::show;
use serde::Serialize;
use serde_json::Value;

use crate::{
    closing::closing,
    error::{ReportError, write_failed},
    figures::Captioned,
    page::page,
    questions::{self, ReportInputs},
    run::Run,
    summary::Summary,
    text::WIDTH,
};

/// Report that has been written into a run directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Path of the HTML page.
    pub html: PathBuf,
    /// Paths of the figures, each as SVG, PNG and CSV.
    pub figures: Vec<PathBuf>,
    /// Results of the run.
    pub summary: Summary,
    /// Values in the report's answers that are not in `summary`, by id of the answered question.
    pub answers: BTreeMap<&'static str, Value>,
    /// Text for the end of the run in a terminal, without the headline.
    pub closing: String,
    /// Counts of all recorded flows, measured or not.
    pub counts: FlowCounts,
}

/// Results of a run in the form of `summary.json`.
#[derive(Serialize)]
pub struct Numbers<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(flatten)]
    answers: &'a BTreeMap<&'static str, Value>,
}

impl Report {
    /// Returns the headline for a terminal, in lines of at most [`WIDTH`] characters.
    #[must_use]
    pub fn headline(&self) -> String {
        show::paragraph_of(WIDTH, "", &self.summary.headline)
    }

    /// Returns the results in the form that is written as JSON.
    #[must_use]
    pub const fn numbers(&self) -> Numbers<'_> {
        Numbers {
            summary: &self.summary,
            answers: &self.answers,
        }
    }
}

/// Makes the report of the run directory at `run` and writes it there.
///
/// # Errors
/// If the records cannot be read or the report cannot be written.
pub fn render(run: &Path) -> Result<Report, ReportError> {
    let run = Run::read(run)?;
    let summary = questions::summary(&run);

    let dir = run.dir.join(FIGURES_DIR);
    draft::make_dir(&dir).map_err(write_failed(&dir))?;
    let figures = questions::draw(&run, &dir)?;
    let mut files = Vec::new();
    for figures in figures.values() {
        files.extend(write_files(figures, &dir)?);
    }

    let inputs = ReportInputs {
        run: &run,
        summary: &summary,
        figures: &figures,
    };
    let answers = questions::answers(&inputs);
    let html = run.dir.join(REPORT_FILE);
    let text = page(&inputs, &answers)?;
    draft::replace(&html, text.as_bytes()).map_err(write_failed(&html))?;

    let closing = closing(&answers);
    let values = questions::values(&inputs);
    let report = Report {
        html,
        figures: files,
        summary,
        answers: values,
        closing,
        counts: run.flows.total(),
    };
    let path = run.dir.join(SUMMARY_FILE);
    let numbers = serde_json::to_string_pretty(&report.numbers()).expect("results are plain data");
    draft::replace(&path, (numbers + "\n").as_bytes()).map_err(write_failed(&path))?;
    Ok(report)
}

/// Writes each drawn figure as SVG and its numbers as CSV into `dir`. Returns the paths of all figure files, including
/// the PNGs that already exist.
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
