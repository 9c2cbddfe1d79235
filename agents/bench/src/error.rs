//! Failures of a measurement.

use std::{io, time::Duration};

use lab_switchd::SwitchdError;

/// Failure of a measurement.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum BenchError {
    /// Failure of the switch program or its agent.
    #[error(transparent)]
    Switch(#[from] SwitchdError),
    #[error("`{command}` failed: {why} (hint: it needs root and iproute2)")]
    Command { command: String, why: String },
    #[error("cannot {action}: {source}")]
    Io {
        action: &'static str,
        source: io::Error,
    },
    #[error("the agent did not report {what}: {instead}")]
    Agent { what: &'static str, instead: String },
    #[error("{what} did not happen within {} s", limit.as_secs())]
    Waited { what: &'static str, limit: Duration },
    #[error("{arrived} of {sent} packets came through {by}")]
    Lost {
        by: &'static str,
        arrived: u64,
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
            Self::Agent { .. } | Self::Waited { .. } | Self::Lost { .. } => false,
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
