//! Flow completion time, and what perftest reports for it.

use std::fmt;

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

/// Flow completion time and its resolution.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Fct {
    /// Time from the first post to the last completion.
    pub time: Nanos,
    /// Largest error: half a unit in the reported bandwidth's last digit, as a time.
    pub resolution: Nanos,
    /// Source of the time.
    pub source: FctSource,
}

/// Source of an FCT.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FctSource {
    /// Bandwidth that the client sends its server after the run, in full double precision.
    Exchanged,
    /// Bandwidth that the client prints with six decimals.
    Printed,
    /// Time of the client's [`CompletionMarker`] less its usual lag, within the bounds of the printed
    /// bandwidth, for a flow too slow for six decimals.
    PrintedAndMarker,
    /// Time from the post of a verbs flow's first work request until its last one is complete.
    Completion,
}

/// First act of a client after its last completion that is visible from outside.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CompletionMarker {
    /// Kind of act.
    pub kind: MarkerKind,
    /// Time since the flow's start.
    pub after: Nanos,
}

/// Kind of a completion marker.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerKind {
    /// The client began to calibrate its clock and was stopped.
    Stopped,
    /// The client had calibrated its clock and sent bytes to its server.
    Sent,
}

/// Bandwidth as perftest reported it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bandwidth {
    /// Printed value, exact as text; never zero.
    Printed {
        /// Millionths of a MiB per second.
        micro_mib_per_sec: u64,
    },
    /// Exchanged value, a double in MiB per second, finite and positive.
    Exchanged {
        /// Bits of the double.
        bits: u64,
    },
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Printed {
                micro_mib_per_sec: v,
            } => {
                write!(f, "{}.{:06} MiB/s", v / 1_000_000, v % 1_000_000)
            }
            Self::Exchanged { bits } => write!(f, "{} MiB/s", f64::from_bits(bits)),
        }
    }
}
