//! What a journal's lines say.

use std::path::PathBuf;

use lab_plan::model::Role;
use serde::{Deserialize, Serialize};

use crate::{
    name::{LabName, NetnsName},
    process::ProcessId,
    step::Step,
};

/// One line of a journal.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// The first line: what lab this is and whose.
    Lab(Head),
    /// The lab's nodes.
    Nodes(Vec<NodeEntry>),
    /// Steps about to be done.
    Do(Vec<Step>),
    /// A namespace that was made, by its inode, so that another of the same name is left alone.
    MadeNetns {
        /// Its name.
        name: NetnsName,
        /// The inode of the namespace.
        inode: u64,
    },
    /// The lab needs the directory of namespaces, which is made if it is not there.
    NetnsDirectory,
    /// A process of the lab, to be ended with it.
    Process(ProcessId),
    /// A BPF file system, to be unmounted with the lab.
    Pins(PathBuf),
    /// The lab stays when its owner ends.
    Kept,
}

/// What lab a journal is of, and whose.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Version of the journal's form.
    pub format: u32,
    /// The lab.
    pub lab: LabName,
    /// What it runs.
    pub scenario: String,
    /// Its slot of addresses, tables and names.
    pub slot: u8,
    /// The boot it was made in; of an earlier one nothing is left but files.
    pub boot_id: String,
    /// Who made it.
    pub owner: Owner,
    /// When, in seconds since 1970.
    pub since: u64,
    /// Where it runs.
    #[serde(default)]
    pub place: Place,
}

/// Where a lab runs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// On this kernel.
    #[default]
    Here,
    /// In a guest of the owner's: on this kernel it has nothing but its directory, and it ends with
    /// its owner.
    Guest,
}

/// Who made a lab.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Owner {
    /// The process.
    pub process: ProcessId,
    /// Its command line.
    pub command: String,
}

/// A node of a lab.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct NodeEntry {
    /// `dc1/h1`.
    pub name: String,
    /// `dc1-h1`.
    pub short: String,
    /// What it is.
    pub role: Role,
    /// Its namespace; none for a host in the root namespace.
    pub netns: Option<NetnsName>,
    /// Its interfaces.
    pub interfaces: Vec<String>,
}

/// Version of the journal's form; another version is left alone.
pub(crate) const FORMAT: u32 = 1;
