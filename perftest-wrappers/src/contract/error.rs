//! Errors in a job, and errors that end a flow with a failed [`Status`](super::Status).

use lab_units::{Bytes, FlowId, Nanos, Side};

use serde::{Deserialize, Serialize};

use super::{
    fct::Bandwidth,
    limits::{MAX_MESSAGE, MIN_MESSAGES},
    qp::MAX_QP_TIMEOUT,
};

/// Reason why a job cannot be run by perftest.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum JobError {
    /// The job has fewer messages than perftest accepts.
    #[error("flow {flow}: {messages} messages; perftest requires at least {MIN_MESSAGES}")]
    TooFewMessages { flow: FlowId, messages: u32 },
    /// The message is empty or larger than rxe accepts.
    #[error(
        "flow {flow}: a message has {size}; it must have 1 B to {MAX_MESSAGE} (hint: use more messages)"
    )]
    MessageSize { flow: FlowId, size: Bytes },
    /// InfiniBand has no path MTU of this size.
    #[error("flow {flow}: path MTU {mtu}; it must be 256, 512, 1024, 2048 or 4096")]
    PathMtu { flow: FlowId, mtu: u32 },
    /// The exponent of the QP time-out does not fit in its five-bit field.
    #[error("flow {flow}: QP time-out exponent {timeout}; it must be at most {MAX_QP_TIMEOUT}")]
    QpTimeout { flow: FlowId, timeout: u8 },
    /// perftest would parse the device name as an option.
    #[error("flow {flow}: `{device}` is not a valid RDMA device name")]
    DeviceName { flow: FlowId, device: String },
    /// Two rows of the schedule have the same flow id.
    #[error("flow {flow} occurs twice in the schedule")]
    Duplicate { flow: FlowId },
}

/// Reason why the handshake between client and server failed, so that the flow did not become ready.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum HandshakeError {
    /// A process could not be started.
    #[error("cannot start the {side}: {reason}")]
    Spawn {
        /// Side whose process could not be started.
        side: Side,
        reason: String,
    },
    /// A socket of the gate, the TCP proxy between client and server, failed.
    #[error("cannot {what}: {reason}")]
    Socket {
        /// Action that failed, as a verb phrase.
        what: String,
        reason: String,
    },
    /// The handshake took too long.
    #[error("no handshake within {seconds} s (waiting for {waiting_for})")]
    TimedOut {
        /// Time limit, in seconds.
        seconds: u64,
        /// Event for which the gate, the TCP proxy between client and server, waited.
        waiting_for: String,
    },
    /// A process sent bytes that no known perftest sends.
    #[error("unexpected handshake from the {side}: {len} bytes beginning with `{start}` (hint: the supported version of perftest is {known})", known = crate::perftest::KNOWN_VERSION)]
    Unexpected {
        /// Side that sent the bytes.
        side: Side,
        /// Number of bytes in the unexpected message.
        len: usize,
        /// First bytes of the unexpected message, escaped.
        start: String,
    },
    /// A process closed its connection before data could flow.
    #[error("the {side} closed the handshake before data could flow")]
    Closed {
        /// Side that closed the connection.
        side: Side,
    },
}

/// Reason why the client's report cannot be used.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ReportError {
    /// No line of the client's output is a number.
    #[error(
        "the client exited without error but printed no bandwidth (its last line is `{last_line}`)"
    )]
    NoBandwidth {
        /// Last line of the client's output.
        last_line: String,
    },
    /// More than one line of the client's output is a number.
    #[error("the client printed two bandwidths, `{first}` and `{second}`")]
    TwoBandwidths { first: String, second: String },
    /// The number that the client printed cannot be a bandwidth.
    #[error(
        "the client reported a bandwidth of `{value}` MiB/s, which is impossible (hint: perftest needs a stable TSC; boot a guest with tsc=reliable clocksource=tsc)"
    )]
    NoTime {
        /// Number that the client printed.
        value: String,
    },
    /// The bandwidth that the client sent to its server differs from the bandwidth that it printed.
    #[error("the client reported a bandwidth of {exchanged} to its server but printed {printed}")]
    Disagree {
        /// Bandwidth that the client sent to its server.
        exchanged: Bandwidth,
        /// Bandwidth that the client printed.
        printed: Bandwidth,
    },
    /// The FCT computed from the reported bandwidth is longer than the time from the start to the completion marker.
    #[error(
        "the client reported an FCT of {fct}, but its last completion came within {bound} of the start \
         (hint: check that the CPU's clock rate in /proc/cpuinfo is the rate of its TSC)"
    )]
    Impossible {
        /// FCT computed from the reported bandwidth.
        fct: Nanos,
        /// Time from the start to the completion marker.
        bound: Nanos,
    },
}
