//! Errors of the host programs.

use std::{io, path::PathBuf};

use aya::{maps::MapError, pin::PinError, programs::ProgramError};
use lab_loader::{LoaderError, chain, lacks_privilege};
use nix::unistd::geteuid;

/// Failure to load, pin, run or read the host programs.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Failure to load or access a program or a map.
    #[error("{}", chain(.0))]
    Loader(#[from] LoaderError),
    #[error("cannot pin `{path}`: {source} (hint: the path must be on a bpffs mount)")]
    Pin { path: PathBuf, source: PinError },
    #[error("cannot create `{path}`: {source} (hint: the path must be on a bpffs mount)")]
    Directory { path: PathBuf, source: io::Error },
}

impl HostError {
    pub(crate) fn map(action: &'static str, map: &'static str) -> impl FnOnce(MapError) -> Self {
        move |source| LoaderError::map(action, map)(source).into()
    }

    pub(crate) fn program(
        action: &'static str,
        program: &'static str,
    ) -> impl FnOnce(ProgramError) -> Self {
        move |source| LoaderError::program(action, program)(source).into()
    }

    /// Returns true if the kernel refused because privileges are missing; tests are skipped in this case.
    #[must_use]
    pub fn is_not_permitted(&self) -> bool {
        lacks_privilege(self, geteuid().is_root())
    }
}
