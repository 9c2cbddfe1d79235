//! Outcome of a flow, and events on the way.

use std::{fmt, net::Ipv6Addr};

use lab_units::{FlowId, Nanos, Side};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::{
    clock::MonotonicTime,
    error::{HandshakeError, ReportError},
    fct::{Bandwidth, CompletionMarker, Fct},
};

/// Outcome of one flow; every job has one.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FlowOutcome {
    /// Position in the plan's schedule.
    pub flow: FlowId,
    /// Status at the end.
    pub status: Status,
    /// Start; none if the flow was not started.
    pub start: Option<FlowStart>,
    /// Queue pair of the client, once both sides have exchanged it.
    pub client_qp: Option<QpAddress>,
    /// Queue pair of the server, once both sides have exchanged it.
    pub server_qp: Option<QpAddress>,
    /// Bandwidth as perftest reported it.
    pub bandwidth: Option<Bandwidth>,
    /// First act of the client after its last completion; the FCT is at most as long.
    pub marker: Option<CompletionMarker>,
    /// Last output of the client.
    pub stdout_tail: String,
}

/// Status of a flow at its end.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All messages were acknowledged.
    Finished(Fct),
    /// The flow had not ended at its deadline.
    TimedOut {
        /// Deadline, from the start.
        after: Nanos,
    },
    /// A process ended with an error.
    Failed {
        /// Process.
        side: Side,
        /// End of the process.
        exit: Exit,
        /// Last lines of its output.
        message: String,
    },
    /// A verbs call or a work request failed.
    WorkRequest {
        /// Side of the queue pair.
        side: Side,
        /// Status of the work completion, or the call's error, and a hint.
        error: String,
    },
    /// The client ended without error, and its report cannot be parsed.
    Unparsable {
        /// Error in the report.
        error: ReportError,
    },
    /// The processes did not become ready.
    NotReady {
        /// Cause.
        error: HandshakeError,
    },
    /// The start message could not be sent.
    NotStarted {
        /// Cause.
        reason: String,
    },
    /// The data was delivered, and the client did not report.
    NoReport {
        /// Time waited for the report.
        within: Nanos,
    },
    /// The session was aborted before the flow's end.
    Aborted,
}

/// Start of a flow.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FlowStart {
    /// Instant at which the start message was sent to the client.
    pub at: MonotonicTime,
    /// Time since the scheduled instant.
    pub lateness: Nanos,
    /// True if the client posts its messages at once, as the version with a known handshake does. Other
    /// versions finish their handshake first, in a fraction of a millisecond.
    pub exact: bool,
}

/// Number of a queue pair on its device, 24 bits.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct QpNumber(pub u32);

/// Address of a queue pair, as both sides exchange it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct QpAddress {
    /// Number, the BTH destination QP of packets to the queue pair.
    pub qp: QpNumber,
    /// GID of the port: for RoCEv2 over IPv4, `::ffff:` and the address.
    pub gid: Ipv6Addr,
}

/// End of a process.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Exit with this code.
    Code(i32),
    /// End by this signal.
    Signal(i32),
    /// End that was not observed.
    Unknown,
}

/// Event of a session, from its preparation to its end.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Both processes wait for the start trigger.
    Ready {
        /// Flow.
        flow: FlowId,
        /// Queue pair of the client.
        client_qp: QpAddress,
        /// Queue pair of the server.
        server_qp: QpAddress,
    },
    /// The flow was started.
    Started {
        /// Flow.
        flow: FlowId,
        /// Start.
        start: FlowStart,
    },
    /// All data is delivered and acknowledged; perftest's client has yet to report.
    Delivered {
        /// Flow.
        flow: FlowId,
    },
    /// The flow has ended.
    Ended(FlowOutcome),
}

/// Sends an event; the receiver may be gone, as outcomes are returned as well.
pub(crate) fn emit(events: &mpsc::UnboundedSender<Event>, event: Event) {
    let _ = events.send(event);
}

impl FlowOutcome {
    /// Returns the outcome of a flow without queue pairs, start and report.
    #[must_use]
    pub const fn without_report(flow: FlowId, status: Status) -> Self {
        Self {
            flow,
            status,
            start: None,
            client_qp: None,
            server_qp: None,
            bandwidth: None,
            marker: None,
            stdout_tail: String::new(),
        }
    }
}

impl Status {
    /// Returns the flow completion time; none for a flow that did not finish.
    #[must_use]
    pub const fn fct(&self) -> Option<Nanos> {
        match self {
            Self::Finished(fct) => Some(fct.time),
            _ => None,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished(fct) => write!(f, "finished in {}", fct.time),
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
            Self::WorkRequest { side, error } => write!(f, "the {side}'s work request: {error}"),
            Self::Unparsable { error } => error.fmt(f),
            Self::NotReady { error } => error.fmt(f),
            Self::NotStarted { reason } => write!(f, "cannot start the client's data: {reason}"),
            Self::NoReport { within } => {
                write!(
                    f,
                    "delivered, and the client did not report within {within}"
                )
            }
            Self::Aborted => f.write_str("aborted"),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
            Self::Unknown => f.write_str("ended unobserved"),
        }
    }
}

impl fmt::Display for QpNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#08x}", self.0)
    }
}
