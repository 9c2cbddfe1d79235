//! Failures of an agent.

use std::io;

use aya::{EbpfError, maps::MapError, programs::ProgramError};
use lab_abi::wire::AgentConfigError;
use lab_units::PortId;

use crate::ObjectError;

/// Failure of an agent.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum SwitchdError {
    #[error("configuration: {0}")]
    Config(#[from] AgentConfigError),
    #[error("cannot connect to the controller at `{path}`")]
    Connect {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("the controller sent `{line}`, which is no command")]
    Command {
        line: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("switch program `{path}`: {source}")]
    Object {
        path: String,
        #[source]
        source: ObjectError,
    },
    #[error("cannot {action} `{path}` (hint: it is to be in a BPF file system)")]
    Pins {
        action: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot load the switch program")]
    Load(#[from] EbpfError),
    #[error("cannot {action} the switch program")]
    Program {
        action: &'static str,
        #[source]
        source: ProgramError,
    },
    #[error("the switch program has no `{name}`")]
    Missing { name: &'static str },
    #[error("cannot {action} the map `{map}`")]
    Map {
        action: &'static str,
        map: &'static str,
        #[source]
        source: MapError,
    },
    #[error("port {port}: there is no interface `{interface}` in this network namespace")]
    NoInterface { port: PortId, interface: String },
    #[error("cannot attach the switch program to `{interface}`")]
    Attach {
        interface: String,
        #[source]
        source: ProgramError,
    },
    #[error("cannot attach by tcx: this kernel is older than 6.6 (hint: attach by netlink)")]
    NoTcx,
    #[error("cannot {action}")]
    Netlink {
        action: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("cannot {action}")]
    Io {
        action: &'static str,
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

    /// Returns a conversion of the program's error.
    pub fn program(action: &'static str) -> impl FnOnce(ProgramError) -> Self {
        move |source| Self::Program { action, source }
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
