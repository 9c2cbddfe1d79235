//! What can be wrong before, while and after a flow runs.

use std::{io, path::PathBuf};

use lab_units::{Bytes, FlowId, Side, Tool};

use crate::{
    job::{MAX_MESSAGE, MIN_MESSAGES},
    qp::MAX_QP_TIMEOUT,
};

/// A flow that perftest cannot make.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum JobError {
    /// Fewer messages than perftest takes.
    #[error("flow {flow}: {messages} messages, perftest takes at least {MIN_MESSAGES}")]
    TooFewMessages {
        /// The flow.
        flow: FlowId,
        /// What was asked for.
        messages: u32,
    },
    /// A message that is empty or larger than rxe takes.
    #[error(
        "flow {flow}: a message of {size} (hint: it must have between 1 B and {MAX_MESSAGE}; use more messages)"
    )]
    MessageSize {
        /// The flow.
        flow: FlowId,
        /// What was asked for.
        size: Bytes,
    },
    /// A path MTU that InfiniBand does not have.
    #[error("flow {flow}: path MTU {mtu}, it must be 256, 512, 1024, 2048 or 4096")]
    PathMtu {
        /// The flow.
        flow: FlowId,
        /// What was asked for.
        mtu: u32,
    },
    /// A QP time-out out of its five bits.
    #[error("flow {flow}: QP time-out exponent {timeout}, it must be at most {MAX_QP_TIMEOUT}")]
    QpTimeout {
        /// The flow.
        flow: FlowId,
        /// What was asked for.
        timeout: u8,
    },
    /// An RDMA device name that perftest would take for something else.
    #[error("flow {flow}: `{device}` is no RDMA device name")]
    DeviceName {
        /// The flow.
        flow: FlowId,
        /// What was given.
        device: String,
    },
    /// Two rows of the schedule with one id.
    #[error("flow {flow} is in the schedule twice")]
    Duplicate {
        /// The flow.
        flow: FlowId,
    },
}

/// A perftest installation that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The program is not in `PATH`.
    #[error("cannot find `{tool}` (hint: apt-get install perftest)")]
    Missing {
        /// The tool.
        tool: Tool,
    },
    /// The program does not start.
    #[error("cannot run `{tool} --version`: {source}")]
    Run {
        /// The tool.
        tool: Tool,
        /// Why.
        source: io::Error,
    },
    /// The program says something else than its version.
    #[error("`{tool} --version` printed `{output}`, which has no version in it")]
    NoVersion {
        /// The tool.
        tool: Tool,
        /// Its first line.
        output: String,
    },
}

/// A session that could not begin; no process of it is left.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A flow that cannot be made.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A namespace that cannot be opened.
    #[error("cannot open the network namespace `{path}` of host `{host}`: {source}")]
    Netns {
        /// The host.
        host: String,
        /// The namespace.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A thread, timer or socket that the kernel refused.
    #[error("cannot start the threads that launch and release flows: {source}")]
    Thread {
        /// Why.
        source: io::Error,
    },
}

/// Why a flow's two processes did not become ready to send.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HandshakeError {
    /// A process could not be started.
    #[error("cannot start the {side}: {reason}")]
    Spawn {
        /// Which.
        side: Side,
        /// Why.
        reason: String,
    },
    /// A socket of the gate failed.
    #[error("cannot {what}: {reason}")]
    Socket {
        /// What was tried.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// Nothing came for too long.
    #[error("no handshake within {seconds} s: {waiting_for}")]
    TimedOut {
        /// The limit.
        seconds: u64,
        /// What was awaited.
        waiting_for: &'static str,
    },
    /// Bytes that no known perftest sends there.
    #[error("unexpected handshake from the {side}: {len} bytes beginning with `{start}` (hint: the gate knows perftest {known})", known = crate::probe::KNOWN_VERSION)]
    Unexpected {
        /// Who sent them.
        side: Side,
        /// How many.
        len: usize,
        /// The first of them, escaped.
        start: String,
    },
    /// A process closed its connection before data could flow.
    #[error("the {side} closed the handshake before data could flow")]
    Closed {
        /// Who.
        side: Side,
    },
}
