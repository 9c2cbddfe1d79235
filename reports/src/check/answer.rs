//! Answers on runs.

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

/// An answer on runs: its values, what was judged, and its document.
pub trait Answer {
    /// Values that `--json` prints.
    type Values: Serialize;

    /// Folder of the page and its figures in the first run's directory, unless another one is asked for.
    const FOLDER: &'static str;

    /// Returns the values.
    fn values(&self) -> &Self::Values;

    /// Returns what was checked.
    fn checks(&self) -> &[Check];

    /// Returns sentences without their full stops on what the answer leaves out.
    fn omissions(&self) -> Vec<String>;

    /// Draws the figures into `dir`, as PNG there and as SVG to be written.
    ///
    /// # Errors
    /// If a figure cannot be drawn.
    fn figures(&self, dir: &Path) -> Result<Vec<Captioned>, ReportError>;

    /// Returns the document.
    fn document<'a>(&'a self, figures: &'a [Captioned]) -> Document<'a>;

    /// Returns the banner of the runs that are not clean and of what is left out; `None` without either.
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

    /// Writes the page and the figures into `dir`, which is created.
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

/// Files of an answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Written {
    /// The page.
    pub html: PathBuf,
    /// The figures, each as SVG, PNG and CSV.
    pub figures: Vec<PathBuf>,
}

/// An answer as every judging verb prints it with `--json`.
#[derive(Serialize)]
pub struct Answered<'a, T> {
    /// Values of the question.
    #[serde(flatten)]
    values: &'a T,
    /// Judgement of all checks.
    verdict: Judgement,
    /// Exit code of the process.
    exit: u8,
    /// Reasons of the checks that do not hold, and what the answer leaves out.
    reasons: Vec<String>,
    /// The checks.
    checks: &'a [Check],
    /// The page; `None` if the verb writes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<&'a Path>,
}

impl<'a, T> Answered<'a, T> {
    /// Returns the answer with these `values`, judged by `checks`, but for the `omissions`.
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
