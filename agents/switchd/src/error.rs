//! Why an agent cannot do its work.

use std::io;

use aya::{EbpfError, maps::MapError, programs::ProgramError};
use lab_abi::wire::AgentConfigError;
use lab_units::PortId;

use crate::ObjectError;

/// Why an agent cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum SwitchdError {
    /// The configuration does not fit the switch.
    #[error("configuration: {0}")]
    Config(#[from] AgentConfigError),
    /// The controller does not listen.
    #[error("cannot connect to the controller at `{path}`")]
    Connect {
        /// Its socket.
        path: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The controller said what no agent understands.
    #[error("the controller sent `{line}`, which is no command")]
    Command {
        /// The line.
        line: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The user's own switch program is none.
    #[error("switch program `{path}`: {source}")]
    Object {
        /// Its path.
        path: String,
        /// What is wrong with it.
        #[source]
        source: ObjectError,
    },
    /// Files of pinned maps cannot be used.
    #[error("cannot {action} `{path}` (hint: it is to be in a BPF file system)")]
    Pins {
        /// What was to be done with it.
        action: &'static str,
        /// The file or directory.
        path: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The kernel does not take the switch program or its maps.
    #[error("cannot load the switch program")]
    Load(#[from] EbpfError),
    /// The kernel's verifier refused the switch program, or it cannot be run.
    #[error("cannot {action} the switch program")]
    Program {
        /// What was to be done with it.
        action: &'static str,
        /// The kernel's answer.
        #[source]
        source: ProgramError,
    },
    /// A map or program that the object does not have.
    #[error("the switch program has no `{name}`")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// A map that cannot be read or written.
    #[error("cannot {action} the map `{map}`")]
    Map {
        /// What was to be done with it.
        action: &'static str,
        /// The map.
        map: &'static str,
        /// The kernel's answer.
        #[source]
        source: MapError,
    },
    /// A port's interface is not in the agent's network namespace.
    #[error("port {port}: there is no interface `{interface}` in this network namespace")]
    NoInterface {
        /// The port.
        port: PortId,
        /// Its interface.
        interface: String,
    },
    /// The program cannot be attached to a port.
    #[error("cannot attach the switch program to `{interface}`")]
    Attach {
        /// The port's interface.
        interface: String,
        /// The kernel's answer.
        #[source]
        source: ProgramError,
    },
    /// tcx is asked for where the kernel does not have it.
    #[error("cannot attach by tcx: this kernel is older than 6.6 (hint: attach by netlink)")]
    NoTcx,
    /// A netlink request failed.
    #[error("cannot {action}")]
    Netlink {
        /// What was asked for.
        action: &'static str,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// Another system call failed.
    #[error("cannot {action}")]
    Io {
        /// What was to be done.
        action: &'static str,
        /// The kernel's answer.
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

    pub(crate) fn map(action: &'static str, map: &'static str) -> impl FnOnce(MapError) -> Self {
        move |source| Self::Map {
            action,
            map,
            source,
        }
    }

    /// Whether the kernel refused for want of privileges: tests are skipped then.
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

    /// The error and all that caused it, on one line; a cause that was just said is not repeated.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let said = error.to_string();
            if !text.ends_with(&said) {
                text.push_str(": ");
                text.push_str(&said);
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
    fn a_chain_says_each_cause_once_and_finds_a_refusal() {
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
