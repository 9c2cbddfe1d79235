//! Why a guest run failed.

use std::{io, path::PathBuf, process::ExitStatus, time::Duration};

use thiserror::Error;

use crate::cache::{CacheError, FILL_COMMAND};

/// A run that did not get to the end of the inner command.
#[derive(Debug, Error)]
pub enum GuestError {
    /// The clock and the accelerator exclude each other.
    #[error(
        "the virtual clock counts emulated instructions and cannot be had with KVM (hint: leave \
         the clock out, or ask for the real one)"
    )]
    VirtualClockNeedsEmulation,
    /// No command was given, or it is not an absolute path.
    #[error("command `{}` is not an absolute path", command.display())]
    RelativeCommand {
        /// The command, empty when there is none.
        command: PathBuf,
    },
    /// A path lies where the guest has file systems of its own.
    #[error(
        "`{}` cannot be seen inside the guest, which has its own `{}` (hint: move it elsewhere)",
        path.display(), own.display()
    )]
    Hidden {
        /// The path needed inside.
        path: PathBuf,
        /// The guest's own directory that hides it.
        own: PathBuf,
    },
    /// A directory to be written is not one.
    #[error("writable directory `{}`: {source}", path.display())]
    Writable {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// There is no kernel to boot.
    #[error("{0} (hint: {FILL_COMMAND})")]
    Cache(#[from] CacheError),
    /// A program is not installed.
    #[error("`{program}` is not installed (hint: sudo apt-get install {package})")]
    ProgramMissing {
        /// The program.
        program: &'static str,
        /// The package it comes in.
        package: &'static str,
    },
    /// The initramfs could not be made.
    #[error("initramfs: {source}")]
    Initramfs {
        /// What failed.
        source: io::Error,
    },
    /// The console log could not be made.
    #[error("console log `{}`: {source}", path.display())]
    ConsoleLog {
        /// The file.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// The socket for commands that come in could not be opened.
    #[error("socket for `exec` at `{}`: {source}", path.display())]
    Door {
        /// The socket.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// The machine could not be started.
    #[error("start of `qemu-system-x86_64`: {source}")]
    Start {
        /// What failed.
        source: io::Error,
    },
    /// The guest did not get to the inner command in time.
    #[error(
        "guest boot: not ready within {} s (hint: its console is in `{}`)",
        limit.as_secs(), console.display()
    )]
    BootTimeout {
        /// The time allowed.
        limit: Duration,
        /// The console log.
        console: PathBuf,
    },
    /// The guest said nothing for too long.
    #[error(
        "guest: no output and no heartbeat for {} s, it was ended (hint: its console is in `{}`)",
        limit.as_secs(), console.display()
    )]
    Silent {
        /// The time allowed.
        limit: Duration,
        /// The console log.
        console: PathBuf,
    },
    /// The guest's kernel panicked.
    #[error("guest kernel: {message} (hint: its console is in `{}`)", console.display())]
    Panicked {
        /// The kernel's own words.
        message: String,
        /// The console log.
        console: PathBuf,
    },
    /// The machine went away before the inner command ended.
    #[error(
        "guest machine: it ended early, {status}{} (hint: its console is in `{}`)",
        quoted(said), console.display()
    )]
    MachineDied {
        /// How the process ended.
        status: ExitStatus,
        /// The last it wrote.
        said: String,
        /// The console log.
        console: PathBuf,
    },
    /// The guest's init could not start the inner command.
    #[error("guest set-up: {reason} (hint: its console is in `{}`)", console.display())]
    SetUp {
        /// What failed inside.
        reason: String,
        /// The console log.
        console: PathBuf,
    },
    /// A signal came before the inner command had started, or was repeated to force the end.
    #[error("guest: ended by signal {signal}")]
    Interrupted {
        /// The signal.
        signal: i32,
    },
    /// The host side of the run failed.
    #[error("guest run: {source}")]
    Host {
        /// What failed.
        source: io::Error,
    },
}

impl GuestError {
    /// The exit code of a program that ends with this error: 2 for a wrong request, 3 for the
    /// environment, 128 plus the signal for an interruption.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::VirtualClockNeedsEmulation | Self::RelativeCommand { .. } => 2,
            Self::Interrupted { signal } => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            Self::Hidden { .. }
            | Self::Writable { .. }
            | Self::Cache(_)
            | Self::ProgramMissing { .. }
            | Self::Initramfs { .. }
            | Self::ConsoleLog { .. }
            | Self::Door { .. }
            | Self::Start { .. }
            | Self::BootTimeout { .. }
            | Self::Silent { .. }
            | Self::Panicked { .. }
            | Self::MachineDied { .. }
            | Self::SetUp { .. }
            | Self::Host { .. } => 3,
        }
    }
}

fn quoted(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!(", saying `{said}`")
    }
}
