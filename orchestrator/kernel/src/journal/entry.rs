//! Entries of a journal.

use std::path::PathBuf;

use lab_plan::model::{Node, Role};
use lab_records::Location;
use serde::{Deserialize, Serialize};

use crate::{
    name::{LabName, NetnsName},
    process::ProcessId,
    step::Step,
};

/// Line of a journal.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Entry {
    /// First line: the lab and its owner.
    Lab(Head),
    Nodes(Vec<NodeEntry>),
    /// Steps that are about to be applied.
    Do(Vec<Step>),
    /// A created namespace with its inode, so that another of the same name is left alone.
    MadeNetns {
        name: NetnsName,
        inode: u64,
    },
    /// The lab needs the directory of namespaces, which is created if it does not exist.
    NetnsDirectory,
    /// A process of the lab, which ends with the lab.
    Process(ProcessId),
    /// A BPF file system, which is unmounted with the lab.
    Pins(PathBuf),
    /// The lab remains when its owner ends.
    Kept,
}

/// Lab and owner of a journal.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Version of the journal's format.
    pub format: u32,
    pub lab: LabName,
    pub scenario: String,
    /// Slot: block of addresses, tables and names, 0 to 15.
    pub slot: u8,
    /// Boot in which the lab was created; only files survive a reboot.
    pub boot_id: String,
    pub owner: Owner,
    /// Time of creation, seconds since 1970.
    pub since: u64,
    /// Kernel that the lab runs on.
    #[serde(rename = "place")]
    pub location: Location,
}

/// Process that created a lab.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub process: ProcessId,
    pub command: String,
}

/// Node of a lab.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodeEntry {
    /// Name, e.g. `dc1/h1`.
    pub name: String,
    /// Short name, e.g. `dc1-h1`.
    pub short: String,
    pub role: Role,
    /// Namespace; `None` for a host in the root namespace.
    pub netns: Option<NetnsName>,
    pub interfaces: Vec<String>,
}

impl NodeEntry {
    /// Returns the entry of a node of a plan.
    pub fn of(node: &Node, netns: Option<NetnsName>, interfaces: Vec<String>) -> Self {
        Self {
            name: node.name.clone(),
            short: node.short.clone(),
            role: node.role,
            netns,
            interfaces,
        }
    }
}

/// Version of the journal's format. A lab whose journal has another is not taken down.
pub(crate) const FORMAT: u32 = 2;
