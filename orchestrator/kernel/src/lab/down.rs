//! Taking labs down by their journals, and what labs there are.

use std::{
    fs, io,
    thread::sleep,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;

use crate::{
    exec::{UndoError, undo},
    journal::{self, Contents, FORMAT, LabState, MachineLock, Status},
    name::LabName,
    process,
};

/// What to do about a lab whose owner is at work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Live {
    /// Leave it.
    Refuse,
    /// Ask the owner to stop, then make it.
    Stop,
}

/// Why a lab cannot be taken down.
#[derive(Debug, thiserror::Error)]
pub enum DownError {
    /// There is none of the name.
    #[error("there is no lab `{lab}` (hint: `lcmp-lab status` lists them)")]
    NoLab {
        /// The name.
        lab: LabName,
    },
    /// Its owner is at work.
    #[error("lab `{}` is running: process {}", status.lab, status.owner_pid.unwrap_or_default())]
    Live {
        /// Whose it is.
        status: Box<Status>,
    },
    /// Its journal is of another version of this program.
    #[error(
        "the journal of lab `{lab}` has format {found}, this program knows {FORMAT} (hint: take it \
         down with the program that made it)"
    )]
    Format {
        /// The lab.
        lab: LabName,
        /// Its journal's format.
        found: u32,
    },
    /// Files cannot be read or removed.
    #[error("cannot take labs down: {error}{}", journal::hint(error))]
    Io {
        /// Why.
        #[from]
        error: io::Error,
    },
}

/// Takes a lab down, whoever made it and however it ended, and returns what could not be undone.
///
/// # Errors
/// When there is no such lab, it is left alone on purpose, or its journal cannot be read.
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
        // The owner took it down itself.
        return Ok(Vec::new());
    };
    if state == LabState::Live {
        let status = Box::new(Status::of(lab.clone(), &contents, state));
        return Err(DownError::Live { status });
    }
    clear_known(lab, &contents)
}

/// Takes all labs of the machine down, and returns what came of each.
///
/// # Errors
/// When the labs cannot be listed.
#[expect(clippy::type_complexity, reason = "a list of what it says")]
pub fn down_all(live: Live) -> io::Result<Vec<(LabName, Result<Vec<UndoError>, DownError>)>> {
    let labs = journal::labs()?.into_iter();
    Ok(labs.map(|lab| (lab.clone(), down(&lab, live))).collect())
}

/// The labs of the machine.
///
/// # Errors
/// When they cannot be listed.
pub fn status() -> io::Result<Vec<Status>> {
    let mut found = Vec::new();
    for lab in journal::labs()? {
        let read = journal::read(&lab)?;
        found.extend(read.map(|(contents, state)| Status::of(lab, &contents, state)));
    }
    Ok(found)
}

/// Undoes a lab and removes its files; with errors the journal stays, to try again. The machine's
/// lock is held.
pub(super) fn clear(lab: &LabName, contents: &Contents) -> io::Result<Vec<UndoError>> {
    let this_boot = match contents.head() {
        Some(head) => head.boot_id == process::boot_id()?,
        None => false,
    };
    let errors = if this_boot {
        undo(lab, contents)
    } else {
        // Nothing of an earlier boot is left but files.
        Vec::new()
    };
    if errors.is_empty() {
        // The journal last: until then the rest can be found again.
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

fn clear_known(lab: &LabName, contents: &Contents) -> Result<Vec<UndoError>, DownError> {
    match contents.head() {
        Some(head) if head.format != FORMAT => Err(DownError::Format {
            lab: lab.clone(),
            found: head.format,
        }),
        _ => Ok(clear(lab, contents)?),
    }
}

/// Asks the owner of a live lab to stop and waits; one that does not is killed.
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
        let patience = Instant::now() + PATIENCE;
        while Instant::now() < patience {
            let live = matches!(journal::read(lab)?, Some((_, LabState::Live)));
            if !live {
                return Ok(());
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

/// An owner ends its processes and takes its lab down in a few seconds.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(20);
