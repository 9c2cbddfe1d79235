//! Failures of a measurement.

use std::{io, time::Duration};

use lab_loader::{LoaderError, lacks_privilege};
use lab_switchd::SwitchdError;
use nix::unistd::geteuid;

/// Reason why a measurement or a live test failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// Failure of the switch program or its agent.
    #[error(transparent)]
    Switch(#[from] SwitchdError),
    /// Failure of the programs that generate and count packets.
    #[error(transparent)]
    Loader(#[from] LoaderError),
    #[error("`{command}` failed: {why} (hint: it needs root and iproute2)")]
    Command { command: String, why: String },
    #[error("cannot {action}: {source}")]
    Io {
        action: &'static str,
        source: io::Error,
    },
    #[error("the agent did not report {what}; instead: {instead}")]
    Agent { what: &'static str, instead: String },
    #[error("{what} did not happen within {} s", limit.as_secs())]
    Waited { what: &'static str, limit: Duration },
    #[error("only {arrived} of {sent} packets arrived through {by}")]
    Lost {
        by: &'static str,
        arrived: u64,
        sent: u64,
    },
}

impl BenchError {
    /// Returns true if the process lacks privileges; tests are then skipped.
    #[must_use]
    pub fn is_not_permitted(&self) -> bool {
        self.is_not_permitted_to(geteuid().is_root())
    }

    fn is_not_permitted_to(&self, is_root: bool) -> bool {
        match self {
            Self::Command { why, .. } => !is_root && REFUSALS.iter().any(|text| why.contains(text)),
            Self::Switch(_) | Self::Loader(_) | Self::Io { .. } => lacks_privilege(self, is_root),
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

/// Error texts from iproute2 without privileges: for a refused system call, and for a directory that root owns.
const REFUSALS: [&str; 2] = ["Operation not permitted", "Permission denied"];

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::*;

    #[test]
    fn a_user_lacks_privileges_and_root_does_not() {
        let command = |why: &str| BenchError::Command {
            command: "ip netns add a".to_owned(),
            why: why.to_owned(),
        };
        let refused = command("mkdir /run/netns failed: Permission denied");
        assert!(refused.is_not_permitted_to(false));
        assert!(!refused.is_not_permitted_to(true));
        // A system without iproute2 lacks a tool, not a privilege.
        let no_tool = command("No such file or directory (os error 2)");
        assert!(!no_tool.is_not_permitted_to(false));

        let io = BenchError::io("enter a namespace");
        let entered = io(io::Error::from(Errno::EPERM));
        assert!(entered.is_not_permitted_to(false) && !entered.is_not_permitted_to(true));
    }

    #[test]
    fn a_program_that_the_verifier_refuses_is_no_lack_of_privileges() {
        let refused = SwitchdError::Io {
            action: "load",
            source: Errno::EACCES.into(),
        };
        assert!(!BenchError::from(refused).is_not_permitted_to(false));
    }
}
