//! Journal of a lab, in which every change to the machine is recorded before it is made.
//!
//! `/run/lcmp-lab/<lab>/journal` contains one JSON object per line. A line is complete before the objects that it lists
//! are created. So even if the owner is killed, the journal lists at least every object that exists; an incomplete last
//! line lists only objects that were not created. Nothing but the journal is needed to undo a lab.

mod entry;
mod file;
mod lock;
mod state;

pub use lab_records::Location;

pub use self::state::{LabState, Status};
pub(crate) use self::{
    entry::{Entry, FORMAT, JournalHead, NodeEntry, Owner, Process, Undone},
    file::{Contents, Journal},
    lock::MachineLock,
    state::{labs, now, read},
};

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::name::LabName;

/// Mode of files that other users can neither read nor lock.
const OWNER_ONLY: u32 = 0o600;

/// Returns the hint for an I/O error of a journal, with a leading space; empty for errors without a hint.
pub(crate) fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => " (hint: run as root)",
        io::ErrorKind::InvalidData => {
            " (hint: `lcmp-lab down --forget LAB` moves the lab's directory aside)"
        }
        _ => "",
    }
}

/// Returns true if the error means that one lab's journal is damaged; false if it affects all labs.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::PermissionDenied
}

/// Converts a "not found" error to `None`, and a result to `Some`.
pub(crate) fn if_found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Returns the directory that contains the directories of all labs on the machine.
pub(crate) fn base() -> PathBuf {
    PathBuf::from("/run/lcmp-lab")
}

/// Returns the directory of a lab, which contains its journal and sockets and is removed with the lab.
#[must_use]
pub fn directory(lab: &LabName) -> PathBuf {
    base().join(lab.as_str())
}

/// Records the path of the lab's run directory. The record is removed with the lab.
pub(crate) fn record_run(lab: &LabName, run: &Path) -> io::Result<()> {
    symlink(std::path::absolute(run)?, run_link(lab))
}

/// Returns the path of the lab's run directory as recorded by [`record_run`]; `None` if there is no record.
pub(crate) fn recorded_run(lab: &LabName) -> Option<PathBuf> {
    fs::read_link(run_link(lab)).ok()
}

fn run_link(lab: &LabName) -> PathBuf {
    directory(lab).join("run")
}

/// Returns the mount point of a lab's own BPF file system.
pub(crate) fn bpf_directory(lab: &LabName) -> PathBuf {
    directory(lab).join("bpf")
}
