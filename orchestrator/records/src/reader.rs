//! Reader of run directories.

use std::path::{Path, PathBuf};

use lab_units::PLAN_FORMAT;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny, value},
};

use crate::{
    FlowFields, FlowRow, Outcome, Row, RunFile, RunInfo, UtcTime,
    columns::Batch,
    csv_table,
    directory::{self, PLAN_FILE},
    error::RecordsError,
    format, parquet_table,
    rows::Column,
};

/// Run directory that is open for reading.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
    file: RunFile,
}

/// Rows of one table of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<R> {
    /// Rows, in the order in which they were written.
    pub rows: Vec<R>,
    /// Number of truncated rows at the end, because the writer died while writing: 0 or 1.
    pub truncated: u64,
}

/// Row of a flow, not parsed yet.
#[derive(Clone, Copy, Debug)]
pub struct WholeFlow<'a> {
    path: &'a Path,
    batch: &'a Batch,
    index: usize,
}

impl WholeFlow<'_> {
    /// Parses all fields of the row.
    ///
    /// # Errors
    /// If a field is invalid.
    pub fn read(self) -> Result<FlowRow, RecordsError> {
        self.batch
            .row(self.index)
            .map_err(|source| row_error(self.path, self.batch, self.index, source))
    }
}

impl RunDir {
    /// Opens the run directory at `path`.
    ///
    /// # Errors
    /// If `path` is not a run directory, if `run.json` or `plan.json` has a format that this program cannot read, or if
    /// `plan.json` is not a plan.
    pub fn open(path: &Path) -> Result<Self, RecordsError> {
        let path = path.to_owned();
        let file = RunFile::read(&path)?;
        check_plan(&path)?;
        Ok(Self { path, file })
    }

    /// Returns the directory's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails for a run of an older format, for which a new report would not equal the existing one byte for byte.
    ///
    /// # Errors
    /// If the run is not of [`FORMAT_VERSION`](directory::FORMAT_VERSION).
    pub fn require_own_format(&self) -> Result<(), RecordsError> {
        self.file.require_own_format(&self.path)
    }

    /// Returns the facts of the run.
    #[must_use]
    pub const fn info(&self) -> &RunInfo {
        &self.file.info
    }

    /// Returns the time at which the run started.
    #[must_use]
    pub const fn started_at(&self) -> UtcTime {
        self.file.started_at
    }

