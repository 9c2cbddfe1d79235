//! Errors of loading and accessing eBPF objects, including missing privileges.

use std::io;

use aya::{EbpfError, maps::MapError, programs::ProgramError};
use nix::errno::Errno;

/// Failure to load or access a program or a map.
#[derive(Debug, thiserror::Error)]
pub enum LoaderError {
    #[error("cannot load the eBPF object")]
    Load(#[source] EbpfError),
    #[error("the eBPF object has no program or map `{name}`")]
    Missing { name: &'static str },
    #[error("cannot {action} the eBPF program `{program}`")]
    Program {
        action: &'static str,
        program: &'static str,
        #[source]
        source: Box<ProgramError>,
    },
    #[error("cannot {action} {}", map.map_or("a map of the program".to_owned(), |it| format!("the map `{it}`")))]
    Map {
        action: &'static str,
        /// Name of the map; `None` if it could not be read.
        map: Option<&'static str>,
        #[source]
        source: MapError,
    },
}

impl LoaderError {
    /// Returns a function that wraps the error of performing `action` on `program`.
    pub fn program(
        action: &'static str,
        program: &'static str,
    ) -> impl FnOnce(ProgramError) -> Self {
        move |source| Self::Program {
            action,
            program,
            source: Box::new(source),
        }
    }

    /// Returns a function that wraps the error of performing `action` on `map`; `None` is a map of unknown name.
    pub fn map(
        action: &'static str,
        map: impl Into<Option<&'static str>>,
    ) -> impl FnOnce(MapError) -> Self {
        let map = map.into();
        move |source| Self::Map {
            action,
            map,
            source,
        }
    }
}

/// Returns true if the error or one of its causes is `EPERM` and the process does not run as root.
///
/// `EACCES` does not count, because the verifier returns it for a program that it rejects. Errors of a root process
/// do not count either, because root has all privileges.
#[must_use]
pub fn lacks_privilege(error: &(dyn std::error::Error + 'static), is_root: bool) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    let is_eperm = |error: &io::Error| error.raw_os_error() == Some(Errno::EPERM as i32);
    !is_root && causes.any(|cause| cause.downcast_ref().is_some_and(is_eperm))
}

/// Formats an error and its causes on one line; a cause that the text already contains is not repeated.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| cause.source()) {
        let reason = cause.to_string();
        if !text.ends_with(&reason) {
            text.push_str(": ");
            text.push_str(&reason);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(errno: Errno) -> LoaderError {
        LoaderError::Load(EbpfError::MapError(MapError::CreateError {
            name: "flows".to_owned(),
            io_error: errno.into(),
        }))
    }

    #[test]
    fn only_eperm_and_only_for_users_is_a_lack_of_privileges() {
        assert!(lacks_privilege(&refused(Errno::EPERM), false));
        assert!(!lacks_privilege(&refused(Errno::EPERM), true));
        for errno in [Errno::EACCES, Errno::EINVAL, Errno::E2BIG] {
            assert!(!lacks_privilege(&refused(errno), false), "{errno}");
        }
        let missing = LoaderError::Missing { name: "law" };
        assert!(!lacks_privilege(&missing, false));
    }

    #[test]
    fn a_map_is_named_if_its_name_is_known() {
        let failed = |map: Option<&'static str>| {
            let source = MapError::InvalidName {
                name: "x".to_owned(),
            };
            LoaderError::map("inspect", map)(source).to_string()
        };
        assert_eq!(failed(Some("flows")), "cannot inspect the map `flows`");
        assert_eq!(failed(None), "cannot inspect a map of the program");
    }

    #[test]
    fn a_chain_names_each_cause_once() {
        assert_eq!(
            chain(&refused(Errno::EPERM)),
            "cannot load the eBPF object: map error: failed to create map `flows`: \
             Operation not permitted (os error 1)"
        );
    }
}
