//! Errors of the artifact's files.

/// Error with file and line.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{file}:{line}: {kind}")]
pub struct ArtifactError {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Kind of the error.
    pub kind: ArtifactErrorKind,
}

/// Kind of an error at a line.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ArtifactErrorKind {
    #[error("the file ends before {expected}")]
    Ends { expected: &'static str },
    #[error("the row has {found} fields, it must have {expected}")]
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
    #[error("{what} is {found}, the first row says {announced}")]
    CountDiffers {
        what: &'static str,
        found: usize,
        announced: usize,
    },
    #[error(
        "the topology has one datacenter without a DCI switch, a scenario has two at least (hint: \
         the first row of several datacenters has four numbers)"
    )]
    OneDatacenter,
    #[error("there is no node {id}, ids go from 0 to {last}")]
    UnknownNode { id: u32, last: u32 },
    #[error("node {id} is among the switches twice")]
    SwitchTwice { id: u32 },
    #[error(
        "a link from {from} to {to}: a scenario has links from hosts to leaves, leaves to spines, \
         spines to DCI switches, hosts to DCI switches and between DCI switches"
    )]
    NoSuchLink { from: String, to: String },
    #[error("{node} has {found} {what}, it must have {expected}")]
    Degree {
        node: String,
        what: &'static str,
        found: usize,
        expected: String,
    },
    #[error("the link from {from} to {to} is here twice")]
    LinkTwice { from: String, to: String },
    #[error(
        "the link is {found}, others of its kind in the datacenter are {expected}: a scenario has \
         one kind of {what} in a datacenter"
    )]
    WireDiffers {
        what: &'static str,
        found: String,
        expected: String,
    },
    #[error(
        "the hosts of one datacenter are linked to its DCI switch otherwise than those of another: \
         a scenario has one kind of such links"
    )]
    HostWires,
    #[error(
        "{node} is where {expected} is expected: nodes are numbered hosts first, then leaves, \
         spines and DCI switches, each datacenter by datacenter"
    )]
    Numbering { node: String, expected: String },
    #[error(
        "there are {found} flows and {hosts} hosts in a datacenter: a scenario refers to the flow \
         file where there are 16 and lists up to {max} flows where there are not"
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
