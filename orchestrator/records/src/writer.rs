//! Writer of run directories, row by row.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    DecisionRow, FlowCounts, FlowPaths, FlowRow, LinkRow, Outcome, PathRow, QueueRow, Row, RunEnd,
    RunFile, RunInfo, UtcTime, Verdict, create_run_dir,
    directory::FORMAT_VERSION,
    error::{Operation, RecordsError},
    mirror::{Mirror, TableFile},
    parquet_table::{self, LARGE_TABLE_ROWS},
    point_latest,
    rows::Column,
};

/// Writer of a run directory. Each call writes its rows to the file before it returns, so that they survive if this
/// process is killed. Many rows should be appended in one call.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    file: RunFile,
    counts: FlowCounts,
    /// Paths of the re-routed flows so far.
    paths: FlowPaths,
    large_table: u64,
    tables: BTreeMap<&'static str, TableWriter>,
    mirror: Mirror,
}

impl RunWriter {
    /// Creates a run directory under `results_dir`, writes its first files and points `latest` to it; see
    /// [`create_run_dir`] and [`RunWriter::create_in`].
    ///
    /// # Errors
    /// If a file cannot be created or written.
    pub fn create(
        results_dir: &Path,
        now: SystemTime,
        info: &RunInfo,
    ) -> Result<Self, RecordsError> {
        let dir = create_run_dir(results_dir, now, &info.scenario, &info.plan_hash)?;
        let writer = Self::create_in(&dir, now, info)?;
        if let Some(name) = dir.file_name() {
            point_latest(results_dir, &name.to_string_lossy())?;
        }
        Ok(writer)
    }

    /// Writes the first files of the run directory `dir`, which exists and has no records yet: empty tables and a
    /// `run.json` without an outcome.
    ///
    /// # Errors
    /// If a file cannot be created or written, or exists.
    pub fn create_in(dir: &Path, now: SystemTime, info: &RunInfo) -> Result<Self, RecordsError> {
        let mut writer = Self {
            tables: BTreeMap::new(),
            mirror: Mirror::default(),
            counts: FlowCounts::default(),
            paths: FlowPaths::default(),
            large_table: LARGE_TABLE_ROWS,
            file: RunFile {
                format: FORMAT_VERSION,
                started_at: UtcTime::new(now),
                info: info.clone(),
                outcome: None,
            },
            dir: dir.to_owned(),
        };
        writer.table::<FlowRow>()?;
        writer.table::<LinkRow>()?;
        writer.table::<QueueRow>()?;
        writer.table::<DecisionRow>()?;
        writer.file.write(dir)?;
        Ok(writer)
    }

    /// Returns the path of the run directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the facts of the run.
    #[must_use]
    pub const fn info(&self) -> &RunInfo {
        &self.file.info
    }

    /// Sets the number of rows above which a table becomes a Parquet file; the default is [`LARGE_TABLE_ROWS`].
    #[must_use]
    pub const fn with_large_table(mut self, rows: u64) -> Self {
        self.large_table = rows;
        self
    }

    /// Sets a receiver that is called with a table's file name and the bytes whenever bytes are appended to the table,
    /// so that the tables can be copied elsewhere. Bytes of one table come in order; a call may end inside a row.
    pub fn mirror_to(&mut self, append: impl FnMut(&str, &[u8]) + Send + 'static) {
        self.mirror.set(Box::new(append));
    }

