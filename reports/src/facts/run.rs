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

/// Run directory, opened once for all code that judges the run. Columns are read on demand; lost rows are counted as
/// tables are read.
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

    /// Calls `visit` with batches of the named columns of `R`'s table, as [`RunDir::visit_batches`] does.
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

    /// Stores how many rows of a table were truncated and, for `flows.csv`, how many were read.
    fn keep<R: Row>(&self, rows: u64, truncated: u64) {
        if R::FILE == FlowRow::FILE {
            self.flows.set(Some(rows));
        }
        self.truncated.borrow_mut().insert(R::FILE, truncated);
    }

    /// Returns the verdict that was stored when the run ended, corrected for rows that have been lost since then in the
    /// tables read so far.
    ///
    /// Commands that use several runs (`fidelity`, `compare`, `regress`, `reproduce`) use this verdict: they read a few
    /// columns of the measured flows, which do not give the counts of all flows.
    #[must_use]
    pub fn stored_verdict(&self) -> Verdict {
        let Some(outcome) = self.run.outcome() else {
            let did_not_end = Reason::fact(Grade::Doubtful, ReasonCode::DidNotEnd);
            return Verdict {
                grade: did_not_end.grade,
                reasons: vec![did_not_end],
            };
        };
        let mut verdict = outcome.verdict.clone();
        if let Some(rows) = self.flows.get()
            && rows != outcome.counts.flows
        {
            let code = ReasonCode::UnrecordedFlows;
            verdict.reasons.retain(|reason| reason.code != code);
            let lost = Reason::part(code, rows, self.run.info().total_flows());
            verdict.add(lost.graded(Grade::Invalid));
        }
        verdict.add(self.truncated());
        verdict
    }

    /// Returns the verdict that this program's rules give for the run's rows as they are now; `counts` covers all
    /// flows, measured or not.
    ///
    /// Commands that use one run and read every flow (`report`, `coverage`) use this verdict. `verify` compares it with
    /// the stored verdict.
    #[must_use]
    pub fn verdict_of_rows(&self, counts: &FlowCounts) -> Verdict {
        let end = self.run.outcome().map(|outcome| &outcome.end);
        let mut verdict = Verdict::of(self.run.info(), end, counts);
        verdict.add(self.truncated());
        verdict
    }

    /// Returns the reasons of the [stored verdict](Self::stored_verdict), each as a sentence without its full stop.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        words::reasons(&self.stored_verdict())
    }

    /// Returns the verdict's reason about truncated rows in the tables read so far.
    fn truncated(&self) -> Reason {
        let rows = self.truncated.borrow().values().sum();
        Reason::count(ReasonCode::TruncatedTables, rows)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use lab_records::{RunInfo, RunWriter};
    use lab_sample as sample;

    use super::*;
    use crate::testing;

    #[test]
    fn the_stored_verdict_and_that_of_the_rows_agree_on_lost_rows() {
        let info = RunInfo {
            scheduled_flows: 2,
            ..testing::info()
        };
        let lost = "3 of 4 scheduled flows recorded";
        let truncated = "1 table with a truncated last row, which is left out";
        let whole = |text: &str| text.len();
        let without_a_row = |text: &str| text.trim_end().rfind('\n').unwrap() + 1;
        let without_a_part = |text: &str| text.len() - 20;
        for (end, reasons) in [
            (&whole as &dyn Fn(&str) -> usize, vec![]),
            (&without_a_row, vec![lost]),
            (&without_a_part, vec![lost, truncated]),
        ] {
            let files = tempfile::tempdir().unwrap();
            let mut writer = RunWriter::create_in(files.path(), sample::now(), &info).unwrap();
            for (policy, id) in [("a", 0), ("a", 1), ("b", 0), ("b", 1)] {
                let flow = testing::flow(policy, id, Some(2.0));
                writer.append_flows([&flow]).unwrap();
            }
            writer.finish(sample::end()).unwrap();
            let table = files.path().join(FlowRow::FILE);
            let text = fs::read_to_string(&table).unwrap();
            fs::write(&table, &text[..end(&text)]).unwrap();

            let run = RunFacts::open(files.path()).unwrap();
            let mut counts = FlowCounts::default();
            run.visit_measured(|_, fields| counts.add(fields, 1))
                .unwrap();
            assert_eq!(run.doubts(), reasons);
            assert_eq!(run.stored_verdict(), run.verdict_of_rows(&counts));
        }
    }
}
