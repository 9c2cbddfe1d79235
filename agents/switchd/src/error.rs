//! Failures of an agent.

use std::io;

use aya::{EbpfError, maps::MapError, programs::ProgramError};
use lab_abi::wire::AgentConfigError;
use lab_units::PortId;

use crate::ObjectError;

/// Failure of an agent.
#[derive(Debug, thiserror::Error)]
pub enum SwitchdError {
    /// Configuration that does not fit the switch.
    #[error("configuration: {0}")]
    Config(#[from] AgentConfigError),
    /// Controller that does not listen.
    #[error("cannot connect to the controller at `{path}`")]
    Connect {
        /// Path of the socket.
        path: String,
        /// Answer of the kernel.
        #[source]
        source: io::Error,
    },
    /// Line of the controller that is no command.
    #[error("the controller sent `{line}`, which is no command")]
    Command {
        /// Line as received.
        line: String,
        /// Parse error.
        #[source]
        source: serde_json::Error,
    },
    /// Object of the user's own that is no switch program.
    #[error("switch program `{path}`: {source}")]
    Object {
        /// Path of the object.
        path: String,
        /// Problem of the object.
        #[source]
        source: ObjectError,
    },
    /// Unusable file of a pinned map.
    #[error("cannot {action} `{path}` (hint: it is to be in a BPF file system)")]
    Pins {
        /// Action that failed.
        action: &'static str,
        /// File or directory.
        path: String,
        /// Answer of the kernel.
        #[source]
        source: io::Error,
    },
    /// Object that the kernel or the loader refuses.
    #[error("cannot load the switch program")]
    Load(#[from] EbpfError),
    /// Program that the kernel's verifier refuses, or that cannot be run.
    #[error("cannot {action} the switch program")]
    Program {
        /// Action that failed.
        action: &'static str,
        /// Answer of the kernel.
        #[source]
        source: ProgramError,
    },
    /// Map or program missing in the object.
    #[error("the switch program has no `{name}`")]
    Missing {
        /// Name of the map or program.
        name: &'static str,
    },
    /// Map that cannot be read or written.
    #[error("cannot {action} the map `{map}`")]
    Map {
        /// Action that failed.
        action: &'static str,
        /// Name of the map.
        map: &'static str,
        /// Answer of the kernel.
        #[source]
        source: MapError,
    },
    /// Interface missing in the agent's network namespace.
    #[error("port {port}: there is no interface `{interface}` in this network namespace")]
    NoInterface {
        /// Id of the port.
        port: PortId,
        /// Interface of the port.
        interface: String,
    },
    /// Port that the program cannot be attached to.
    #[error("cannot attach the switch program to `{interface}`")]
    Attach {
        /// Interface of the port.
        interface: String,
        /// Answer of the kernel.
        #[source]
        source: ProgramError,
    },
    /// tcx requested on a kernel without it.
    #[error("cannot attach by tcx: this kernel is older than 6.6 (hint: attach by netlink)")]
    NoTcx,
    /// Netlink request that failed.
    #[error("cannot {action}")]
    Netlink {
        /// Action that failed.
        action: &'static str,
        /// Answer of the kernel.
        #[source]
        source: io::Error,
    },
    /// Other system call that failed.
    #[error("cannot {action}")]
    Io {
        /// Action that failed.
        action: &'static str,
        /// Answer of the kernel.
        #[source]
        source: io::Error,
    },
}

impl SwitchdError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(nix::Error) -> Self {
        move |errno| Self::Io {
            action,
            source: errno.into(),
        }
    }

    /// Returns a conversion of a map's error.
    pub fn map(action: &'static str, map: &'static str) -> impl FnOnce(MapError) -> Self {
        move |source| Self::Map {
            action,
            map,
            source,
        }
    }

    /// Returns true if the kernel refused for lack of privileges: tests are skipped then.
    #[must_use]
    pub fn is_not_permitted(&self) -> bool {
        let mut cause: Option<&dyn std::error::Error> = Some(self);
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return error.kind() == io::ErrorKind::PermissionDenied;
            }
            cause = error.source();
        }
        false
    }

    /// Returns the error and its causes on one line, without repeating a cause that is already there.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let reason = error.to_string();
            if !text.ends_with(&reason) {
                text.push_str(": ");
                text.push_str(&reason);
            }
            cause = error.source();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_names_each_cause_once_and_finds_a_refusal() {
        let refused = MapError::CreateError {
            name: "flows".to_owned(),
            io_error: io::Error::from(io::ErrorKind::PermissionDenied),
        };
        let error = SwitchdError::Load(EbpfError::MapError(refused));
        assert!(error.is_not_permitted());
        assert_eq!(
            error.chain(),
            "cannot load the switch program: map error: failed to create map `flows`: \
             permission denied"
        );
    }
}
