//! Errors of the guest's init.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Failure of the guest's init to set up the guest or to run the command.
#[derive(Debug, Error)]
pub(crate) enum InsideError {
    #[error("file `{}`: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot mount `{what}` at `{}`: {source}", at.display())]
    Mount {
        what: String,
        at: PathBuf,
        source: io::Error,
    },
    #[error("module `{}`: {source}", path.display())]
    Module { path: PathBuf, source: io::Error },
    #[error("serial port `{port}`: {source}")]
    Port {
        port: &'static str,
        source: io::Error,
    },
    #[error("{what}: {source}")]
    Kernel {
        what: &'static str,
        source: io::Error,
    },
    #[error("cannot start command `{}` in directory `{}`: {source}", command.display(), cwd.display())]
    Command {
        command: PathBuf,
        cwd: PathBuf,
        source: io::Error,
    },
}

impl InsideError {
    /// Returns a function that adds the name of a kernel interface to an error.
    pub(crate) fn kernel<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::Kernel {
            what,
            source: source.into(),
        }
    }

    /// Returns a function that adds the name of a serial port to an error.
    pub(crate) fn port<E: Into<io::Error>>(port: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::Port {
            port,
            source: source.into(),
        }
    }
}
