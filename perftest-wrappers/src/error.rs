//! Errors before and while a session runs.

use std::{io, path::PathBuf};

use lab_units::{Bytes, FlowId, Side, Tool};
use serde::{Deserialize, Serialize};

use crate::{
    job::{MAX_MESSAGE, MIN_MESSAGES},
    qp::MAX_QP_TIMEOUT,
};

/// Job that perftest cannot run.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum JobError {
    /// Fewer messages than perftest accepts.
    #[error("flow {flow}: {messages} messages, perftest takes at least {MIN_MESSAGES}")]
    TooFewMessages {
        /// Flow.
        flow: FlowId,
        /// Requested value.
        messages: u32,
    },
    /// A message that is empty or larger than rxe accepts.
    #[error(
        "flow {flow}: a message of {size} (hint: it must have between 1 B and {MAX_MESSAGE}; use more messages)"
    )]
    MessageSize {
        /// Flow.
        flow: FlowId,
        /// Requested value.
        size: Bytes,
    },
    /// A path MTU that InfiniBand does not have.
    #[error("flow {flow}: path MTU {mtu}, it must be 256, 512, 1024, 2048 or 4096")]
    PathMtu {
        /// Flow.
        flow: FlowId,
        /// Requested value.
        mtu: u32,
    },
    /// A QP time-out out of its five bits.
    #[error("flow {flow}: QP time-out exponent {timeout}, it must be at most {MAX_QP_TIMEOUT}")]
    QpTimeout {
        /// Flow.
        flow: FlowId,
        /// Requested value.
        timeout: u8,
    },
    /// A device name that perftest would parse as an option.
    #[error("flow {flow}: `{device}` is no RDMA device name")]
    DeviceName {
        /// Flow.
        flow: FlowId,
        /// Given name.
        device: String,
    },
    /// Two rows of the schedule with one id.
    #[error("flow {flow} is in the schedule twice")]
    Duplicate {
        /// Flow.
        flow: FlowId,
    },
}

/// Installation of perftest that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The program is not in `PATH`.
    #[error("cannot find `{tool}` (hint: apt-get install perftest)")]
    Missing {
        /// Program.
        tool: Tool,
    },
    /// The program does not start.
    #[error("cannot run `{tool} --version`: {source}")]
    Run {
        /// Program.
        tool: Tool,
        /// Cause.
        source: io::Error,
    },
    /// The program does not print a version.
    #[error("`{tool} --version` printed `{output}`, which has no version in it")]
    NoVersion {
        /// Program.
        tool: Tool,
        /// First line of the output.
        output: String,
    },
}

/// Session that could not begin; none of its processes is left.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A job cannot be run.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A namespace that cannot be opened.
    #[error("cannot open the network namespace `{path}` of host `{host}`: {source}")]
    Netns {
        /// Host.
        host: String,
        /// Path of the namespace.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The kernel refused a thread, timer or socket.
    #[error("cannot start the threads that launch and start flows: {source}")]
    Thread {
        /// Cause.
        source: io::Error,
    },
}

/// Handshake that failed, so that a flow did not become ready.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum HandshakeError {
    /// A process could not be started.
    #[error("cannot start the {side}: {reason}")]
    Spawn {
        /// Process.
        side: Side,
        /// Cause.
        reason: String,
    },
    /// A socket of the gate failed.
    #[error("cannot {what}: {reason}")]
    Socket {
        /// Action that failed.
        what: String,
        /// Cause.
        reason: String,
    },
    /// The handshake took too long.
    #[error("no handshake within {seconds} s: {waiting_for}")]
    TimedOut {
        /// Limit, in seconds.
        seconds: u64,
        /// Awaited event.
        waiting_for: String,
    },
    /// Bytes that no known perftest sends.
    #[error("unexpected handshake from the {side}: {len} bytes beginning with `{start}` (hint: the gate knows perftest {known})", known = crate::probe::KNOWN_VERSION)]
    Unexpected {
        /// Sender.
        side: Side,
        /// Number of bytes.
        len: usize,
        /// First bytes, escaped.
        start: String,
    },
    /// A process closed its connection before data could flow.
    #[error("the {side} closed the handshake before data could flow")]
    Closed {
        /// Process.
        side: Side,
    },
}
