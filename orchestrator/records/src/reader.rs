//! Reading a run directory.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    DecisionRow, FlowRow, LinkRow, Outcome, PfcRow, QueueRow, Row, RunFile, RunInfo, StoryRow,
    UtcTime,
    error::{Operation, RecordsError},
};

/// A run directory of this format version or an earlier one.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
    file: RunFile,
}

/// The rows of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<R> {
    /// The rows, in the order they were written.
    pub rows: Vec<R>,
    /// Rows at the end that were cut off in the middle when their writer died: 0 or 1.
    pub torn: u64,
}

impl RunDir {
    /// Opens the run directory at `path`.
    ///
    /// # Errors
    /// When it is none, or one of a later version.
    pub fn open(path: &Path) -> Result<Self, RecordsError> {
        let path = path.to_owned();
        RunFile::read(&path).map(|file| Self { path, file })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the run was.
    #[must_use]
    pub const fn info(&self) -> &RunInfo {
        &self.file.info
    }

    /// When it began.
    #[must_use]
    pub const fn started_at(&self) -> UtcTime {
        self.file.started_at
    }

    /// How it went; nothing if it did not end.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Outcome> {
        self.file.outcome.as_ref()
    }

    /// The flows.
    ///
    /// # Errors
    /// When the table is missing or a row of it is wrong.
    pub fn flows(&self) -> Result<Table<FlowRow>, RecordsError> {
        self.table()
    }

    /// The link counters.
    ///
    /// # Errors
    /// When the table is missing or a row of it is wrong.
    pub fn links(&self) -> Result<Table<LinkRow>, RecordsError> {
        self.table()
    }

    /// The queue samples.
    ///
    /// # Errors
    /// When the table is missing or a row of it is wrong.
    pub fn queues(&self) -> Result<Table<QueueRow>, RecordsError> {
        self.table()
    }

    /// The decisions.
    ///
    /// # Errors
    /// When the table is missing or a row of it is wrong.
    pub fn decisions(&self) -> Result<Table<DecisionRow>, RecordsError> {
        self.table()
    }

    /// The pauses and resumes of ports; none if the run has no such table.
    ///
    /// # Errors
    /// When a row of the table is wrong.
    pub fn pfc(&self) -> Result<Table<PfcRow>, RecordsError> {
        self.table_if_there()
    }

    /// What happened to single flows; nothing if the run has no such table.
    ///
    /// # Errors
    /// When a row of the table is wrong.
    pub fn story(&self) -> Result<Table<StoryRow>, RecordsError> {
        self.table_if_there()
    }

    fn table_if_there<R: Row>(&self) -> Result<Table<R>, RecordsError> {
        if self.path.join(R::FILE).exists() {
            return self.table();
        }
        Ok(Table {
            rows: Vec::new(),
            torn: 0,
        })
    }

    fn table<R: Row>(&self) -> Result<Table<R>, RecordsError> {
        let path = self.path.join(R::FILE);
        let bytes = fs::read(&path).map_err(Operation::Read.failed(&path))?;
        read_rows(&bytes).map_err(|(line, source)| RecordsError::Row { path, line, source })
    }
}

/// Reads a table. A writer ends every row with a line feed, so a last row without one was being
/// written when its writer died; it is counted, not trusted, even where what is left of it could
/// be read.
fn read_rows<R: Row>(bytes: &[u8]) -> Result<Table<R>, (u64, csv::Error)> {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n');
    let whole = whole.map_or(0, |last| last + 1);
    let mut torn = u64::from(whole < bytes.len());
    let mut reader = csv::Reader::from_reader(&bytes[..whole]);
    let mut rows = Vec::new();
    let mut records = reader.deserialize().peekable();
    while let Some(record) = records.next() {
        match record {
            Ok(row) => rows.push(row),
            // Cut off at a line feed inside quotes: too few fields, and nothing after it.
            Err(error) if is_short(&error) && records.peek().is_none() => torn = 1,
            Err(error) => return Err((line_of(&error), error)),
        }
    }
    Ok(Table { rows, torn })
}

fn is_short(error: &csv::Error) -> bool {
    matches!(
        error.kind(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } if len < expected_len
    )
}

fn line_of(error: &csv::Error) -> u64 {
    error.position().map_or(1, csv::Position::line)
}
