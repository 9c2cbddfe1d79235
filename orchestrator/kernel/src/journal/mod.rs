//! The journal of a lab: everything that was done to the machine, written down before it is done.
//!
//! `/run/lcmp-lab/<lab>/journal` has one JSON object on each line. A line is complete before what it
//! names is made, so whatever the moment an owner is killed at, the journal names at least all there
//! is; a torn last line names nothing that exists. Undoing needs nothing but the journal.

mod entry;
mod file;
mod lock;
mod state;

pub(crate) use self::{
    entry::FORMAT,
    file::{Contents, Journal},
    lock::MachineLock,
    state::{labs, now, read},
};
pub use self::{
    entry::{Entry, Head, NodeEntry, Owner, Place},
    state::{LabState, Status},
};

use std::{io, path::PathBuf};

use crate::name::LabName;

/// What would help.
pub(crate) fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => " (hint: run as root)",
        _ => "",
    }
}

/// Where all labs of the machine are written down.
pub(crate) fn base() -> PathBuf {
    PathBuf::from("/run/lcmp-lab")
}

/// The directory of a lab, for its journal and for sockets that go with it: whatever is in it is
/// removed with the lab.
#[must_use]
pub fn directory(lab: &LabName) -> PathBuf {
    base().join(lab.as_str())
}
