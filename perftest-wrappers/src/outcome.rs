//! What became of a flow, and what happens on the way.

use std::fmt;

use lab_units::{FlowId, Nanos};
use serde::{Deserialize, Serialize};

use crate::{
    clock::MonotonicTime,
    error::HandshakeError,
    report::{Bandwidth, ReportError},
    tool::Side,
};

/// The row of one flow. There is one for every job, whatever happened.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FlowOutcome {
    /// Its place in the plan's schedule.
    pub flow: FlowId,
    /// How it ended.
    pub status: Status,
    /// When it was let go; `None` when it never was.
    pub release: Option<Release>,
    /// The client's QP, once the two sides had exchanged it.
    pub client_qp: Option<QpNumber>,
    /// The server's QP, once the two sides had exchanged it.
    pub server_qp: Option<QpNumber>,
    /// What perftest said, as it said it.
    pub bandwidth: Option<Bandwidth>,
    /// From the release to the first word of the client after its last completion. perftest
    /// calibrates its clock in between, so this is the FCT and about 0.22 s; an FCT above it
    /// would be a measuring error.
    pub gate_interval: Option<Nanos>,
    /// The last of what the client printed.
    pub stdout_tail: String,
}

/// How a flow ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Status {
    /// All messages were acknowledged.
    Finished {
        /// From the first post to the last completion.
        fct: Nanos,
        /// Half of the last digit of what `fct` was computed from: the true value is within
        /// `fct ± resolution`.
        resolution: Nanos,
        /// Where `fct` comes from.
        source: FctSource,
    },
    /// It had not ended at its deadline.
    TimedOut {
        /// The deadline.
        after: Nanos,
    },
    /// A process ended with an error.
    Failed {
        /// Which.
        side: Side,
        /// How it ended.
        exit: Exit,
        /// The last of what it said to stderr, and of its error lines on stdout.
        message: String,
    },
    /// It ended well and what it said cannot be understood.
    Unparsable {
        /// What is wrong with it.
        error: ReportError,
    },
    /// It never became ready.
    NotReady {
        /// Why.
        error: HandshakeError,
    },
    /// The session was aborted before it ended.
    Aborted,
}

/// Where an FCT comes from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FctSource {
    /// The bandwidth that the client tells its server after the run, in full double precision.
    Exchanged,
    /// The bandwidth the client prints with six decimals.
    Printed,
    /// Too slow for six decimals: the gate's interval less perftest's calibration, within the
    /// bounds of what was printed.
    PrintedAndGate,
}

/// When a flow was let go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Release {
    /// The instant the message that starts the client was sent.
    pub at: MonotonicTime,
    /// How much later than scheduled that was.
    pub lateness: Nanos,
}

/// The number of a queue pair on its device: 24 bits.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct QpNumber(pub u32);

/// How a process ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What happens while a session is prepared and run, in the order it happens.
#[derive(Clone, Debug)]
pub enum Event {
    /// Both processes wait to be let go.
    Ready {
        /// The flow.
        flow: FlowId,
        /// The client's QP.
        client_qp: QpNumber,
        /// The server's QP.
        server_qp: QpNumber,
    },
    /// The flow was let go.
    Released {
        /// The flow.
        flow: FlowId,
        /// When.
        release: Release,
    },
    /// The flow has its row.
    Ended(FlowOutcome),
}

impl Status {
    /// The flow completion time of a finished flow.
    #[must_use]
    pub const fn fct(&self) -> Option<Nanos> {
        match self {
            Self::Finished { fct, .. } => Some(*fct),
            _ => None,
        }
    }

    /// One word for a table.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Finished { .. } => "finished",
            Self::TimedOut { .. } => "timed_out",
            Self::Failed { .. } => "failed",
            Self::Unparsable { .. } => "unparsable",
            Self::NotReady { .. } => "not_ready",
            Self::Aborted => "aborted",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished { fct, .. } => write!(f, "finished in {fct}"),
            Self::TimedOut { after } => write!(f, "not finished after {after}"),
            Self::Failed {
                side,
                exit,
                message,
            } => {
                write!(f, "the {side} {exit}")?;
                if message.is_empty() {
                    Ok(())
                } else {
                    write!(f, ": {message}")
                }
            }
            Self::Unparsable { error } => error.fmt(f),
            Self::NotReady { error } => error.fmt(f),
            Self::Aborted => f.write_str("aborted"),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
        }
    }
}

impl fmt::Display for QpNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#08x}", self.0)
    }
}
