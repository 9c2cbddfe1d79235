//! Failures of the host programs.

use std::{io, path::PathBuf};

use aya::{EbpfError, maps::MapError, pin::PinError, programs::ProgramError};
use nix::{errno::Errno, unistd::geteuid};

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
        lacks_privilege(self, geteuid().is_root())
    }
}

/// Returns true if the error or one of its causes is `EPERM` and the process is not root.
///
/// `EACCES` does not count, because the verifier returns it for a program that it rejects. Nor does any error of a root
/// process, which has all privileges.
fn lacks_privilege(error: &(dyn std::error::Error + 'static), is_root: bool) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    let is_eperm = |error: &io::Error| error.raw_os_error() == Some(Errno::EPERM as i32);
    !is_root && causes.any(|cause| cause.downcast_ref().is_some_and(is_eperm))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_eperm_and_only_for_users_is_a_lack_of_privileges() {
        let refused = |errno: Errno| HostError::Directory {
            path: PathBuf::new(),
            source: errno.into(),
        };
        assert!(lacks_privilege(&refused(Errno::EPERM), false));
        assert!(!lacks_privilege(&refused(Errno::EPERM), true));
        assert!(!lacks_privilege(&refused(Errno::EACCES), false));
        assert!(!lacks_privilege(&HostError::Missing { name: "law" }, false));
    }
}
