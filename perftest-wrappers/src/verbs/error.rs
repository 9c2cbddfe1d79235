//! Errors of the verbs generator.

use std::io;

use lab_units::FlowId;

/// Error from libibverbs or a device.
#[derive(Debug, thiserror::Error)]
pub enum VerbsError {
    /// libibverbs cannot be opened.
    #[error(
        "cannot open libibverbs: {source} (hint: `lcmp-lab provision` installs it; Debian's packages \
         are libibverbs1 and ibverbs-providers)"
    )]
    Library { source: libloading::Error },
    /// No RDMA device has this name.
    #[error("there is no RDMA device `{device}` (hint: `rdma link` lists them)")]
    NoDevice { device: String },
    /// A call to libibverbs failed.
    #[error("{call} on RDMA device `{device}`: {source}{}", hint(source))]
    Call {
        /// Name of the function in libibverbs.
        call: &'static str,
        /// Name of the device.
        device: String,
        source: io::Error,
    },
    /// The namespace of a host cannot be entered.
    #[error("cannot enter the network namespace of `{host}`: {source}")]
    Netns { host: String, source: io::Error },
    /// The kernel refuses to create a thread, timer or event descriptor.
    #[error("cannot start the traffic generator: {source}")]
    Thread { source: io::Error },
    /// The generator cannot run a flow, because its job is invalid.
    #[error("flow {flow}: {problem}")]
    Job {
        flow: FlowId,
        /// Reason, such as a message size and its bound.
        problem: String,
    },
}

/// Returns a hint for the error of a failed call; empty if there is none.
fn hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ENOMEM) => {
            " (hint: memory or the limit of locked memory is exhausted; `ulimit -l unlimited`, or \
             fewer concurrent flows)"
        }
        Some(libc::ENOSPC | libc::EAGAIN) => {
            " (hint: the device has no more queue pairs; spread the flows over more hosts or time)"
        }
        Some(libc::EACCES | libc::EPERM) => " (hint: run as root)",
        Some(libc::ETIMEDOUT | libc::EHOSTUNREACH | libc::ENETUNREACH) => {
            " (hint: the peer's address was not resolved; check the host's routes and neighbours)"
        }
        _ => "",
    }
}

/// Returns a hint for the status of a failed work completion, given as a value of `enum ibv_wc_status`.
pub(crate) const fn status_hint(status: i32) -> &'static str {
    match status {
        // IBV_WC_WR_FLUSH_ERR
        5 => "the queue pair had already failed",
        // IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR
        10 | 11 => "the receiver refused the write",
        // IBV_WC_RETRY_EXC_ERR
        12 => {
            "no acknowledgement arrived: a link is down, queues overflow, or `transport.retransmit_timeout` \
             is shorter than the round trip"
        }
        // IBV_WC_RNR_RETRY_EXC_ERR
        13 => "the receiver had not posted a receive request",
        _ => "see the kernel's log, `dmesg`",
    }
}
