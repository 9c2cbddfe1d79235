//! Errors of guest runs.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use thiserror::Error;

use crate::cache::{CacheError, FILL_COMMAND};

/// Error of a run that ended before its command.
#[derive(Debug, Error)]
pub enum GuestError {
    /// Command that is empty or not an absolute path.
    #[error("command `{}` is not an absolute path", command.display())]
    RelativeCommand {
        /// Requested command, or an empty path.
        command: PathBuf,
    },
    /// Path in a file system that the guest has of its own.
    #[error(
        "`{}` cannot be seen inside the guest, which has its own `{}` (hint: move it elsewhere)",
        path.display(), own.display()
    )]
    Hidden {
        /// Path that the guest needs.
        path: PathBuf,
        /// Directory of the guest that hides the path.
        own: PathBuf,
    },
    /// Failure to open a file, socket or directory of the request.
    #[error("{what} `{}`: {source}", path.display())]
    File {
        /// Use of the file.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Cache without a kernel to boot.
    #[error("{0} (hint: {FILL_COMMAND})")]
    Cache(#[from] CacheError),
    /// Program that is not installed.
    #[error("`{program}` is not installed (hint: sudo apt-get install {package})")]
    ProgramMissing {
        /// Name of the program.
        program: &'static str,
        /// Debian package of the program.
        package: &'static str,
    },
    /// Boot that exceeded its maximum time.
    #[error(
        "guest boot: not ready within {} s (hint: its console is in `{}`)",
        limit.as_secs(), console.display()
    )]
    BootTimeout {
        /// Maximum host time of the boot.
        limit: Duration,
        /// Path of the console log.
        console: PathBuf,
    },
    /// Guest that was killed since it gave no sign of life.
    #[error(
        "guest: no output and no heartbeat for {} s, it was killed (hint: its console is in `{}`)",
        limit.as_secs(), console.display()
    )]
    Silent {
        /// Maximum host time without a sign of life.
        limit: Duration,
        /// Path of the console log.
        console: PathBuf,
    },
    /// Panic of the guest's kernel.
    #[error("guest kernel: {message} (hint: its console is in `{}`)", console.display())]
    Panicked {
        /// Message of the kernel.
        message: String,
        /// Path of the console log.
        console: PathBuf,
    },
    /// End of QEMU before the command's.
    #[error(
        "guest machine: it ended early, {status}{} (hint: its console is in `{}`)",
        quoted(messages), console.display()
    )]
    MachineDied {
        /// Exit status of QEMU.
        status: ExitStatus,
        /// Last lines that QEMU wrote.
        messages: String,
        /// Path of the console log.
        console: PathBuf,
    },
    /// Failure of the guest's init before the command's start.
    #[error("guest set-up: {reason} (hint: its console is in `{}`)", console.display())]
    SetUp {
        /// Error in the guest.
        reason: String,
        /// Path of the console log.
        console: PathBuf,
    },
    /// Signal before the command's start, or a third signal after it.
    #[error("guest: ended by signal {signal}")]
    Interrupted {
        /// Number of the signal.
        signal: i32,
    },
    /// Failure of a system call on the host.
    #[error("{what}: {source}")]
    Host {
        /// Failed action.
        what: &'static str,
        /// Cause.
        source: io::Error,
    },
}

impl GuestError {
    /// Returns the error of a failed system call of the run.
    pub fn host(source: impl Into<io::Error>) -> Self {
        let (what, source) = ("guest run", source.into());
        Self::Host { what, source }
    }

    /// Returns a conversion of errors of a file, by its use and path.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            what,
            path: path.to_owned(),
            source,
        }
    }

    /// Returns the exit code for this error: 2 for a wrong request, 3 for the environment, 128 plus
    /// the signal's number for an interruption.
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
            | Self::Host { .. } => 3,
        }
    }
}

fn quoted(messages: &str) -> String {
    if messages.is_empty() {
        String::new()
    } else {
        format!(": `{messages}`")
    }
}
