//! Writing a run directory.

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    DecisionRow, FlowRow, LinkRow, Outcome, PfcRow, PortRow, QueueRow, Row, RunEnd, RunFile,
    RunInfo, StoryRow, SwitchRow, Tally, UtcTime, Verdict,
    columnar::{self, LARGE_TABLE_ROWS},
    create_run_dir,
    error::{Operation, RecordsError},
    file::write_whole,
    format::{FORMAT_VERSION, PLAN_FILE, SCENARIO_FILE},
};

/// Writes a run directory. Every append reaches the kernel before it returns, so that the rows are
/// there even if this process is killed next; so hand over many rows at once where there are many.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    file: RunFile,
    tally: Tally,
    large_table: u64,
    flows: TableWriter<FlowRow>,
    links: TableWriter<LinkRow>,
    queues: TableWriter<QueueRow>,
    decisions: TableWriter<DecisionRow>,
    /// Made with their first row, as many runs have none.
    switches: Option<TableWriter<SwitchRow>>,
    pfc: Option<TableWriter<PfcRow>>,
    ports: Option<TableWriter<PortRow>>,
    story: Option<TableWriter<StoryRow>>,
}

impl RunWriter {
    /// Makes a new run directory under `results_dir` and starts to write it; see
    /// [`create_run_dir`] and [`RunWriter::create_in`].
    ///
    /// # Errors
    /// When something cannot be made or written.
    pub fn create(
        results_dir: &Path,
        now: SystemTime,
        info: &RunInfo,
    ) -> Result<Self, RecordsError> {
        let dir = create_run_dir(results_dir, now, &info.scenario, &info.plan_hash)?;
        Self::create_in(&dir, now, info)
    }

    /// Starts to write the run directory `dir`, which exists and has no records yet: empty tables,
    /// and a `run.json` that says the run has not ended.
    ///
    /// # Errors
    /// When something cannot be made or written, or is there already.
    pub fn create_in(dir: &Path, now: SystemTime, info: &RunInfo) -> Result<Self, RecordsError> {
        let writer = Self {
            flows: TableWriter::create(dir)?,
            links: TableWriter::create(dir)?,
            queues: TableWriter::create(dir)?,
            decisions: TableWriter::create(dir)?,
            switches: None,
            pfc: None,
            ports: None,
            story: None,
            tally: Tally::default(),
            large_table: LARGE_TABLE_ROWS,
            file: RunFile {
                format: FORMAT_VERSION,
                started_at: UtcTime::new(now),
                info: info.clone(),
                outcome: None,
            },
            dir: dir.to_owned(),
        };
        writer.file.write(dir)?;
        Ok(writer)
    }

    /// The run directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the flows written so far add up to.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// Copies by column the tables of more than `rows` rows, instead of [`LARGE_TABLE_ROWS`].
    #[must_use]
    pub const fn with_large_table(mut self, rows: u64) -> Self {
        self.large_table = rows;
        self
    }

