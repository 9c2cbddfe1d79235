//! Problems in the files that a scenario names.

use crate::limits;

/// Problem in a flow size distribution.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CdfError {
    #[error("the first row is `{found}`, not the header (hint: write `bytes,percent`)")]
    Header { found: String },
    #[error("the row has {found} fields; it must have 2 (hint: write `bytes,percent`)")]
    Fields { found: usize },
    #[error(
        "`{found}` is not a whole number of bytes up to {}",
        limits::MAX_FLOW_SIZE
    )]
    Size { found: String },
    #[error("`{found}` is not a percentage from 0 to 100 with at most 5 decimals")]
    Percent { found: String },
    #[error(
        "{what} `{found}` is below `{before}` in the previous row (hint: each value must be at least that of the row before)"
    )]
    Falling {
        what: &'static str,
        found: String,
        before: String,
    },
    #[error(
        "the first percentage is `{found}`; it must be 0 (hint: add the row `0,0`, or a row with the least size and \
         percentage 0)"
    )]
    Start { found: String },
    #[error("the last percentage is `{found}`; it must be 100")]
    End { found: String },
    #[error("the file has {found} points; it must have at least 2")]
    Points { found: usize },
    #[error("the file has more than {} points", limits::MAX_CDF_POINTS)]
    TooManyPoints,
    #[error("the largest flow size is 0 B; it must be at least 1 B")]
    Empty,
}

/// Problem in a flow file of the artifact's format.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FlowFileError {
    #[error("the file has no flows (hint: the first row is the number of flows)")]
    Empty,
    #[error("`{found}` is not a number of flows from 1 to {}", limits::MAX_FLOWS)]
    Count { found: String },
    #[error("the file has {found} flows, but its first row announces {announced}")]
    CountDiffers { found: usize, announced: usize },
    #[error(
        "the row has {found} fields; it must have 6 (hint: source, destination, priority group, \
         destination port, bytes, start in seconds)"
    )]
    Fields { found: usize },
    #[error("{what} `{found}` is not a whole number from {min} to {max}")]
    Number {
        what: &'static str,
        found: String,
        min: u64,
        max: u64,
    },
    #[error("start `{found}` is not a number of seconds with at most 9 decimals")]
    Start { found: String },
    #[error("host {host} sends to itself")]
    SelfFlow { host: u32 },
}

/// Problem in a demand matrix.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DemandError {
    #[error("the first row is `{found}`, not the header (hint: write `from,to,rate`)")]
    Header { found: String },
    #[error("the row has {found} fields; it must have 3 (hint: write `from,to,rate`)")]
    Fields { found: usize },
    #[error(
        "`{found}` is not a rate from 0 to 1000 Tbit (hint: write it like `10 Gbit`, or as a number of bits per second)"
    )]
    Rate { found: String },
    #[error("the file has more than {} rows", limits::MAX_DEMANDS)]
    TooMany,
    #[error(
        "the file has no demand above zero (hint: are the demands in another file, or in another unit?)"
    )]
    NoDemand,
    #[error(
        "there is no datacenter `{found}`, by name or label{}",
        suggestion.as_ref().map_or_else(
            || " (hint: write a name of the topology, or the label of a node in its graph)".to_owned(),
            |name| format!(" (hint: did you mean `{name}`?)"),
        )
    )]
    UnknownDc {
        found: String,
        suggestion: Option<String>,
    },
    #[error(
        "`{found}` is the label of `{first}` and of `{second}` (hint: write the name of one of them)"
    )]
    Ambiguous {
        found: String,
        first: String,
        second: String,
    },
    #[error(
        "node {node} of the graph is outside its largest connected part, so it is no datacenter (hint: remove its demands)"
    )]
    LeftOut { node: usize },
    #[error(
        "datacenter `{dc}` has no hosts (hint: give it hosts, by `hosts_at` if the topology is a graph, or remove its demands)"
    )]
    NoHosts { dc: String },
    #[error(
        "`{dc}` sends to itself, but traffic must go to another datacenter (hint: remove the demand)"
    )]
    ToItself { dc: String },
    #[error(
        "the demands from `{from}` to `{to}` add up to more than 1000 Tbit (hint: is the unit right?)"
    )]
    TooMuch { from: String, to: String },
}
