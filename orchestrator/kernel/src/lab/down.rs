//! Removal of labs according to their journals, and the list of labs.

use std::{
    fs, io,
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;

use super::patience::{self, Patience};
use crate::{
    exec::{UndoError, undo},
    journal::{self, Contents, FORMAT, Journal, LabState, MachineLock, Status},
    name::LabName,
    process,
};

/// Treatment of a lab whose owner is still running.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Live {
    /// Leave the lab up and report an error.
    Refuse,
    /// Ask the owner to stop, then kill it.
    Stop,
}

/// Reason why a lab cannot be taken down.
#[derive(Debug, thiserror::Error)]
pub enum DownError {
    #[error("there is no lab `{lab}` (hint: `lcmp-lab status` lists all labs)")]
    NoLab { lab: LabName },
    #[error("lab `{}` is running: process {}", status.lab, status.owner_pid.unwrap_or_default())]
    Live { status: Box<Status> },
    #[error(
        "the journal of lab `{lab}` is intact, so the lab must be taken down (hint: `lcmp-lab down {lab}`)"
    )]
    Readable { lab: LabName },
    #[error("cannot take labs down: {error}{}", journal::hint(error))]
    Io {
        #[from]
        error: io::Error,
    },
}

/// Takes down a lab of any owner, and returns an error for each object that remains. Fails if the lab does not exist,
/// its owner is running (with [`Live::Refuse`]), or its journal cannot be read.
pub fn down(lab: &LabName, live: Live) -> Result<Vec<UndoError>, DownError> {
    let lock = MachineLock::take()?;
    if journal::read(lab)?.is_none() {
        return Err(DownError::NoLab { lab: lab.clone() });
    }
    drop(lock);
    if live == Live::Stop {
        stop_owner(lab)?;
    }
    let _lock = MachineLock::take()?;
    let Some((contents, state)) = journal::read(lab)? else {
        // The owner has taken the lab down itself.
        return Ok(Vec::new());
    };
    if state == LabState::Live {
        let status = Box::new(Status::of(lab.clone(), &contents, state));
        return Err(DownError::Live { status });
    }
    Ok(clear(lab, &contents)?)
}

/// Takes down all labs of the machine and returns the result for each of them.
#[expect(clippy::type_complexity, reason = "a list of named results")]
pub fn down_all(live: Live) -> io::Result<Vec<(LabName, Result<Vec<UndoError>, DownError>)>> {
    let labs = journal::labs()?.into_iter();
    Ok(labs.map(|lab| (lab.clone(), down(&lab, live))).collect())
}

/// Renames a lab's directory if the lab's journal is damaged or has another format, so that the lab is no longer
/// listed, and returns the directory's new path. The lab's objects on this machine stay. Fails if the lab does not
/// exist or can be taken down.
pub fn forget(lab: &LabName) -> Result<PathBuf, DownError> {
    let _lock = MachineLock::take()?;
    match journal::read(lab) {
        Ok(None) => return Err(DownError::NoLab { lab: lab.clone() }),
        Ok(Some((contents, _))) if contents.head().is_none_or(|head| head.format == FORMAT) => {
            return Err(DownError::Readable { lab: lab.clone() });
        }
        Ok(Some(_)) => {}
        Err(error) if journal::is_damage(&error) => {}
        Err(error) => return Err(error.into()),
    }
    let directory = journal::directory(lab);
    // A lab's name has no dot, so the renamed directory is no longer listed as a lab.
    let aside = directory.with_file_name(format!(".{lab}-{}", journal::now()));
    fs::rename(&directory, &aside)?;
    Ok(aside)
}

/// Returns the status of every lab of the machine.
pub fn status() -> io::Result<Vec<Status>> {
    let mut found = Vec::new();
    for lab in journal::labs()? {
        found.extend(match journal::read(&lab) {
            Err(error) => Some(Status::unreadable(lab, &error)),
            Ok(read) => read.map(|(contents, state)| Status::of(lab, &contents, state)),
        });
    }
    Ok(found)
}

/// Removes a lab's objects, then its files. After an error the journal stays, so that another attempt can remove the
/// remaining objects. The caller must hold the machine's lock.
pub(super) fn clear(lab: &LabName, contents: &Contents) -> io::Result<Vec<UndoError>> {
    let errors = match contents.head() {
        Some(head) if head.format != FORMAT => {
            let lab = lab.clone();
            let found = head.format;
            vec![UndoError::Format { lab, found }]
        }
        Some(head) if head.boot_id == process::boot_id()? => {
            undo(lab, contents, &mut Journal::open(&journal::directory(lab))?)
        }
        // After a reboot only the lab's files exist.
        Some(_) | None => Vec::new(),
    };
    if errors.is_empty() {
        // The journal is removed last, because it lists all other objects.
        let directory = journal::directory(lab);
        let journal = directory.join("journal");
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path != journal {
                remove(&path)?;
            }
        }
        fs::remove_dir_all(&directory)?;
    }
    Ok(errors)
}

/// Asks the owner of a live lab to stop, waits as long as the owner uses CPU time, and kills the owner if it does not
/// end.
fn stop_owner(lab: &LabName) -> io::Result<()> {
    let owner = match journal::read(lab)? {
        Some((contents, LabState::Live)) => contents.head().map(|head| head.owner.process),
        _ => None,
    };
    let Some(owner) = owner else {
        return Ok(());
    };
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        owner.signal(signal)?;
        let start = Instant::now();
        let mut patience = Patience::new(start, patience::worked(owner.pid));
        let mut is_said = false;
        loop {
            let live = matches!(journal::read(lab)?, Some((_, LabState::Live)));
            if !live {
                return Ok(());
            }
            if patience.is_over(Instant::now(), patience::worked(owner.pid)) {
                break;
            }
            if start.elapsed() > SILENCE && !is_said {
                tracing::warn!(%lab, process = owner.pid, "waiting for the lab's owner to end its run");
                is_said = true;
            }
            sleep(PAUSE);
        }
    }
    Ok(())
}

fn remove(path: &std::path::Path) -> io::Result<()> {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

/// Time of waiting for the owner to end after which a message is logged.
const SILENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(50);
