//! Flow completion time (FCT), and the measurements that perftest reports for it.

use std::fmt;

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

/// Flow completion time and its resolution.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Fct {
    /// Time from the posting of the first message to the last completion.
    pub time: Nanos,
    /// Maximum error of the time, which corresponds to half a unit in the last digit of the reported bandwidth.
    pub resolution: Nanos,
    /// Measurement that the time is based on.
    pub source: FctSource,
}

/// Measurement that an FCT is based on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FctSource {
    /// Bandwidth that the client sends to its server after the run, in full double precision.
    Exchanged,
    /// Bandwidth that the client prints with six decimals.
    Printed,
    /// Time of the client's [`CompletionMarker`] minus the marker's usual lag, limited to the bounds that the printed
    /// bandwidth implies. Used for flows that are too slow for six decimals to be precise.
    PrintedAndMarker,
    /// Time from the posting of a verbs flow's first work request to the completion of its last.
    Completion,
}

/// First externally visible action of a perftest client after its last completion.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CompletionMarker {
    /// Kind of the observed action.
    pub kind: MarkerKind,
    /// Time from the flow's start to the action.
    pub after: Nanos,
}

/// Kind of a completion marker.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerKind {
    /// The client began to calibrate its clock and was stopped by `SIGSTOP`.
    Stopped,
    /// The client had calibrated its clock and sent its report to the server.
    Sent,
}

/// Bandwidth as perftest reported it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bandwidth {
    /// Bandwidth that the client printed, exact as decimal text; never zero.
    Printed {
        /// Bandwidth in millionths of a MiB per second.
        micro_mib_per_sec: u64,
    },
    /// Bandwidth that the client sent to its server: a double in MiB per second, finite and positive.
    Exchanged {
        /// Bit pattern of the double.
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
