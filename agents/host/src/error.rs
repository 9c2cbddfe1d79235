//! Failures of the host programs.

use std::{io, path::PathBuf};

use aya::{EbpfError, maps::MapError, pin::PinError, programs::ProgramError};

/// Failure of loading, pinning, running or reading the host programs.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum HostError {
    #[error("cannot load the host programs: {0}")]
    Load(#[from] EbpfError),
    #[error("cannot {action} the host program `{program}`: {}", chain(source))]
    Program {
        action: &'static str,
        program: &'static str,
        source: ProgramError,
    },
    #[error("the host programs have no `{name}`")]
    Missing { name: &'static str },
    #[error("cannot {action} the map `{map}`: {}", chain(source))]
    Map {
        action: &'static str,
        map: &'static str,
        source: MapError,
    },
    #[error("cannot pin `{path}`: {source} (hint: it is to be in a BPF file system)")]
    Pin { path: PathBuf, source: PinError },
    #[error("cannot make `{path}`: {source} (hint: it is to be in a BPF file system)")]
    Directory { path: PathBuf, source: io::Error },
}

impl HostError {
    pub(crate) fn map(action: &'static str, map: &'static str) -> impl FnOnce(MapError) -> Self {
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
}

/// Returns an error and its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
