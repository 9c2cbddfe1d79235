//! What can go wrong with a run directory.

use std::{io, path::PathBuf};

use crate::format::FORMAT_VERSION;

/// Why a run directory cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// A file system operation failed.
    #[error("cannot {operation} `{}`", path.display())]
    Io {
        /// What was tried.
        operation: Operation,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// It is no run directory.
    #[error(
        "`{}` is not a run directory: it has no `run.json` (hint: runs are the directories under \
         `results/`, the newest is `results/latest`)",
        path.display()
    )]
    NotARun {
        /// Where.
        path: PathBuf,
    },
    /// Another version of lcmp-lab wrote it.
    #[error(
        "`{}` has format {found}, this lcmp-lab reads {FORMAT_VERSION} (hint: {})",
        path.display(),
        if *found > FORMAT_VERSION { "update lcmp-lab" } else { "run its `scenario.yaml` again" }
    )]
    OtherFormat {
        /// The file that says so.
        path: PathBuf,
        /// What it says.
        found: u32,
    },
    /// `run.json` cannot be understood or written.
    #[error("`{}` is not a run's description", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A row cannot be written.
    #[error("cannot write a row to `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: csv::Error,
    },
    /// A table by column cannot be written or read.
    #[error(
        "`{}` is not a table by column (hint: without it the `.csv` beside it is read)",
        path.display()
    )]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: parquet::errors::ParquetError,
    },
    /// A row that is not the torn last one cannot be understood.
    #[error("`{}` cannot be read at line {line}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1; in a table by column, the row.
        line: u64,
        /// What is wrong.
        source: csv::Error,
    },
}

/// What was tried on the file system.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Operation {
    /// Make a directory.
    CreateDir,
    /// Make a file.
    CreateFile,
    /// Read a file.
    Read,
    /// Write a file.
    Write,
    /// Bring a file to the disk.
    Sync,
    /// Replace a symbolic link or a file.
    Replace,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::CreateDir => "create directory",
            Self::CreateFile => "create",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "bring to the disk",
            Self::Replace => "replace",
        })
    }
}

impl Operation {
    /// The error of this operation on `path`.
    pub(crate) fn failed(self, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> RecordsError {
        let path = path.into();
        move |source| RecordsError::Io {
            operation: self,
            path,
            source,
        }
    }
}
