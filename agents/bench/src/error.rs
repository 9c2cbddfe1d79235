//! Failures of a measurement.

use std::io;

use lab_switchd::SwitchdError;

/// Failure of a measurement.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// Failure of the switch program or its agent.
    #[error(transparent)]
    Switch(#[from] SwitchdError),
    /// Failure of a command that builds the testbed.
    #[error("`{command}` failed: {why} (hint: it needs root and iproute2)")]
    Command {
        /// Command line.
        command: String,
        /// Output of the command, or why it did not start.
        why: String,
    },
    /// Failure of a system call.
    #[error("cannot {action}: {source}")]
    Io {
        /// Action that failed.
        action: &'static str,
        /// Answer of the kernel.
        source: io::Error,
    },
    /// Unexpected message of the agent, or none.
    #[error("the agent did not report {what}: {instead}")]
    Agent {
        /// Expected message.
        what: &'static str,
        /// Received message.
        instead: String,
    },
    /// Packets lost by a switch.
    #[error("{arrived} of {sent} packets came through {by}")]
    Lost {
        /// Forwarder of the packets.
        by: &'static str,
        /// Packets that arrived.
        arrived: u64,
        /// Packets that were sent.
        sent: u64,
    },
}

impl BenchError {
    /// Returns true if privileges or tools are missing: tests are skipped then.
    #[must_use]
    pub fn is_not_permitted(&self) -> bool {
        match self {
            Self::Switch(error) => error.is_not_permitted(),
            Self::Command { why, .. } => MISSING.iter().any(|missing| why.contains(missing)),
            Self::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            Self::Agent { .. } | Self::Lost { .. } => false,
        }
    }

    pub(crate) fn io<E: Into<io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Io {
            action,
            source: error.into(),
        }
    }
}

/// Answers of iproute2 or the shell without privileges, and of a system without iproute2.
const MISSING: [&str; 3] = [
    "Operation not permitted",
    "Permission denied",
    "No such file or directory",
];
