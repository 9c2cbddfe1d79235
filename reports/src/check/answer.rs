//! Answers of verbs that judge runs.

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

/// Answer of a verb that judges runs: values, checks, and a document for people.
pub trait Answer {
    /// Type of the values that `--json` prints.
    type Values: Serialize;

    /// Default folder for the page and its figures, inside the first run's directory.
    const FOLDER: &'static str;

    /// Returns the values that `--json` prints.
    fn values(&self) -> &Self::Values;

    /// Returns the checks that decide the exit code.
    fn checks(&self) -> &[Check];

    /// Returns a sentence, without its full stop, for each thing that the answer leaves out.
    fn omissions(&self) -> Vec<String>;

    /// Draws the figures: writes PNG files into `dir`, and returns the SVG texts.
    ///
    /// # Errors
    /// If a figure cannot be drawn.
    fn figures(&self, dir: &Path) -> Result<Vec<Captioned>, ReportError>;

    /// Returns the document, which shows the `figures`.
    fn document<'a>(&'a self, figures: &'a [Captioned]) -> Document<'a>;

    /// Returns a banner that lists runs that are not clean and things left out; `None` if there are neither.
    fn doubts(&self) -> Option<Banner> {
        let checks = self.checks().iter();
        let unclear = checks.filter(|check| check.grade == Judgement::Inconclusive);
        let mut doubts: Vec<String> = unclear.map(|check| check.reason.clone()).collect();
        doubts.extend(self.omissions());
        Banner::bad(
            "Not everything could be compared, or a run is not clean.",
            doubts,
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

/// Answer in the form that every judging verb prints with `--json`.
#[derive(Serialize)]
pub struct Answered<'a, T> {
    /// Values of the answer.
    #[serde(flatten)]
    values: &'a T,
    /// Judgement over all checks.
    verdict: Judgement,
    /// Exit code of the process.
    exit: u8,
    /// Reasons of the checks that do not hold, followed by what the answer leaves out.
    reasons: Vec<String>,
    /// The checks.
    checks: &'a [Check],
    /// Path of the page; `None` if the verb writes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<&'a Path>,
}

impl<'a, T> Answered<'a, T> {
    /// Returns the answer with these `values`, judged by `checks` alone; `omissions` are added to the reasons.
    #[must_use]
    pub fn new(
        values: &'a T,
        checks: &'a [Check],
        omissions: Vec<String>,
        page: Option<&'a Path>,
    ) -> Self {
        let verdict = Judgement::of(checks);
        let failed = checks.iter().filter(|it| it.grade != Judgement::Pass);
        Self {
            values,
            verdict,
            exit: verdict.exit_code(),
            reasons: failed
                .map(|it| it.reason.clone())
                .chain(omissions)
                .collect(),
            checks,
            page,
        }
    }
}
