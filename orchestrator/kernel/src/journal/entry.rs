//! Entries of a lab's journal.

use std::{net::Ipv4Addr, path::PathBuf};

use lab_plan::model::{Node, Role};
use lab_records::Location;
use serde::{Deserialize, Serialize};

use crate::{
    name::{LabName, NetnsName},
    process::{NetnsId, ProcessId},
    step::{Rule, Step},
};

/// Entry of a journal, which is one line.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Entry {
    /// The lab and its owner; the first line of a journal.
    Lab(JournalHead),
    Nodes(Vec<NodeEntry>),
    /// Steps that are about to be applied.
    Do(Vec<Step>),
    /// A new namespace that is about to get its name. Any other namespace of that name does not belong to the lab.
    MadeNetns {
        name: NetnsName,
        id: NetnsId,
    },
    /// The lab uses the directory of namespaces, which this lab or an earlier one created.
    NetnsDirectory,
    /// A machine-wide sysctl that the lab is about to raise.
    Raised {
        key: String,
        /// Value before any lab raised it.
        before: String,
        /// Value that this lab writes.
        ours: String,
    },
    /// A process of the lab, which is ended with the lab.
    Process(Process),
    /// A BPF file system, which is unmounted with the lab.
    Pins(PathBuf),
    /// The lab stays up when its owner ends.
    Kept,
    /// Objects that an undo has handled. A later undo leaves objects with the same names alone.
    Undone(Vec<Undone>),
}

/// Process that belongs to a lab.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub id: ProcessId,
    /// Control groups of the process, as `/proc/PID/cgroup` lists them.
    pub cgroup: String,
}

/// Object that an undo has removed, or has left because it does not belong to the lab.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Undone {
    Process(ProcessId),
    Pins(PathBuf),
    Rxe(String),
    Rule(Rule),
    /// Name of an interface in the root namespace.
    Link(String),
    Netns(NetnsName),
    Sysctl(String),
    NetnsDirectory,
}

/// First entry of a journal: the lab and its owner.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournalHead {
    /// Version of the journal's format.
    pub format: u32,
    pub lab: LabName,
    pub scenario: String,
    /// Slot of the lab, 0 to 15: its block of addresses, tables and names.
    pub slot: u8,
    /// Id of the boot during which the lab was created; only files survive a reboot.
    pub boot_id: String,
    pub owner: Owner,
    /// Time at which the lab was created, in seconds since 1970.
    pub since: u64,
    /// Location of the kernel on which the lab runs.
    #[serde(rename = "place")]
    pub location: Location,
}

/// Process that created a lab and owns it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub process: ProcessId,
    pub command: String,
}

/// Node of a lab, as recorded in its journal.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodeEntry {
    /// Name of the node, such as `dc1/h1`.
    pub name: String,
    /// Short name of the node, such as `dc1-h1`.
    pub short: String,
    pub role: Role,
    /// Namespace of the node; `None` for a host in the root namespace.
    pub netns: Option<NetnsName>,
    pub interfaces: Vec<String>,
    /// Address of the node; `None` in a journal from an earlier version.
    #[serde(default)]
    pub addr: Option<Ipv4Addr>,
}

impl NodeEntry {
    /// Returns the entry for a node in a plan.
    pub fn of(node: &Node, netns: Option<NetnsName>, interfaces: Vec<String>) -> Self {
        Self {
            name: node.name.clone(),
            short: node.short.clone(),
            role: node.role,
            netns,
            interfaces,
            addr: Some(node.addr),
        }
    }

    /// Returns true if `name` is the node's name or the node's short name.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.short == name
    }
}

/// Version of the journal's format. A lab whose journal has another version is not taken down.
pub(crate) const FORMAT: u32 = 3;
