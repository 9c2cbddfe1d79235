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
        "{what} `{found}` is below `{before}` in the previous row (hint: both columns must increase)"
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
