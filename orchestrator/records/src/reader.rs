//! Reading a run directory.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use crate::{
    DecisionRow, FlowRow, LinkRow, Outcome, PfcRow, PortRow, QueueRow, Row, RunFile, RunInfo,
    StoryRow, SwitchRow, UtcTime, columnar,
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

    /// How the switches fared; nothing if the run has no such table.
    ///
    /// # Errors
    /// When a row of the table is wrong.
    pub fn switches(&self) -> Result<Table<SwitchRow>, RecordsError> {
        self.table_if_there()
    }

    /// The pauses and resumes of ports; none if the run has no such table.
    ///
    /// # Errors
    /// When a row of the table is wrong.
    pub fn pfc(&self) -> Result<Table<PfcRow>, RecordsError> {
        self.table_if_there()
    }

    /// The totals of ports; none if the run has no such table.
    ///
    /// # Errors
    /// When a row of the table is wrong.
    pub fn ports(&self) -> Result<Table<PortRow>, RecordsError> {
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
        let mut rows = Vec::new();
        let torn = self.visit_if_there(|row| rows.push(row))?;
        Ok(Table { rows, torn })
    }

    fn table<R: Row>(&self) -> Result<Table<R>, RecordsError> {
        let mut rows = Vec::new();
        let torn = self.visit(|row| rows.push(row))?;
        Ok(Table { rows, torn })
    }

    /// The same as [`RunDir::visit`] for a table that not every run has.
    ///
    /// # Errors
    /// When a row of the table is wrong.
    pub fn visit_if_there<R: Row>(&self, row: impl FnMut(R)) -> Result<u64, RecordsError> {
        if self.path.join(R::FILE).exists() || columnar::path_of::<R>(&self.path).exists() {
            return self.visit(row);
        }
        Ok(0)
    }

    /// Calls `row` with every row of a table, in order, without holding them all; gives the rows
    /// at the end that were cut off in the middle. A copy by column is read rather than the CSV.
    ///
    /// # Errors
    /// When the table is missing or a row of it is wrong.
    pub fn visit<R: Row>(&self, mut row: impl FnMut(R)) -> Result<u64, RecordsError> {
        let copy = columnar::path_of::<R>(&self.path);
        if copy.exists() {
            return columnar::visit(&copy, &mut row).map(|()| 0);
        }
        let path = self.path.join(R::FILE);
        visit_csv(&path, &mut row)
    }
}

/// Reads a table. A writer ends every row with a line feed, so a last row without one was being
/// written when its writer died; it is counted, not trusted, even where what is left of it could
/// be read.
fn visit_csv<R: Row>(path: &Path, visit: &mut dyn FnMut(R)) -> Result<u64, RecordsError> {
    let unreadable = |error| Operation::Read.failed(path)(error);
    let mut file = File::open(path).map_err(unreadable)?;
    let (whole, length) = whole_lines(&mut file).map_err(unreadable)?;
    let mut torn = u64::from(whole < length);
    let reader = csv::Reader::from_reader(file.take(whole));
    let mut records = reader.into_deserialize().peekable();
    while let Some(record) = records.next() {
        match record {
            Ok(row) => visit(row),
            // Cut off at a line feed inside quotes: too few fields, and nothing after it.
            Err(error) if is_short(&error) && records.peek().is_none() => torn = 1,
            Err(source) => {
                return Err(RecordsError::Row {
                    path: path.to_owned(),
                    line: source.position().map_or(1, csv::Position::line),
                    source,
                });
            }
        }
    }
    Ok(torn)
}

/// The length of `file` up to its last line feed, and all of it; the file is left at its start.
fn whole_lines(file: &mut File) -> io::Result<(u64, u64)> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut block = vec![0; BLOCK];
    let mut end = length;
    let mut whole = 0;
    while end > 0 {
        let start = end.saturating_sub(BLOCK as u64);
        let block = &mut block[..usize::try_from(end - start).unwrap_or(BLOCK)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(block)?;
        if let Some(last) = block.iter().rposition(|&byte| byte == b'\n') {
            whole = start + last as u64 + 1;
            break;
        }
        end = start;
    }
    file.rewind()?;
    Ok((whole, length))
}

fn is_short(error: &csv::Error) -> bool {
    matches!(
        error.kind(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } if len < expected_len
    )
}

/// A last row is seldom longer.
const BLOCK: usize = 1 << 16;
