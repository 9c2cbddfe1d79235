//! Errors of bringing a lab up.

use std::{fmt, io};

use crate::{
    exec::{Difference, StepError, UndoError},
    netlink::NetlinkError,
};

/// Error of bringing a lab up, with the objects that remain.
#[derive(Debug, thiserror::Error)]
pub struct LabError {
    /// Cause of the failure.
    #[source]
    pub kind: LabErrorKind,
    /// Objects that could not be removed.
    pub left: Vec<UndoError>,
}

/// Cause of a failed lab.
#[derive(Debug, thiserror::Error)]
pub enum LabErrorKind {
    /// A step failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The kernel's state differs from the steps.
    #[error("the kernel's state differs from the steps: {}", list(differences))]
    Differs {
        /// All differences.
        differences: Vec<Difference>,
    },
    /// A name of the lab is in use.
    #[error(
        "{what} `{name}` is there already and is not this lab's (hint: `--lab NAME` makes another)"
    )]
    Exists {
        /// Kind of the object.
        what: &'static str,
        /// Name of the object.
        name: String,
    },
    /// The plan was resolved for another reservation.
    #[error(
        "the plan is for slot {plan} and lab `{lab}`, the reservation is for slot {slot} and `{reserved}`"
    )]
    OtherReservation {
        /// Slot of the plan.
        plan: u8,
        /// Lab of the options.
        lab: crate::LabName,
        /// Slot of the reservation.
        slot: u8,
        /// Lab of the reservation.
        reserved: crate::LabName,
    },
    /// The process may not open enough files.
    #[error("the lab needs {needed} open files, the limit is {limit} (hint: `ulimit -n {needed}`)")]
    Files {
        /// Number of files that the lab needs.
        needed: u64,
        /// Limit of open files.
        limit: u64,
    },
    /// An RDMA device did not get the address of its interface.
    #[error("RDMA device `{device}` has no RoCE v2 GID for {addr}")]
    NoGid {
        /// Name of the device.
        device: String,
        /// Address of its interface.
        addr: std::net::Ipv4Addr,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Cancelled,
    /// The kernel's state cannot be read.
    #[error("cannot read back what was made: {0}")]
    ReadBack(#[from] NetlinkError),
    /// A file cannot be read or written.
    #[error("{what}: {error}")]
    Io {
        /// File or operation.
        what: &'static str,
        /// Cause of the failure.
        error: io::Error,
    },
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        for error in &self.left {
            write!(f, "; and left behind: {error}")?;
        }
        Ok(())
    }
}

fn list(differences: &[Difference]) -> String {
    let shown = differences.iter().take(MAX_SHOWN).map(ToString::to_string);
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if differences.len() > MAX_SHOWN {
        text += &format!("; and {} more", differences.len() - MAX_SHOWN);
    }
    text
}

/// Maximum number of differences shown.
const MAX_SHOWN: usize = 5;
