//! What became of a flow, and what happens on the way.

use std::{fmt, net::Ipv6Addr};

use lab_units::{FlowId, Nanos, Side};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::{
    clock::MonotonicTime,
    error::HandshakeError,
    fct::{Fct, Sign},
    process::Output,
    report::{Bandwidth, ReportError},
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
    /// The client's queue pair, once the two sides had exchanged it.
    pub client_qp: Option<QpAddress>,
    /// The server's queue pair, once the two sides had exchanged it.
    pub server_qp: Option<QpAddress>,
    /// What perftest said, as it said it.
    pub bandwidth: Option<Bandwidth>,
    /// The first thing the client did after its last completion; the FCT is at most this long.
    pub sign: Option<Sign>,
    /// The last of what the client printed.
    pub stdout_tail: String,
}

/// How a flow ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Status {
    /// All messages were acknowledged.
    Finished(Fct),
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
    /// The message that starts it could not be sent.
    NotReleased {
        /// Why.
        reason: String,
    },
    /// It was delivered, and its client did not report.
    NoReport {
        /// How long that was waited for.
        within: Nanos,
    },
    /// The session was aborted before it ended.
    Aborted,
}

/// When a flow was let go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Release {
    /// The instant the message that starts the client was sent.
    pub at: MonotonicTime,
    /// How much later than scheduled that was.
    pub lateness: Nanos,
    /// Whether the client posts its messages at once. It does for the version whose handshake is
    /// known; any other has the rest of its handshake to make first, a fraction of a millisecond.
    pub exact: bool,
}

/// The number of a queue pair on its device: 24 bits.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct QpNumber(pub u32);

/// Where packets to a queue pair go, as the two sides told each other.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct QpAddress {
    /// Its number, which is the BTH destination QP of packets to it.
    pub qp: QpNumber,
    /// The GID of its port: for RoCEv2 over IPv4, `::ffff:` and the address.
    pub gid: Ipv6Addr,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// In a way nobody saw.
    Unknown,
}

/// What happens while a session is prepared and run, in the order it happens.
#[derive(Clone, Debug)]
pub enum Event {
    /// Both processes wait to be let go.
    Ready {
        /// The flow.
        flow: FlowId,
        /// The client's queue pair.
        client_qp: QpAddress,
        /// The server's queue pair.
        server_qp: QpAddress,
    },
    /// The flow was let go.
    Released {
        /// The flow.
        flow: FlowId,
        /// When.
        release: Release,
    },
    /// Its data is delivered and acknowledged; its client has yet to report.
    Delivered {
        /// The flow.
        flow: FlowId,
    },
    /// The flow has its row.
    Ended(FlowOutcome),
}

/// Events are for who wants to watch; the rows are returned as well.
pub(crate) fn tell(events: &mpsc::UnboundedSender<Event>, event: Event) {
    let _ = events.send(event);
}

impl FlowOutcome {
    /// The row of a flow that never became ready.
    pub(crate) const fn not_started(flow: FlowId, status: Status) -> Self {
        Self {
            flow,
            status,
            release: None,
            client_qp: None,
            server_qp: None,
            bandwidth: None,
            sign: None,
            stdout_tail: String::new(),
        }
    }
}

impl Status {
    pub(crate) fn failed(side: Side, exit: Exit, output: &Output) -> Self {
        Self::Failed {
            side,
            exit,
            message: complaint(output),
        }
    }

    /// The flow completion time of a finished flow.
    #[must_use]
    pub const fn fct(&self) -> Option<Nanos> {
        match self {
            Self::Finished(fct) => Some(fct.time),
            _ => None,
        }
    }

    /// One word for a table.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Finished(_) => "finished",
            Self::TimedOut { .. } => "timed_out",
            Self::Failed { .. } => "failed",
            Self::Unparsable { .. } => "unparsable",
            Self::NotReady { .. } => "not_ready",
            Self::NotReleased { .. } => "not_released",
            Self::NoReport { .. } => "no_report",
            Self::Aborted => "aborted",
        }
    }
}

/// What a failed process said, in one line: perftest complains on stdout and stderr alike, and
/// prints rules of dashes and empty lines between.
fn complaint(output: &Output) -> String {
    let lines = output
        .stdout
        .lines()
        .chain(output.stderr.lines())
        .map(str::trim);
    let words = |line: &&str| line.chars().any(char::is_alphanumeric);
    let said: Vec<&str> = lines.filter(words).collect();
    said[said.len().saturating_sub(COMPLAINT_LINES)..].join("; ")
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
            Self::Unparsable { error } => error.fmt(f),
            Self::NotReady { error } => error.fmt(f),
            Self::NotReleased { reason } => write!(f, "cannot start the client's data: {reason}"),
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
            Self::Unknown => f.write_str("ended unseen"),
        }
    }
}

impl fmt::Display for QpNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#08x}", self.0)
    }
}

/// Of what a failed process said, the lines that are kept.
const COMPLAINT_LINES: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_process_is_quoted_in_one_line() {
        let rows = [
            include_str!("../fixtures/no_device.stderr"),
            include_str!("../fixtures/refused.stderr"),
            include_str!("../fixtures/gid_out_of_range.stderr"),
            include_str!("../fixtures/gid_empty.stderr"),
            include_str!("../fixtures/port_in_use.stderr"),
            include_str!("../fixtures/peer_gone.stderr"),
        ]
        .map(|stderr| {
            let output = Output {
                stdout: "-----\n\n".to_owned(),
                stderr: stderr.to_owned(),
            };
            Status::failed(Side::Client, Exit::Code(1), &output).to_string()
        });
        insta::assert_snapshot!(rows.join("\n"));
    }

    #[test]
    fn a_process_that_said_nothing_is_named_by_its_end() {
        let status = Status::failed(Side::Server, Exit::Signal(11), &Output::default());
        assert_eq!(status.to_string(), "the server was ended by signal 11");
    }
}
