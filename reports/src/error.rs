//! What can go wrong with a report.

use std::{io, path::PathBuf};

use lab_records::RecordsError;
use polars::error::PolarsError;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The run cannot be read.
    #[error("cannot read the run")]
    Records(#[from] RecordsError),
    /// The rows cannot be grouped.
    #[error("cannot group the run's rows")]
    Frame(#[from] PolarsError),
    /// A figure cannot be drawn.
    #[error("cannot draw figure `{figure}`")]
    Draw {
        /// Its name.
        figure: &'static str,
        /// What is wrong.
        source: DrawError,
    },
    /// A file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Why a figure cannot be drawn, in the words of its backend.
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
