//! Facts of a run: its records, and the reasons to distrust them.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    ops::Deref,
    path::Path,
};

use lab_records::{
    Batch, FlowCounts, FlowFields, FlowRow, Grade, Reason, ReasonCode, RecordsError, Row, RunDir,
    Verdict, WholeFlow,
};

use crate::words;

/// A run, opened once for all code that judges it. Columns are read on demand; lost rows are counted as tables are
/// read.
#[derive(Debug)]
pub struct RunFacts {
    run: RunDir,
    /// Number of rows in `flows.csv`, including flows that are not measured; `None` until the flows have been read.
    flows: Cell<Option<u64>>,
    /// Number of truncated rows in each table that has been read, by file name.
    truncated: RefCell<BTreeMap<&'static str, u64>>,
}

impl RunFacts {
    /// Opens the run directory at `path`.
    ///
    /// # Errors
    /// If the directory has no records, or records of a format that this program cannot read.
    pub fn open(path: &Path) -> Result<Self, RecordsError> {
        Ok(RunDir::open(path)?.into())
    }

    /// Calls `visit` with each row of a table, as [`RunDir::visit`] does.
    ///
    /// # Errors
    /// If a required table is missing, or the table has an invalid row.
    pub fn visit<R: Row>(&self, mut visit: impl FnMut(R)) -> Result<(), RecordsError> {
        let mut rows = 0;
        let truncated = self.run.visit(|row| {
            rows += 1;
            visit(row);
        })?;
        self.keep::<R>(rows, truncated);
        Ok(())
    }

    /// Calls `visit` with each batch of the row type's columns that are named, as [`RunDir::visit_batches`] does.
    ///
    /// # Errors
    /// If a required table is missing, the table has an invalid field, or `visit` fails.
    pub fn visit_batches<R: Row, E: From<RecordsError>>(
        &self,
        columns: &[&str],
        mut visit: impl FnMut(&Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = 0;
        let truncated = self.run.visit_batches::<R, E>(columns, |batch| {
            rows += batch.len() as u64;
            visit(batch)
        })?;
        self.keep::<R>(rows, truncated);
        Ok(())
    }

    /// Calls `visit` with each flow, measured or not, as [`RunDir::visit_flows`] does.
    ///
    /// # Errors
    /// If the table is missing, has an invalid row, or `visit` fails.
    pub fn visit_flows(
        &self,
        mut visit: impl FnMut(FlowFields<'_>, WholeFlow<'_>) -> Result<(), RecordsError>,
    ) -> Result<(), RecordsError> {
        let mut rows = 0;
        let truncated = self.run.visit_flows(|fields, row| {
            rows += 1;
            visit(fields, row)
        })?;
        self.keep::<FlowRow>(rows, truncated);
        Ok(())
    }

    /// Calls `visit` with the fields of each measured flow and the index of its policy, as
    /// [`RunDir::visit_flow_fields`] does.
    ///
    /// # Errors
    /// If the table is missing, or one of these fields of a row is invalid.
    pub fn visit_measured(
        &self,
        mut visit: impl FnMut(usize, FlowFields<'_>),
    ) -> Result<(), RecordsError> {
        let info = self.run.info();
        let mut rows = 0;
        let truncated = self.run.visit_flow_fields(|fields| {
            rows += 1;
            if info.is_measured(fields.flow_id) {
                let policy = info.policies.iter().position(|it| it == fields.policy);
                visit(
                    policy.expect("records are read with rows of the run's policies only"),
                    fields,
                );
            }
        })?;
        self.keep::<FlowRow>(rows, truncated);
        Ok(())
    }

    /// Stores how many rows of a table were read and how many were truncated.
    fn keep<R: Row>(&self, rows: u64, truncated: u64) {
        if R::FILE == FlowRow::FILE {
            self.flows.set(Some(rows));
        }
        self.truncated.borrow_mut().insert(R::FILE, truncated);
    }

    fn truncated(&self) -> u64 {
        self.truncated.borrow().values().sum()
    }

    /// Judges the run's rows as they are now, by this program's rules; `counts` counts its flows by outcome.
    #[must_use]
    pub fn verdict(&self, counts: &FlowCounts) -> Verdict {
        let end = self.run.outcome().map(|outcome| &outcome.end);
        let mut verdict = Verdict::of(self.run.info(), end, counts);
        let truncated = Reason::count(ReasonCode::TruncatedTables, self.truncated());
        verdict.add(truncated);
        verdict
    }

    /// Returns the reasons to distrust the run, each as a sentence without its full stop: it did not end, reasons for
    /// its verdict, and rows lost since its end in tables read so far.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let Some(outcome) = self.run.outcome() else {
            return vec![words::reason(&Reason::fact(
                Grade::Doubtful,
                ReasonCode::DidNotEnd,
            ))];
        };
        let at_end = outcome.counts.flows;
        let changed = self.flows.get().filter(|&rows| rows != at_end);
        let lost =
            changed.map(|rows| format!("flow rows: {rows}, but the run ended with {at_end}"));
        let cut = Some(self.truncated()).filter(|&rows| rows > 0);
        let truncated = cut.map(|rows| format!("rows that are truncated and left out: {rows}"));
        let mut doubts = words::reasons(&outcome.verdict);
        doubts.extend(lost);
        doubts.extend(truncated);
        doubts
    }
}

impl From<RunDir> for RunFacts {
    fn from(run: RunDir) -> Self {
        Self {
            run,
            flows: Cell::new(None),
            truncated: RefCell::default(),
        }
    }
}

impl Deref for RunFacts {
    type Target = RunDir;

    fn deref(&self) -> &RunDir {
        &self.run
    }
}