    /// Appends flows to their table, and counts them for the verdict. The paths of a re-routed flow come before, by
    /// [`RunWriter::append_paths`].
    ///
    /// # Errors
    /// If a row cannot be written.
    pub fn append_flows<'r>(
        &mut self,
        rows: impl IntoIterator<Item = &'r FlowRow> + Clone,
    ) -> Result<(), RecordsError> {
        self.table::<FlowRow>()?.append(rows.clone())?;
        for row in rows {
            let fields = row.fields();
            self.counts.add(fields, self.paths.of(fields));
        }
        Ok(())
    }

    /// Appends the paths of re-routed flows, all those of a flow before the flow itself.
    ///
    /// # Errors
    /// If the table cannot be created or a row cannot be written.
    pub fn append_paths(&mut self, rows: &[PathRow]) -> Result<(), RecordsError> {
        rows.iter().for_each(|row| self.paths.add(row));
        self.append(rows)
    }

    /// Appends rows to their table; a table that is not [`Row::REQUIRED`] is created with its first row. Flows and paths
    /// must be appended by [`RunWriter::append_flows`] and [`RunWriter::append_paths`].
    ///
    /// # Errors
    /// If the table cannot be created or a row cannot be written.
    pub fn append<R: Row>(&mut self, rows: &[R]) -> Result<(), RecordsError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.table::<R>()?.append(rows)
    }

    /// Completes the run: writes all tables to the disk, converts large tables to Parquet, computes the verdict and
    /// writes the outcome.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(mut self, end: RunEnd) -> Result<(PathBuf, Outcome), RecordsError> {
        for table in self.tables.into_values() {
            table.close(self.large_table)?;
        }
        let outcome = Outcome {
            verdict: Verdict::of(&self.file.info, Some(&end), &self.counts),
            counts: self.counts,
            end,
        };
        self.file.outcome = Some(outcome.clone());
        self.file.write(&self.dir)?;
        Ok((self.dir, outcome))
    }

    fn table<R: Row>(&mut self) -> Result<&mut TableWriter, RecordsError> {
        use std::collections::btree_map::Entry;
        match self.tables.entry(R::FILE) {
            Entry::Occupied(table) => Ok(table.into_mut()),
            Entry::Vacant(table) => {
                let path = self.dir.join(R::FILE);
                let file = TableFile::create(&path, R::FILE, self.mirror.clone())
                    .map_err(Operation::CreateFile.failed(&path))?;
                Ok(table.insert(TableWriter::create(path, file, R::COLUMNS)?))
            }
        }
    }
}

/// Writer of one table.
#[derive(Debug)]
struct TableWriter {
    path: PathBuf,
    columns: &'static [Column],
    csv: csv::Writer<TableFile>,
    count: u64,
}

impl TableWriter {
    /// Creates the writer for `file`, which is at `path`, and writes the table's header.
    fn create(
        path: PathBuf,
        file: TableFile,
        columns: &'static [Column],
    ) -> Result<Self, RecordsError> {
        let csv = csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(file);
        let mut table = Self {
            path,
            columns,
            csv,
            count: 0,
        };
        let header = columns.iter().map(|column| column.name);
        table
            .csv
            .write_record(header)
            .map_err(|source| table.write_error(source))?;
        table.flush()?;
        Ok(table)
    }

    fn append<'r, R: Row + 'r>(
        &mut self,
        rows: impl IntoIterator<Item = &'r R>,
    ) -> Result<(), RecordsError> {
        let before = self.count;
        for row in rows {
            self.csv
                .serialize(row)
                .map_err(|source| self.write_error(source))?;
            self.count += 1;
        }
        if self.count == before {
            return Ok(());
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), RecordsError> {
        self.csv
            .flush()
            .map_err(Operation::Write.failed(&self.path))
    }

    /// Writes the table's data to the disk, and converts it to Parquet if it has more than `large` rows.
    fn close(mut self, large: u64) -> Result<(), RecordsError> {
        self.flush()?;
        self.csv
            .get_ref()
            .sync()
            .map_err(Operation::Sync.failed(&self.path))?;
        if self.count > large {
            parquet_table::copy(&self.path, self.columns)?;
            fs::remove_file(&self.path).map_err(Operation::Delete.failed(&self.path))?;
        }
        Ok(())
    }

    fn write_error(&self, source: csv::Error) -> RecordsError {
        RecordsError::Write {
            path: self.path.clone(),
            source,
        }
    }
}
