//! Errors of making reports.

use std::{
    io,
    path::{Path, PathBuf},
};

use lab_records::RecordsError;
use polars::error::PolarsError;

/// Failure to make a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The records of the run cannot be read.
    #[error("cannot read the run")]
    Records(#[from] RecordsError),
    /// A query on the tables of the run fails.
    #[error("cannot query the run's tables")]
    Frame(#[from] PolarsError),
    /// A figure cannot be drawn.
    #[error("cannot draw figure `{figure}`")]
    Draw {
        /// Name of the figure.
        figure: &'static str,
        /// Error of the drawing backend.
        source: DrawError,
    },
    /// The data of the report page cannot be written as JSON.
    #[error("cannot write the report page's data")]
    Data(#[from] serde_json::Error),
    /// A file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Error of the drawing backend, kept as text.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct DrawError {
    problem: String,
}

impl DrawError {
    pub(crate) fn new(problem: impl ToString) -> Self {
        Self {
            problem: problem.to_string(),
        }
    }
}

impl<E: std::error::Error + Send + Sync> From<plotters::drawing::DrawingAreaErrorKind<E>>
    for DrawError
{
    fn from(error: plotters::drawing::DrawingAreaErrorKind<E>) -> Self {
        Self::new(error)
    }
}

/// Returns a function that turns an I/O error into a [`ReportError::Write`] for `path`.
pub fn write_failed(path: &Path) -> impl FnOnce(io::Error) -> ReportError {
    let path = path.to_owned();
    move |source| ReportError::Write { path, source }
}
