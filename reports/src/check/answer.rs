//! Answers of judging verbs.

use std::path::{Path, PathBuf};

use lab_records::draft;
use serde::Serialize;

use super::{Check, Judgement};
use crate::{
    document::{Banner, Document},
    error::{ReportError, write_failed},
    figures::Captioned,
    report::write_files,
};

/// Answer of a command that judges runs, such as `compare`.
pub trait Answer {
    /// Label in front of the page's path on a terminal.
    const PAGE: &'static str = "page";

    /// True if [`text`](Self::text) states the checks that do not pass; otherwise the command writes them to standard
    /// error.
    const STATES_CHECKS: bool;

    /// Returns the values that `--json` prints in addition to the judgement.
    fn values(&self) -> impl Serialize;

    /// Returns the checks, the worst of which is the judgement of the answer.
    fn checks(&self) -> Vec<Check>;

    /// Returns a sentence, without its full stop, for each kind of data that the comparison leaves out and that no
    /// inconclusive check reports.
    fn omissions(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the text for a terminal.
    fn text(&self) -> String;
}

/// Answer that is also written as a page with figures.
pub trait PageAnswer: Answer {
    /// Name of the page, and of the folder in the first run's directory that page and figures are written to by
    /// default.
    const FOLDER: &'static str;

    /// Draws the figures: writes PNG files into `dir`, and returns the SVG texts.
    ///
    /// # Errors
    /// If a figure cannot be drawn.
    fn figures(&self, dir: &Path) -> Result<Vec<Captioned>, ReportError>;

    /// Returns the document, which shows the `figures`.
    fn document<'a>(&'a self, figures: &'a [Captioned]) -> Document<'a>;

    /// Returns a banner with the inconclusive checks and the data that are not compared; `None` if there are neither.
    fn doubts(&self) -> Option<Banner> {
        let checks = self.checks().into_iter();
        let undecided = checks.filter(|check| check.grade == Judgement::Inconclusive);
        let doubts = undecided.map(|check| check.reason).chain(self.omissions());
        Banner::bad(
            "Not everything could be compared, or there are reasons to distrust a run.",
            doubts.collect(),
        )
    }

    /// Writes the page and its figures into `dir`, which is created if necessary.
    ///
    /// # Errors
    /// If a file cannot be drawn or written.
    fn write(&self, dir: &Path) -> Result<Written, ReportError> {
        draft::make_dir(dir).map_err(write_failed(dir))?;
        let figures = self.figures(dir)?;
        let files = write_files(&figures, dir)?;
        let html = dir.join(Self::FOLDER).with_extension("html");
        let text = self.document(&figures).html();
        draft::replace(&html, text.as_bytes()).map_err(write_failed(&html))?;
        Ok(Written {
            html,
            figures: files,
        })
    }
}

/// Paths of the files of a written answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Written {
    /// Path of the page.
    pub html: PathBuf,
    /// Paths of the figures, each as SVG, PNG and CSV.
    pub figures: Vec<PathBuf>,
}
