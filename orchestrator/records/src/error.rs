//! Errors of reading and writing run directories.

use std::{io, path::PathBuf};

use parquet::errors::ParquetError;

/// Reason why a run directory cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// A file system operation failed.
    #[error("cannot {operation} `{}`", path.display())]
    Io {
        operation: Operation,
        /// File or directory that the operation concerned.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A directory that is not a run directory, because it has no `run.json`.
    #[error(
        "`{}` is not a run directory: it has no `run.json` (hint: runs are the directories under \
         `results/`, the newest is `results/latest`)",
        path.display()
    )]
    NotARun { path: PathBuf },
    /// A file in a format that this lcmp-lab cannot read.
    #[error(
        "`{}` has format {found}, which this lcmp-lab (format {own}) cannot read (hint: {})",
        path.display(),
        if found > own {
            "update lcmp-lab"
        } else {
            "run its `scenario.yaml` again, or read the run with the lcmp-lab of the `tool_commit` in `run.json`"
        }
    )]
    OtherFormat {
        /// Path of `run.json` or `plan.json`.
        path: PathBuf,
        /// Format number of the file.
        found: u32,
        /// Format number that this program writes.
        own: u32,
    },
    /// A `run.json` that cannot be parsed or written.
    #[error("`{}` is not a valid description of a run", path.display())]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    /// A `plan.json` that is not a plan.
    #[error("`{}` is not a plan: error in line {}", path.display(), source.line())]
    Plan {
        path: PathBuf,
        source: serde_json::Error,
    },
    /// A row that cannot be written.
    #[error("cannot write a row to `{}`", path.display())]
    Write { path: PathBuf, source: csv::Error },
    /// A Parquet copy of a table that cannot be read or written.
    #[error(
        "cannot read or write the Parquet table `{}` (hint: remove it if the table's `.csv` is beside it; else run \
         the scenario again)",
        path.display()
    )]
    Parquet { path: PathBuf, source: ParquetError },
    /// A row that cannot be parsed, other than a truncated last row.
    #[error("`{}` cannot be read at line {line}", path.display())]
    Row {
        path: PathBuf,
        /// Line in a CSV table, from 1; row number in a Parquet table.
        line: u64,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl RecordsError {
    /// Returns true if the machine failed to write the records, false if the records themselves are at fault.
    #[must_use]
    pub const fn is_of_machine(&self) -> bool {
        match self {
            Self::Io { operation, .. } => !matches!(operation, Operation::Read),
            Self::Write { .. } => true,
            Self::NotARun { .. }
            | Self::OtherFormat { .. }
            | Self::Json { .. }
            | Self::Plan { .. }
            | Self::Parquet { .. }
            | Self::Row { .. } => false,
        }
    }

    /// Returns the kind of the underlying I/O error; `None` if the cause is not an I/O error.
    #[must_use]
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            Self::Write { source, .. } => match source.kind() {
                csv::ErrorKind::Io(source) => Some(source.kind()),
                _ => None,
            },
            Self::Parquet { source, .. } => match source {
                ParquetError::External(source) => Some(source.downcast_ref::<io::Error>()?.kind()),
                _ => None,
            },
            Self::NotARun { .. }
            | Self::OtherFormat { .. }
            | Self::Json { .. }
            | Self::Plan { .. }
            | Self::Row { .. } => None,
        }
    }
}

/// Operation on the file system, for messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Operation {
    CreateDir,
    CreateFile,
    Read,
    Write,
    /// Write a file's data to the disk.
    Sync,
    /// Replace a symbolic link or a file.
    Replace,
    /// Delete a file or directory.
    Delete,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::CreateDir => "create directory",
            Self::CreateFile => "create",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync to the disk",
            Self::Replace => "replace",
            Self::Delete => "delete",
        })
    }
}

impl Operation {
    /// Returns a function that turns an I/O error of this operation on `path` into a [`RecordsError`].
    pub(crate) fn failed(self, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> RecordsError {
        let path = path.into();
        move |source| RecordsError::Io {
            operation: self,
            path,
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_kind_of_error_is_kept() {
        let full = Operation::Write.failed("flows.csv")(io::ErrorKind::StorageFull.into());
        assert_eq!(full.io_kind(), Some(io::ErrorKind::StorageFull));
        let path = PathBuf::from("run");
        assert_eq!(RecordsError::NotARun { path }.io_kind(), None);
    }
}