    /// Returns the outcome; `None` if the run has not ended.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Outcome> {
        self.file.outcome.as_ref()
    }

    /// Deserialises the plan as a `T`; `None` if the run has no plan.
    ///
    /// # Errors
    /// If the file cannot be read, is not a regular file, is larger than [`MAX_PLAN`](directory::MAX_PLAN), or is not a
    /// plan.
    pub fn plan<T: DeserializeOwned>(&self) -> Result<Option<T>, RecordsError> {
        directory::read_plan(&self.path)
    }

    /// Reads the table of flows.
    ///
    /// # Errors
    /// If the table is missing or has an invalid row.
    pub fn flows(&self) -> Result<Table<FlowRow>, RecordsError> {
        self.table()
    }

    /// Reads all rows of a table; empty if the run lacks a table that is not [`Row::REQUIRED`].
    ///
    /// # Errors
    /// If a required table is missing, or the table has an invalid row.
    pub fn table<R: Row>(&self) -> Result<Table<R>, RecordsError> {
        let mut rows = Vec::new();
        let truncated = self.visit(|row| rows.push(row))?;
        Ok(Table { rows, truncated })
    }

    /// Calls `visit` with every row of a table, in order, and returns the number of truncated rows
    /// at the end. Only a batch of rows is in memory at a time.
    ///
    /// # Errors
    /// If a required table is missing, or the table has an invalid row.
    pub fn visit<R: Row>(&self, mut visit: impl FnMut(R)) -> Result<u64, RecordsError> {
        self.read(R::FILE, R::REQUIRED, R::COLUMNS, |path, batch| {
            for index in 0..batch.len() {
                let row = batch.row(index);
                visit(row.map_err(|source| row_error(path, batch, index, source))?);
            }
            Ok(())
        })
    }

    /// Calls `visit` with every flow, in order, and returns the number of truncated rows at the end. For queries that
    /// need few complete rows, this is many times faster than [`visit`](Self::visit).
    ///
    /// # Errors
    /// If the table is missing, has an invalid row, or `visit` fails.
    pub fn visit_flows(
        &self,
        mut visit: impl FnMut(FlowFields<'_>, WholeFlow<'_>) -> Result<(), RecordsError>,
    ) -> Result<u64, RecordsError> {
        self.read_flows(FlowRow::COLUMNS, |path, batch, index, fields| {
            visit(fields, WholeFlow { path, batch, index })
        })
    }

    /// Calls `visit` with every flow, in order, and returns the number of truncated rows at the end. Only the
    /// columns of [`FlowFields`] are read.
    ///
    /// # Errors
    /// If the table is missing or one of these fields of a row is invalid.
    pub fn visit_flow_fields(
        &self,
        mut visit: impl FnMut(FlowFields<'_>),
    ) -> Result<u64, RecordsError> {
        let is_field = |column: &&Column| FlowFields::COLUMNS.contains(&column.name);
        let columns: Vec<Column> = FlowRow::COLUMNS.iter().filter(is_field).copied().collect();
        self.read_flows(&columns, |_, _, _, fields| {
            visit(fields);
            Ok(())
        })
    }

    /// Calls `visit` for every flow, with the file's path, the batch, the row's index in the batch, and the fields.
    fn read_flows(
        &self,
        columns: &[Column],
        mut visit: impl FnMut(&Path, &Batch, usize, FlowFields<'_>) -> Result<(), RecordsError>,
    ) -> Result<u64, RecordsError> {
        self.read(FlowRow::FILE, FlowRow::REQUIRED, columns, |path, batch| {
            let places = batch.places(&FlowFields::COLUMNS);
            for index in 0..batch.len() {
                let fields = batch
                    .part(&places, index)
                    .map_err(|source| row_error(path, batch, index, source))?;
                visit(path, batch, index, fields)?;
            }
            Ok(())
        })
    }

    /// Calls `visit` with every batch of the named columns from `R`'s table, in order, and returns
    /// the number of truncated rows at the end.
    ///
    /// # Errors
    /// If a required table is missing, the table has an invalid field, or `visit` fails.
    pub fn visit_batches<R: Row, E: From<RecordsError>>(
        &self,
        columns: &[&str],
        mut visit: impl FnMut(&Batch) -> Result<(), E>,
    ) -> Result<u64, E> {
        let named = |column: &&Column| columns.contains(&column.name);
        let columns: Vec<Column> = R::COLUMNS.iter().filter(named).copied().collect();
        self.read(R::FILE, R::REQUIRED, &columns, |_, batch| visit(batch))
    }

    /// Reads the Parquet copy of a table if it exists, else the CSV.
    fn read<E: From<RecordsError>>(
        &self,
        file: &str,
        required: bool,
        columns: &[Column],
        mut visit: impl FnMut(&Path, &Batch) -> Result<(), E>,
    ) -> Result<u64, E> {
        let csv = self.path.join(file);
        let copy = parquet_table::path_of(&csv);
        let mut visit = |path: &Path, batch: &Batch| {
            self.check_policies(path, batch)?;
            visit(path, batch)
        };
        if copy.exists() {
            let visit = &mut |batch: &Batch| visit(&copy, batch);
            return parquet_table::read(&copy, columns, visit).map(|()| 0);
        }
        if !required && !csv.exists() {
            return Ok(0);
        }
        csv_table::read(&csv, columns, &mut |batch| visit(&csv, batch))
    }

    /// Checks that every row of a batch has a policy label that the run has.
    fn check_policies(&self, path: &Path, batch: &Batch) -> Result<(), RecordsError> {
        if !batch.columns().any(|(column, _)| column.name == POLICY) {
            return Ok(());
        }
        let policies = &self.info().policies;
        let is_known = |policy: Option<&str>| policies.iter().any(|known| Some(&**known) == policy);
        let texts = batch.texts(POLICY);
        let is_valid: Vec<bool> = texts.all_kept().map(|text| is_known(Some(text))).collect();
        let mut rows = 0..batch.len();
        let is_unknown = |&row: &usize| texts.position(row).is_none_or(|it| !is_valid[it]);
        let Some(index) = rows.find(is_unknown) else {
            return Ok(());
        };
        let policy = texts.at(index);
        Err(RecordsError::Row {
            path: path.to_owned(),
            line: batch.line(index),
            source: format!(
                "the run has no policy `{}`; it has {}",
                policy.unwrap_or_default(),
                policies.join(", ")
            )
            .into(),
        })
    }
}

/// Fails if `plan.json` is not a plan, or is in a format other than this program's; accepts a run without a plan.
fn check_plan(run_dir: &Path) -> Result<(), RecordsError> {
    let check = |found| format::check(&run_dir.join(PLAN_FILE), found, PLAN_FORMAT);
    match directory::read_plan::<PlanHead>(run_dir) {
        Ok(plan) => plan.map_or(Ok(()), |plan| check(plan.format)),
        Err(error) => {
            // A plan of another format may lack keys that this format requires, so its format is checked first.
            if let Ok(Some(plan)) = directory::read_plan::<PlanFormat>(run_dir) {
                check(plan.format)?;
            }
            Err(error)
        }
    }
}

/// Returns the error for the row at `index` of `batch`.
fn row_error(path: &Path, batch: &Batch, index: usize, source: value::Error) -> RecordsError {
    RecordsError::Row {
        path: path.to_owned(),
        line: batch.line(index),
        source: source.into(),
    }
}

/// Keys that a `plan.json` of every format has.
#[derive(Deserialize)]
struct PlanFormat {
    format: u32,
}

/// Keys that every `plan.json` of this program's format has.
#[derive(Deserialize)]
struct PlanHead {
    format: u32,
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "flows")]
    _flows: Vec<IgnoredAny>,
}

/// Name of the column with a policy's label.
const POLICY: &str = "policy";
