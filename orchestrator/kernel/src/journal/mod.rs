//! Journal of a lab: every change to the machine, recorded before it happens.
//!
//! `/run/lcmp-lab/<lab>/journal` has one JSON object per line. A line is complete before the objects
//! it names are created. Whenever an owner is killed, the journal therefore names at least every
//! object that exists; an incomplete last line names no object that exists. The journal is all that is needed to undo a
//! lab.

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

/// Mode of files that other users may neither read nor lock.
const OWNER_ONLY: u32 = 0o600;

/// Returns the hint for an I/O error, if there is one.
pub(crate) fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => " (hint: run as root)",
        io::ErrorKind::InvalidData => " (hint: `lcmp-lab down --forget LAB` sets it aside)",
        _ => "",
    }
}

/// Returns true if the error is damage of one lab's journal, false if it affects all labs.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::PermissionDenied
}

/// Converts a "not found" error to `None`.
pub(crate) fn if_found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Returns the directory for all labs on the machine.
pub(crate) fn base() -> PathBuf {
    PathBuf::from("/run/lcmp-lab")
}

/// Returns the directory of a lab, for its journal and sockets. It is removed with the lab.
#[must_use]
pub fn directory(lab: &LabName) -> PathBuf {
    base().join(lab.as_str())
}

/// Records the run directory that belongs to the lab. The record is removed with the lab.
pub(crate) fn record_run(lab: &LabName, run: &Path) -> io::Result<()> {
    symlink(std::path::absolute(run)?, run_link(lab))
}

/// Returns the lab's run directory as recorded by [`record_run`]; `None` if there is no record.
pub(crate) fn recorded_run(lab: &LabName) -> Option<PathBuf> {
    fs::read_link(run_link(lab)).ok()
}

fn run_link(lab: &LabName) -> PathBuf {
    directory(lab).join("run")
}

/// Returns the directory of a lab's own BPF file system.
pub(crate) fn bpf_directory(lab: &LabName) -> PathBuf {
    directory(lab).join("bpf")
}
