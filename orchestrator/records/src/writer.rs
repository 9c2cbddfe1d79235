//! Writing a run directory.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    DecisionRow, FlowRow, LinkRow, Outcome, QueueRow, Row, RunEnd, RunFile, RunInfo, Tally,
    UtcTime, Verdict,
    error::{Operation, RecordsError},
    file::{point_latest, write_whole},
    format::{FORMAT_VERSION, PLAN_FILE, SCENARIO_FILE},
};

/// Writes a run directory. Every append reaches the kernel before it returns, so that the rows are
/// there even if this process is killed next.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    file: RunFile,
    tally: Tally,
    flows: TableWriter<FlowRow>,
    links: TableWriter<LinkRow>,
    queues: TableWriter<QueueRow>,
    decisions: TableWriter<DecisionRow>,
}

impl RunWriter {
    /// Makes a new directory under `results_dir`, named after `now`, the scenario and the plan, with
    /// empty tables, and points `latest` at it.
    ///
    /// # Errors
    /// When something cannot be made or written.
    pub fn create(
        results_dir: &Path,
        now: SystemTime,
        info: &RunInfo,
    ) -> Result<Self, RecordsError> {
        fs::create_dir_all(results_dir).map_err(Operation::CreateDir.failed(results_dir))?;
        let started_at = UtcTime::new(now);
        let name = make_run_dir(results_dir, &run_name(started_at, info))?;
        let dir = results_dir.join(&name);
        let file = RunFile {
            format: FORMAT_VERSION,
            started_at,
            info: info.clone(),
            outcome: None,
        };
        file.write(&dir)?;
        let writer = Self {
            flows: TableWriter::create(&dir)?,
            links: TableWriter::create(&dir)?,
            queues: TableWriter::create(&dir)?,
            decisions: TableWriter::create(&dir)?,
            tally: Tally::default(),
            file,
            dir,
        };
        point_latest(results_dir, &name)?;
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

    /// Completes the run: brings all tables to the disk, judges the run and writes how it went.
    ///
    /// # Errors
    /// When something cannot be written.
    pub fn finish(mut self, end: RunEnd) -> Result<(PathBuf, Outcome), RecordsError> {
        self.flows.sync()?;
        self.links.sync()?;
        self.queues.sync()?;
        self.decisions.sync()?;
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

/// Writes the rows of one table.
#[derive(Debug)]
struct TableWriter<R> {
    path: PathBuf,
    csv: csv::Writer<File>,
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
        let header = csv.write_record(R::COLUMNS);
        let mut table = Self {
            path,
            csv,
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
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), RecordsError> {
        let flushed = self.csv.flush();
        flushed.map_err(Operation::Write.failed(&self.path))
    }

    fn sync(&mut self) -> Result<(), RecordsError> {
        self.flush()?;
        let synced = self.csv.get_ref().sync_all();
        synced.map_err(Operation::Sync.failed(&self.path))
    }

    fn refused(&self, source: csv::Error) -> RecordsError {
        RecordsError::Write {
            path: self.path.clone(),
            source,
        }
    }
}

/// `20261121T093000Z-8dc-1f2e3d4c`.
fn run_name(started_at: UtcTime, info: &RunInfo) -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let scenario: String = info.scenario.chars().filter(kept).take(MAX_NAME).collect();
    let hash = info.plan_hash.chars().filter(char::is_ascii_hexdigit);
    let hash: String = hash.take(SHORT_HASH).collect();
    format!("{}-{scenario}-{hash}", started_at.file_name())
}

/// Makes the directory `name`, or `name-2` and so on if another run of the same second has it.
fn make_run_dir(results_dir: &Path, name: &str) -> Result<String, RecordsError> {
    for attempt in 1..=MAX_SAME_SECOND {
        let name = match attempt {
            1 => name.to_owned(),
            attempt => format!("{name}-{attempt}"),
        };
        let path = results_dir.join(&name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(name),
            Err(source)
                if source.kind() == io::ErrorKind::AlreadyExists && attempt < MAX_SAME_SECOND => {}
            Err(source) => return Err(Operation::CreateDir.failed(path)(source)),
        }
    }
    unreachable!("the last attempt returns")
}

/// Characters of a scenario's name in a directory's name.
const MAX_NAME: usize = 32;

/// Digits of a hash that people tell runs apart by.
const SHORT_HASH: usize = 8;

/// Runs of one plan started in one second that get a directory of their own.
const MAX_SAME_SECOND: u32 = 100;
