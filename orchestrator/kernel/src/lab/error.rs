//! Why a lab is not up.

use std::{fmt, io};

use crate::{
    exec::{Difference, StepError, UndoError},
    netlink::NetlinkError,
};

/// Why a lab is not up, or not as it should be, and what is left of it.
#[derive(Debug, thiserror::Error)]
pub struct LabError {
    /// Why.
    #[source]
    pub kind: LabErrorKind,
    /// What could not be undone.
    pub left: Vec<UndoError>,
}

/// Why a lab is not up.
#[derive(Debug, thiserror::Error)]
pub enum LabErrorKind {
    /// A step failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// What the kernel has is not what it was told.
    #[error("the kernel has other than it was told: {}", list(differences))]
    Differs {
        /// In what.
        differences: Vec<Difference>,
    },
    /// Something of the name is there already.
    #[error(
        "{what} `{name}` is there already and is not this lab's (hint: `--lab NAME` makes another)"
    )]
    Exists {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The plan was resolved for another place.
    #[error(
        "the plan is for slot {plan} and lab `{lab}`, the claim is for slot {slot} and `{claimed}`"
    )]
    OtherClaim {
        /// The plan's slot.
        plan: u8,
        /// The lab of the options.
        lab: crate::LabName,
        /// The claim's slot.
        slot: u8,
        /// The claim's lab.
        claimed: crate::LabName,
    },
    /// The process may not open enough files.
    #[error("the lab needs {needed} open files, the limit is {limit} (hint: `ulimit -n {needed}`)")]
    Files {
        /// How many it needs.
        needed: u64,
        /// How many there may be.
        limit: u64,
    },
    /// An RDMA device did not get the address of its interface.
    #[error("RDMA device `{device}` has no RoCE v2 GID for {addr}")]
    NoGid {
        /// The device.
        device: String,
        /// The address.
        addr: std::net::Ipv4Addr,
    },
    /// Someone asked to stop.
    #[error("stopped")]
    Cancelled,
    /// The kernel's state cannot be read.
    #[error("cannot read back what was made: {0}")]
    ReadBack(#[from] NetlinkError),
    /// A file cannot be read or written.
    #[error("{what}: {error}")]
    Io {
        /// What.
        what: &'static str,
        /// Why.
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
    let shown = differences.iter().take(SHOWN).map(ToString::to_string);
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if differences.len() > SHOWN {
        text += &format!("; and {} more", differences.len() - SHOWN);
    }
    text
}

/// More would hide the first.
const SHOWN: usize = 5;
