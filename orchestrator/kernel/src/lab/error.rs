//! Errors that occur when a lab is brought up.

use std::{fmt, io};

use lab_host::HostError;

use super::taking_rule::TakingRule;
use crate::{
    exec::{Drift, StepError, UndoError},
    netlink::NetlinkError,
};

/// Failure to bring a lab up, and the objects that remain.
#[derive(Debug, thiserror::Error)]
pub struct LabError {
    #[source]
    pub kind: LabErrorKind,
    /// Errors for the objects that could not be removed.
    pub left: Vec<UndoError>,
}

/// Cause of a failure to bring a lab up.
#[derive(Debug, thiserror::Error)]
pub enum LabErrorKind {
    #[error(transparent)]
    Step(#[from] StepError),
    #[error(
        "the kernel's state differs from the state that the lab's steps create: {}",
        list(differences)
    )]
    Differs { differences: Vec<Drift> },
    #[error(
        "{what} `{name}` already exists and does not belong to this lab (hint: `--lab NAME` makes a lab of another name)"
    )]
    Exists { what: &'static str, name: String },
    #[error(
        "the plan is for lab `{lab}` in address slot {plan}, but the reservation \
         is for lab `{reserved}` in address slot {slot}"
    )]
    OtherReservation {
        plan: u8,
        lab: crate::LabName,
        slot: u8,
        reserved: crate::LabName,
    },
    #[error(
        "rule `{rule}` of this machine diverts the packets of the lab's hosts: it precedes the lab's rules, \
         whose priorities begin at {own} (hint: {}, or `up --guest`)",
        rule.remedy()
    )]
    Rule { rule: TakingRule, own: u32 },
    #[error(
        "the lab needs {needed} open files, but the limit is {limit} (hint: `ulimit -n {needed}`)"
    )]
    Files { needed: u64, limit: u64 },
    #[error(
        "a packet filter of this machine tracks connections and has room for {room} flows, but the plan has \
         {flows} (hint: `{fix}`)"
    )]
    Connections { flows: u64, room: u64, fix: String },
    #[error("RDMA device `{device}` has no RoCE v2 GID for address {addr}")]
    NoGid {
        device: String,
        addr: std::net::Ipv4Addr,
    },
    #[error(
        "`cc: dcqcn` needs a guest with a virtual clock: {why} (hint: `up --guest`, or leave `cc` out)"
    )]
    CongestionControl { why: &'static str },
    #[error("the host programs: {0}")]
    Host(Box<HostError>),
    #[error("stopped")]
    Cancelled,
    #[error("cannot read back the state of the lab: {0}")]
    ReadBack(#[from] NetlinkError),
    #[error("{what}: {error}")]
    Io {
        what: &'static str,
        error: io::Error,
    },
}

impl From<HostError> for LabErrorKind {
    fn from(error: HostError) -> Self {
        Self::Host(error.into())
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        for error in &self.left {
            write!(f, "; an object of the lab remains: {error}")?;
        }
        Ok(())
    }
}

fn list(differences: &[Drift]) -> String {
    let shown = differences.iter().take(MAX_SHOWN).map(ToString::to_string);
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if differences.len() > MAX_SHOWN {
        text += &format!("; and {} more", differences.len() - MAX_SHOWN);
    }
    text
}

/// Maximum number of differences that a message shows.
const MAX_SHOWN: usize = 5;
