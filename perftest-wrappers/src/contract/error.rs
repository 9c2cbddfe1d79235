//! Errors in a job, and in a flow's [`Status`](super::Status).

use lab_units::{Bytes, FlowId, Nanos, Side};

use serde::{Deserialize, Serialize};

use super::{
    fct::Bandwidth,
    limits::{MAX_MESSAGE, MIN_MESSAGES},
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
    #[error("unexpected handshake from the {side}: {len} bytes beginning with `{start}` (hint: the gate knows perftest {known})", known = crate::perftest::KNOWN_VERSION)]
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

/// Report that cannot be parsed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ReportError {
    /// No line has a number.
    #[error(
        "the client exited without error and printed no bandwidth (its last line is `{last_line}`)"
    )]
    NoBandwidth {
        /// Last line of the output.
        last_line: String,
    },
    /// More than one line has a number.
    #[error("the client printed two bandwidths, `{first}` and `{second}`")]
    TwoBandwidths {
        /// First line.
        first: String,
        /// Second line.
        second: String,
    },
    /// The number is no rate of a flow.
    #[error(
        "the client reported a bandwidth of `{value}` MiB/s, which no flow has (hint: perftest needs a stable TSC; boot a guest with tsc=reliable clocksource=tsc)"
    )]
    NoTime {
        /// Printed number.
        value: String,
    },
    /// The exchanged and the printed bandwidth differ.
    #[error("the client sent its server {exchanged} and printed {printed}")]
    Disagree {
        /// Exchanged bandwidth.
        exchanged: Bandwidth,
        /// Printed bandwidth.
        printed: Bandwidth,
    },
    /// The FCT is longer than the time until the completion marker.
    #[error(
        "the client reported an FCT of {fct}, but had its last completion within {bound} (hint: \
         is the CPU's clock rate in /proc/cpuinfo that of its TSC?)"
    )]
    Impossible {
        /// Computed FCT.
        fct: Nanos,
        /// Time of the completion marker.
        bound: Nanos,
    },
}
