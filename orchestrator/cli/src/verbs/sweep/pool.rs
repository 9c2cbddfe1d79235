//! Processes that run the cells of a sweep, one thread each, and their progress.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    panic::resume_unwind,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use lab_kernel::doctor::available_memory;
use lab_sweep::{CellCost, CellQueue, Grid, Manifest, Store};
use lab_units::{Bytes, show::counted};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio_util::sync::CancellationToken;

use super::cell::estimate;
use crate::{
    failure::{During, Exit, Failure},
    progress::{about, bar},
    terminal::{self, note},
};

/// Runner of cells on this machine.
pub struct Pool<'a> {
    pub manifest: &'a Manifest,
    pub grid: &'a Grid<'a>,
    pub store: &'a Store,
    /// Maximum number of processes at a time.
    pub jobs: usize,
}

/// End of a cell's process.
struct Ended {
    number: usize,
    status: ExitStatus,
}

impl Pool<'_> {
    /// Runs the cells `waiting`, each with its number and identity, until all have ended or a signal arrives. A cell
    /// that fails does not end the others.
    pub fn run(&self, waiting: &[(usize, &str)]) -> Result<(), Failure> {
        if waiting.is_empty() {
            return Ok(());
        }
        let stop = CancellationToken::new();
        terminal::on_signal(
            &stop,
            "interrupted: stopping the cells",
            "still stopping them",
        )
        .during("listen to signals")?;
        let work = self.store.dir().join(WORK);
        remove(&work)?;
        fs::create_dir_all(&work).during(format_args!("create `{}`", work.display()))?;
        let mut queue = CellQueue::new(self.costs(waiting));
        let identities: BTreeMap<usize, &str> = waiting.iter().copied().collect();
        let memory = usable_memory();
        let mut meter = Meter::new(waiting.len());
        let mut running: BTreeMap<usize, Pid> = BTreeMap::new();
        let mut is_told = false;
        let mut broken: Option<Failure> = None;
        let (sender, ended) = mpsc::channel();
        loop {
            while broken.is_none() && !stop.is_cancelled() && running.len() < self.jobs {
                let Some(number) = queue.start(memory) else {
                    break;
                };
                match self.start(number, identities[&number]) {
                    Ok(child) => {
                        let id = i32::try_from(child.id()).expect("Linux's process ids are small");
                        running.insert(number, Pid::from_raw(id));
                        wait_for(child, number, sender.clone());
                    }
                    Err(failure) => broken = Some(failure),
                }
            }
            if running.is_empty() {
                break;
            }
            if (broken.is_some() || stop.is_cancelled()) && !is_told {
                is_told = true;
                for pid in running.values() {
                    let _ = kill(*pid, Signal::SIGTERM);
                }
            }
            match ended.recv_timeout(TICK) {
                Ok(end) => {
                    running.remove(&end.number);
                    match self.conclude(&end, identities[&end.number], is_told) {
                        Ok(measured) => {
                            queue.end(end.number, measured);
                            meter.end(&queue, self.jobs, measured.is_none() && !is_told);
                        }
                        Err(failure) => broken = broken.or(Some(failure)),
                    }
                }
                Err(RecvTimeoutError::Timeout) => meter.show(&queue, self.jobs),
                Err(RecvTimeoutError::Disconnected) => unreachable!("this thread has a sender"),
            }
        }
        meter.finish();
        let removed = remove(&work);
        broken.map_or(removed, Err)
    }

    /// Estimates the costs of cells. Cells of one point differ in the seed alone and cost the same, so only the first
    /// one is planned. A cell that cannot be planned costs nothing, and fails when it runs.
    fn costs(&self, waiting: &[(usize, &str)]) -> Vec<(usize, CellCost)> {
        let mut points: Vec<Vec<usize>> = Vec::new();
        let mut known = BTreeMap::new();
        for (number, _) in waiting {
            let index = *known
                .entry(self.grid.point(*number))
                .or_insert(points.len());
            if index == points.len() {
                points.push(Vec::new());
            }
            points[index].push(*number);
        }
        if points.len() > MANY_POINTS {
            note(&format!(
                "estimating the cost of {}",
                counted(points.len() as u64, "point")
            ));
        }
        let next = AtomicUsize::new(0);
        let estimate_points = || {
            let mut costs = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(cells) = points.get(at).filter(|_| !terminal::is_interrupted()) else {
                    return costs;
                };
                let first = self.manifest.cell(self.grid, cells[0]).ok();
                let planned = first.and_then(|cell| estimate(self.manifest, &cell).ok());
                let cost = planned.unwrap_or(CellCost {
                    seconds: 0.0,
                    memory: Bytes::ZERO,
                });
                costs.extend(cells.iter().map(|&number| (number, cost)));
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs.min(points.len()))
                .map(|_| scope.spawn(estimate_points))
                .collect();
            let costs = workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
            costs.collect()
        })
    }

    /// Starts the process of a cell; its standard error goes to a log.
    fn start(&self, number: usize, identity: &str) -> Result<Child, Failure> {
        let log = self.log(identity);
        let file = File::create(&log).during(format_args!("create `{}`", log.display()))?;
        // The file of this process, even if another one has taken its place.
        Command::new("/proc/self/exe")
            .arg("--results")
            .arg(self.store.dir().join(WORK).join(identity))
            .arg("sweep-cell")
            .arg(self.store.dir())
            .arg(number.to_string())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .during("start a cell's process")
    }

    /// Removes the files of an ended process; returns the cell's cost, or `None` if it failed, with its message on
    /// standard error, or was stopped.
    fn conclude(
        &self,
        end: &Ended,
        identity: &str,
        is_stopped: bool,
    ) -> Result<Option<CellCost>, Failure> {
        remove(&self.store.dir().join(WORK).join(identity))?;
        if end.status.success() {
            return Ok(self.store.cost(identity)?);
        }
        if is_stopped {
            return Ok(None);
        }
        let name = self.manifest.name_of(&self.grid.positions(end.number));
        let is_own = end
            .status
            .code()
            .is_some_and(|code| code > 0 && code <= MAX_EXIT);
        let message = match self.store.failure(identity)? {
            Some(message) if is_own => message,
            _ => {
                let message = died(end.status, &self.log(identity));
                self.store.write_failure(identity, &message)?;
                message
            }
        };
        let line = message.lines().next().unwrap_or_default();
        note(&format!("cell failed: {name}: {line}"));
        Ok(None)
    }

    fn log(&self, identity: &str) -> PathBuf {
        self.store.dir().join(WORK).join(format!("{identity}.log"))
    }
}

