//! Errors in files of the artifact.

/// Error in a file of the artifact, with file name and line.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{file}:{line}: {kind}")]
pub struct ArtifactError {
    /// Name of the file.
    pub file: String,
    /// Number of the line, from 1.
    pub line: usize,
    pub kind: ArtifactErrorKind,
}

/// Reason why a line, or the file, cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ArtifactErrorKind {
    #[error("the file ends before {expected}")]
    Ends { expected: &'static str },
    #[error("the row has {found} fields; it must have {expected}")]
    Fields {
        found: usize,
        expected: &'static str,
    },
    #[error("{what} `{found}` is not {expected}")]
    Value {
        what: &'static str,
        found: String,
        expected: &'static str,
    },
    #[error("{what} is {found}, but the first row states {announced}")]
    CountDiffers {
        what: &'static str,
        found: usize,
        announced: usize,
    },
    #[error(
        "the topology has a single datacenter without a DCI switch, but a scenario has at least two datacenters (hint: \
         the first row of a topology with several datacenters has four numbers)"
    )]
    OneDatacenter,
    #[error("there is no node {id}; ids range from 0 to {last}")]
    UnknownNode { id: u32, last: u32 },
    #[error("node {id} is listed twice among the switches")]
    SwitchTwice { id: u32 },
    #[error(
        "a scenario cannot have a link from {from} to {to}, only links from hosts to leaves, leaves to spines, \
         spines to DCI switches, hosts to DCI switches and between DCI switches"
    )]
    NoSuchLink { from: String, to: String },
    #[error("{node} has {found} {what}; it must have {expected}")]
    Degree {
        node: String,
        what: &'static str,
        found: usize,
        expected: String,
    },
    #[error("the link from {from} to {to} is listed twice")]
    LinkTwice { from: String, to: String },
    #[error(
        "the link has {found}, but the datacenter's other links of this kind have {expected}: a scenario has \
         only one kind of {what} per datacenter"
    )]
    WireDiffers {
        what: &'static str,
        found: String,
        expected: String,
    },
    #[error(
        "the hosts of two datacenters have different links to their DCI switches: a scenario has \
         only one kind of such links"
    )]
    HostWires,
    #[error(
        "found {node} where {expected} is expected: numbers must go first to hosts, then to leaves, \
         spines and DCI switches, each in the order of datacenters"
    )]
    Numbering { node: String, expected: String },
    #[error(
        "cannot import {found} flows for datacenters of {hosts} hosts: a scenario can refer to the flow file only if \
         datacenters have 16 hosts, and otherwise lists at most {max} flows"
    )]
    TooManyToList {
        found: usize,
        hosts: usize,
        max: usize,
    },
    #[error("no node of the plan has the artifact's id {id}")]
    NotInPlan { id: u32 },
    #[error("{0}")]
    Flows(String),
}