    /// Keeps the scenario's text beside the records.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_scenario(&self, text: &str) -> Result<(), RecordsError> {
        write_whole(&self.dir.join(SCENARIO_FILE), text)
    }

    /// Keeps the plan's JSON beside the records.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_plan(&self, text: &str) -> Result<(), RecordsError> {
        write_whole(&self.dir.join(PLAN_FILE), text)
    }

    /// Adds a flow.
    ///
    /// # Errors
    /// When the row cannot be written.
    pub fn append_flow(&mut self, row: &FlowRow) -> Result<(), RecordsError> {
        self.flows.append([row])?;
        self.tally.add(row);
        Ok(())
    }

    /// Adds link counters.
    ///
    /// # Errors
    /// When a row cannot be written.
    pub fn append_links(&mut self, rows: &[LinkRow]) -> Result<(), RecordsError> {
        self.links.append(rows)
    }

    /// Adds queue samples.
    ///
    /// # Errors
    /// When a row cannot be written.
    pub fn append_queues(&mut self, rows: &[QueueRow]) -> Result<(), RecordsError> {
        self.queues.append(rows)
    }

    /// Adds decisions.
    ///
    /// # Errors
    /// When a row cannot be written.
    pub fn append_decisions(&mut self, rows: &[DecisionRow]) -> Result<(), RecordsError> {
        self.decisions.append(rows)
    }

    /// Adds how switches fared; the table is there only if some switch was asked.
    ///
    /// # Errors
    /// When the table cannot be made or a row cannot be written.
    pub fn append_switches(&mut self, rows: &[SwitchRow]) -> Result<(), RecordsError> {
        append_late(&mut self.switches, &self.dir, rows)
    }

    /// Adds pauses and resumes of ports; the table is there only if there were any.
    ///
    /// # Errors
    /// When the table cannot be made or a row cannot be written.
    pub fn append_pfc(&mut self, rows: &[PfcRow]) -> Result<(), RecordsError> {
        append_late(&mut self.pfc, &self.dir, rows)
    }

    /// Adds totals of ports; the table is there only if somebody counted.
    ///
    /// # Errors
    /// When the table cannot be made or a row cannot be written.
    pub fn append_ports(&mut self, rows: &[PortRow]) -> Result<(), RecordsError> {
        append_late(&mut self.ports, &self.dir, rows)
    }

    /// Adds what happened to single flows; the table is there only if something was told.
    ///
    /// # Errors
    /// When the table cannot be made or a row cannot be written.
    pub fn append_story(&mut self, rows: &[StoryRow]) -> Result<(), RecordsError> {
        append_late(&mut self.story, &self.dir, rows)
    }

    /// Completes the run: brings all tables to the disk, copies the large
    /// ones by column, judges the run and writes how it went.
    ///
    /// # Errors
    /// When something cannot be written.
    pub fn finish(mut self, end: RunEnd) -> Result<(PathBuf, Outcome), RecordsError> {
        let (dir, large) = (&self.dir, self.large_table);
        self.flows.close(dir, large)?;
        self.links.close(dir, large)?;
        self.queues.close(dir, large)?;
        self.decisions.close(dir, large)?;
        let switches = self.switches;
        switches.map_or(Ok(()), |table| table.close(dir, large))?;
        self.pfc.map_or(Ok(()), |table| table.close(dir, large))?;
        self.ports.map_or(Ok(()), |table| table.close(dir, large))?;
        self.story.map_or(Ok(()), |table| table.close(dir, large))?;
        let outcome = Outcome {
            verdict: Verdict::of(&self.file.info, Some(&end), &self.tally),
            tally: self.tally,
            end,
        };
        self.file.outcome = Some(outcome.clone());
        self.file.write(&self.dir)?;
        Ok((self.dir, outcome))
    }
}

/// Adds `rows` to a table that is made with its first row.
fn append_late<R: Row>(
    table: &mut Option<TableWriter<R>>,
    run_dir: &Path,
    rows: &[R],
) -> Result<(), RecordsError> {
    if rows.is_empty() {
        return Ok(());
    }
    let table = match table {
        Some(table) => table,
        None => table.insert(TableWriter::create(run_dir)?),
    };
    table.append(rows)
}

/// Writes the rows of one table.
#[derive(Debug)]
struct TableWriter<R> {
    path: PathBuf,
    csv: csv::Writer<File>,
    count: u64,
    rows: std::marker::PhantomData<fn(&R)>,
}

impl<R: Row> TableWriter<R> {
    /// Makes the file in `run_dir`, with its header.
    fn create(run_dir: &Path) -> Result<Self, RecordsError> {
        let path = run_dir.join(R::FILE);
        let file = File::create_new(&path).map_err(Operation::CreateFile.failed(&path))?;
        let mut csv = csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(file);
        let header = csv.write_record(R::COLUMNS.iter().map(|column| column.name));
        let mut table = Self {
            path,
            csv,
            count: 0,
            rows: std::marker::PhantomData,
        };
        header.map_err(|source| table.refused(source))?;
        table.flush()?;
        Ok(table)
    }

    fn append<'a>(&mut self, rows: impl IntoIterator<Item = &'a R>) -> Result<(), RecordsError>
    where
        R: 'a,
    {
        for row in rows {
            let written = self.csv.serialize(row);
            written.map_err(|source| self.refused(source))?;
            self.count += 1;
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), RecordsError> {
        let flushed = self.csv.flush();
        flushed.map_err(Operation::Write.failed(&self.path))
    }

    /// Brings it to the disk, and copies it by column if it has more than `large` rows.
    fn close(mut self, run_dir: &Path, large: u64) -> Result<(), RecordsError> {
        self.flush()?;
        let synced = self.csv.get_ref().sync_all();
        synced.map_err(Operation::Sync.failed(&self.path))?;
        if self.count > large {
            columnar::copy::<R>(run_dir)?;
        }
        Ok(())
    }

    fn refused(&self, source: csv::Error) -> RecordsError {
        RecordsError::Write {
            path: self.path.clone(),
            source,
        }
    }
}
