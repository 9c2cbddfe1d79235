//! Errors of guest runs.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use thiserror::Error;

use crate::cache::{CacheError, FILL_COMMAND};

/// Reason why the command of a guest run did not run to its end.
#[derive(Debug, Error)]
pub enum GuestError {
    #[error("command `{}` is not an absolute path", command.display())]
    RelativeCommand { command: PathBuf },
    #[error(
        "`{}` is not visible inside the guest, which has its own `{}` (hint: move it elsewhere)",
        path.display(), own.display()
    )]
    Hidden { path: PathBuf, own: PathBuf },
    #[error("{what} `{}`: {source}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{0} (hint: {FILL_COMMAND})")]
    Cache(#[from] CacheError),
    #[error("`{program}` is not installed (hint: sudo apt-get install {package})")]
    ProgramMissing {
        program: &'static str,
        package: &'static str,
    },
    #[error(
        "guest boot: not ready within {} s (hint: its console is in `{}`)",
        limit.as_secs(), console.display()
    )]
    BootTimeout { limit: Duration, console: PathBuf },
    #[error(
        "guest: no output and no heartbeat for {} s, so it was killed (hint: its console is in `{}`)",
        limit.as_secs(), console.display()
    )]
    Silent { limit: Duration, console: PathBuf },
    #[error("guest kernel: {message} (hint: its console is in `{}`)", console.display())]
    Panicked { message: String, console: PathBuf },
    #[error(
        "guest machine ended early: {status}{} (hint: its console is in `{}`)",
        quoted(messages), console.display()
    )]
    MachineDied {
        status: ExitStatus,
        messages: String,
        console: PathBuf,
    },
    #[error("guest set-up: {reason} (hint: its console is in `{}`)", console.display())]
    SetUp { reason: String, console: PathBuf },
    #[error("guest: killed because the data that it sends cannot be stored: {source}")]
    Outbox { source: io::Error },
    #[error("guest: ended by signal {signal}")]
    Interrupted { signal: i32 },
    #[error("{what}: {source}")]
    Host {
        what: &'static str,
        source: io::Error,
    },
}

impl GuestError {
    /// Returns the error for a system call that failed during a run.
    pub fn host(source: impl Into<io::Error>) -> Self {
        let what = "guest run";
        let source = source.into();
        Self::Host { what, source }
    }

    /// Returns a function that adds a file's purpose and path to an error.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            what,
            path: path.to_owned(),
            source,
        }
    }

    /// Returns the exit code for this error: 2 for an invalid request, 3 for a problem of the environment, 128 plus the
    /// signal's number for an interruption.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::RelativeCommand { .. } => 2,
            Self::Interrupted { signal } => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            Self::Hidden { .. }
            | Self::File { .. }
            | Self::Cache(_)
            | Self::ProgramMissing { .. }
            | Self::BootTimeout { .. }
            | Self::Silent { .. }
            | Self::Panicked { .. }
            | Self::MachineDied { .. }
            | Self::SetUp { .. }
            | Self::Outbox { .. }
            | Self::Host { .. } => 3,
        }
    }
}

/// Returns `messages` in backticks with a colon in front; empty if there are no messages.
pub(crate) fn quoted(messages: &str) -> String {
    match messages {
        "" => String::new(),
        messages => format!(": `{messages}`"),
    }
}
