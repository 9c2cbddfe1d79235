//! Processes that run the cells of a sweep, one thread each.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{self, Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use lab_kernel::doctor::available_memory;
use lab_sweep::{CellCost, CellQueue, Grid, Manifest, Store};
use lab_units::Bytes;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio_util::sync::CancellationToken;

use super::meter::Meter;
use crate::{
    failure::{During, Exit, Failure},
    terminal::{self, note},
};

/// Runner of cells on this machine.
pub struct Pool<'a> {
    pub manifest: &'a Manifest,
    pub grid: &'a Grid<'a>,
    pub store: &'a Store,
    /// Maximum number of processes at a time.
    pub jobs: usize,
    /// Folder for the run directories and logs of running cells.
    pub work: PathBuf,
    /// Action on the death of a cell's process.
    pub on_death: OnDeath,
}

/// Action if a cell's process ends without results or a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OnDeath {
    /// The cell has failed.
    Fail,
    /// The cell may be tried again; the death is only noted.
    Note,
}

/// End of a cell's process.
struct Ended {
    number: usize,
    status: ExitStatus,
}

impl Pool<'_> {
    /// Runs the cells `waiting`, each with its number and identity, in the order of `queue` until all have ended or a
    /// signal arrives. A cell that fails does not end the others.
    pub fn run(&self, waiting: &[(usize, &str)], mut queue: CellQueue) -> Result<(), Failure> {
        let stop = CancellationToken::new();
        terminal::on_signal(
            &stop,
            "interrupted: stopping the cells",
            "still stopping them",
        )
        .during("listen to signals")?;
        let work = &self.work;
        remove(work)?;
        fs::create_dir_all(work).during(format_args!("create `{}`", work.display()))?;
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
                // Nothing of a cell is kept until it has ended, and it may compute for minutes without looking at signals.
                for pid in running.values() {
                    let _ = kill(*pid, Signal::SIGKILL);
                }
            }
            match ended.recv_timeout(TICK) {
                Ok(end) => {
                    running.remove(&end.number);
                    match self.conclude(&end, identities[&end.number], is_told) {
                        Ok(measured) => {
                            queue.end(end.number, measured);
                            meter.failed += usize::from(measured.is_none() && !is_told);
                            meter.show(&queue, self.jobs, "");
                        }
                        Err(failure) => broken = broken.or(Some(failure)),
                    }
                }
                Err(RecvTimeoutError::Timeout) => meter.show(&queue, self.jobs, ""),
                Err(RecvTimeoutError::Disconnected) => unreachable!("this thread has a sender"),
            }
        }
        meter.finish();
        let removed = remove(work);
        broken.map_or(removed, Err)
    }

    /// Starts the process of a cell; its standard error goes to a log.
    fn start(&self, number: usize, identity: &str) -> Result<Child, Failure> {
        let log = self.log(identity);
        let file = File::create(&log).during(format_args!("create `{}`", log.display()))?;
        // The file of this process, even if another one has taken its place.
        Command::new("/proc/self/exe")
            .arg("--results")
            .arg(self.work.join(identity))
            .arg("sweep-cell")
            .arg(self.store.dir())
            .arg(number.to_string())
            .arg(process::id().to_string())
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
        remove(&self.work.join(identity))?;
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
                if self.on_death == OnDeath::Fail {
                    self.store.write_failure(identity, &message)?;
                }
                message
            }
        };
        let line = message.lines().next().unwrap_or_default();
        note(&format!("cell failed: {name}: {line}"));
        Ok(None)
    }

    fn log(&self, identity: &str) -> PathBuf {
        self.work.join(format!("{identity}.log"))
    }
}

/// Time between two looks at signals.
const TICK: Duration = Duration::from_millis(200);

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
    let is_no_warning =
        |line: &&str| !line.starts_with("warning: ") && !line.starts_with("assumed: ");
    let lines: Vec<&str> = text
        .lines()
        .rev()
        .filter(is_no_warning)
        .take(LOG_LINES)
        .collect();
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
