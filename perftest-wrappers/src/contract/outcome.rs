//! Outcome of a flow, and the events that precede it.

use std::{fmt, net::Ipv6Addr};

use lab_units::{FlowId, Nanos, Side};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::{
    clock::MonotonicTime,
    error::{HandshakeError, ReportError},
    fct::{Bandwidth, CompletionMarker, Fct},
};

/// Outcome of one flow job, whether the flow finished or not.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FlowOutcome {
    /// Id of the flow: its position in the plan's schedule.
    pub flow: FlowId,
    /// Final status of the flow.
    pub status: Status,
    /// Start of the flow; `None` if it was not started.
    pub start: Option<FlowStart>,
    /// Address of the client's queue pair; `None` before both sides have exchanged their addresses.
    pub client_qp: Option<QpAddress>,
    /// Address of the server's queue pair; `None` before both sides have exchanged their addresses.
    pub server_qp: Option<QpAddress>,
    /// Bandwidth as reported by perftest; `None` if the client did not report.
    pub bandwidth: Option<Bandwidth>,
    /// First externally visible action of the client after its last completion. The action's time is an upper bound of
    /// the FCT.
    pub marker: Option<CompletionMarker>,
    /// Last part of the client's output.
    pub stdout_tail: String,
}

/// Final status of a flow.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All messages were acknowledged.
    Finished(Fct),
    /// The flow had not ended at its deadline.
    TimedOut {
        /// Deadline, measured from the flow's start.
        after: Nanos,
    },
    /// A process ended with an error.
    Failed {
        /// Side of the failed process.
        side: Side,
        /// How the process ended.
        exit: Exit,
        /// Last lines of the process's output.
        message: String,
    },
    /// A verbs call or a work request failed.
    WorkRequest {
        /// Side of the queue pair.
        side: Side,
        /// Status of the work completion or error of the call, with a hint.
        error: String,
    },
    /// The client exited without error, but its report cannot be parsed.
    Unparsable { error: ReportError },
    /// The processes did not become ready.
    NotReady { error: HandshakeError },
    /// The message that starts the client's data could not be sent.
    NotStarted { reason: String },
    /// The data was delivered, but the client did not send its report.
    NoReport {
        /// Time for which the session waited for the report.
        within: Nanos,
    },
    /// The session was aborted before the flow ended.
    Aborted,
}

/// Actual start of a flow.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FlowStart {
    /// Instant at which the start message was sent to the client.
    pub at: MonotonicTime,
    /// Delay of the start relative to the scheduled instant.
    pub lateness: Nanos,
    /// True if the client posts its messages immediately, as the version with a known handshake does. Other versions
    /// first finish their handshake, which takes a fraction of a millisecond.
    pub exact: bool,
}

/// Number of a queue pair on its device, 24 bits.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct QpNumber(pub u32);

/// Address of a queue pair, as the two sides exchange it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct QpAddress {
    /// Number of the queue pair, which is the destination QP in the BTH of packets to it.
    pub qp: QpNumber,
    /// GID of the port: for RoCEv2 over IPv4, `::ffff:` followed by the IPv4 address.
    pub gid: Ipv6Addr,
}

/// Way in which a process ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// The process exited with this code.
    Code(i32),
    /// The process was killed by this signal.
    Signal(i32),
    /// The end of the process was not observed.
    Unknown,
}

/// Event of a session, between its preparation and its end.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Both processes are waiting for the start trigger.
    Ready {
        flow: FlowId,
        /// Queue pair of the client.
        client_qp: QpAddress,
        /// Queue pair of the server.
        server_qp: QpAddress,
    },
    /// The flow was started.
    Started { flow: FlowId, start: FlowStart },
    /// All data has been delivered and acknowledged; perftest's client has not reported yet.
    Delivered { flow: FlowId },
    /// The flow has ended.
    Ended(FlowOutcome),
}

/// Sends an event. A dropped receiver is not an error, because outcomes are also returned.
pub(crate) fn emit(events: &mpsc::UnboundedSender<Event>, event: Event) {
    let _ = events.send(event);
}

impl FlowOutcome {
    /// Returns the outcome of a flow that has no queue pairs, no start and no report.
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
    /// Returns the flow completion time; `None` if the flow did not finish.
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
            Self::WorkRequest { side, error } => write!(
                f,
                "a verbs call or work request of the {side} failed: {error}"
            ),
            Self::Unparsable { error } => error.fmt(f),
            Self::NotReady { error } => error.fmt(f),
            Self::NotStarted { reason } => {
                write!(f, "cannot send the start message to the client: {reason}")
            }
            Self::NoReport { within } => {
                write!(
                    f,
                    "all data was delivered, but the client did not report within {within}"
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
            Self::Signal(signal) => write!(f, "was killed by signal {signal}"),
            Self::Unknown => f.write_str("ended for an unknown reason"),
        }
    }
}

impl fmt::Display for QpNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#08x}", self.0)
    }
}