/// Folder in a sweep's directory with the run directories and logs of running cells.
const WORK: &str = "work";

/// Time between two looks at signals.
const TICK: Duration = Duration::from_millis(200);

/// Number of points from which the estimation is announced.
const MANY_POINTS: usize = 50;

/// Largest exit code of a process that ended by itself, with its failure written.
const MAX_EXIT: i32 = Exit::Invalid.code() as i32;

/// Returns the memory that cells may use together: nine tenths of what is available.
fn usable_memory() -> Bytes {
    Bytes::new(available_memory().get() / 10 * 9)
}

fn wait_for(mut child: Child, number: usize, sender: Sender<Ended>) {
    thread::spawn(move || {
        let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(1));
        let _ = sender.send(Ended { number, status });
    });
}

/// Returns the message for a process that did not end by itself, with the end of its log.
fn died(status: ExitStatus, log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(LOG_LINES).collect();
    let last = lines.into_iter().rev().collect::<Vec<_>>().join("\n");
    let cause = match status.signal() {
        Some(9) => {
            "its process was killed by signal 9, as the kernel does when memory runs out".to_owned()
        }
        Some(signal) => format!("its process was killed by signal {signal}"),
        None => format!(
            "its process ended with code {}",
            status.code().unwrap_or(-1)
        ),
    };
    if last.is_empty() {
        return cause;
    }
    format!("{cause}; it last wrote: {last}")
}

/// Number of a log's last lines that a message shows.
const LOG_LINES: usize = 5;

/// Removes a folder with everything in it, if it exists.
fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).during(format_args!("remove `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Progress of a sweep on standard error: a bar on a terminal, lines otherwise.
struct Meter {
    bar: Option<ProgressBar>,
    cells: usize,
    failed: usize,
    /// Time of the latest line; used only if no bar is drawn.
    shown: Instant,
}

impl Meter {
    fn new(cells: usize) -> Self {
        Self {
            bar: bar(
                cells as u64,
                "{prefix:>10} {bar:24.cyan/dim} {pos}/{len} {msg}",
            ),
            cells,
            failed: 0,
            shown: Instant::now(),
        }
    }

    fn end(&mut self, queue: &CellQueue, jobs: usize, is_failed: bool) {
        self.failed += usize::from(is_failed);
        self.show(queue, jobs);
    }

    fn show(&mut self, queue: &CellQueue, jobs: usize) {
        let ended = self.cells - queue.left();
        let mut message = queue.remaining(jobs).map_or_else(
            || "time left unknown".to_owned(),
            |left| {
                format!(
                    "about {} left",
                    about(Duration::from_secs(left.as_secs().max(1)))
                )
            },
        );
        if self.failed > 0 {
            message += &format!(", {} failed", self.failed);
        }
        match &self.bar {
            Some(bar) => {
                bar.set_prefix("cells");
                bar.set_position(ended as u64);
                bar.set_message(message);
            }
            None if self.shown.elapsed() >= BETWEEN_LINES => {
                self.shown = Instant::now();
                note(&format!("{ended} of {} cells ended, {message}", self.cells));
            }
            None => {}
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Time between two progress lines where no bar is drawn.
const BETWEEN_LINES: Duration = Duration::from_secs(10);
