//! Guest's side: the init, which sets the guest up and runs one command in it.
//!
//! - `setup`: file systems, modules, limits, priorities
//! - `ports`: serial ports to the host
//! - `apart`: separation of the init and its ports from the programs that it starts
//! - `supervise`, `command`: the command, its output and its signals
//! - `sessions`: exec sessions
//! - `preload`: copies files into the guest's memory
//! - `clock`: CPU time, waits for the host
//!
//! A command that measures in virtual time first creates everything, then calls [`preload`] with all
//! files it will run or read, then `sync`, then sleeps to a fixed phase of the kernel's periodic work.
//! Until the end of the measurement it writes to `/dev/shm` or `/run` only, since the virtual clock jumps
//! at each wait for the host. What the host must have meanwhile goes through the [`crate::outbox`].

mod apart;
mod clock;
mod command;
mod ports;
mod preload;
mod sessions;
mod setup;
mod supervise;

use std::{
    io,
    path::{Path, PathBuf},
};

use nix::{
    sys::reboot::{RebootMode, reboot},
    unistd::getpid,
};
use thiserror::Error;

pub use clock::{CpuUse, cpu_usage, host_waits};
pub use preload::preload;
pub use sessions::exec_session_count;

use self::{ports::Ports, supervise::Supervisor};
use crate::{
    Clock,
    wire::{GUEST_DIR, InnerRequest, REQUEST_FILE, ToHost},
};

/// Environment variable of commands in a guest; its value is `1`.
pub const GUEST_VARIABLE: &str = "LCMP_LAB_GUEST";

/// Environment variable of commands in a guest; its value is `virtual` or `real`.
pub const CLOCK_VARIABLE: &str = "LCMP_LAB_CLOCK";

/// Environment variable of commands in a guest; its value is `tcg` or `kvm`.
pub const ACCEL_VARIABLE: &str = "LCMP_LAB_ACCEL";

/// Environment variable of commands in a guest; its value is `bar` if the host's standard error is a
/// terminal, else `plain`.
pub const PROGRESS_VARIABLE: &str = "LCMP_LAB_PROGRESS";

/// Returns true if this process runs inside a guest.
#[must_use]
pub fn is_inside() -> bool {
    std::env::var_os(GUEST_VARIABLE).is_some_and(|value| value == "1")
}

/// Returns the clock of this process: inside a guest the guest's, else the real one.
#[must_use]
pub fn clock() -> Clock {
    let variable = std::env::var(CLOCK_VARIABLE).ok().filter(|_| is_inside());
    let clock = variable.and_then(|name| name.parse().ok());
    clock.unwrap_or(Clock::Real)
}

/// Runs the guest's init: sets the guest up, runs the command, reports its end to the host and powers
/// off.
///
/// A program whose first argument is [`crate::INIT_VERB`] calls this function first.
pub fn main() -> ! {
    if getpid().as_raw() != 1 || !Path::new(GUEST_DIR).exists() {
        eprintln!("`{}` is for the init of a guest", crate::INIT_VERB);
        std::process::exit(2);
    }
    if let Err(error) = run() {
        eprintln!("guest init: {error}");
    }
    // Normally the host has killed the machine at the last message.
    let _ = reboot(RebootMode::RB_POWER_OFF);
    loop {
        std::thread::park();
    }
}

fn run() -> Result<(), InsideError> {
    let request = take_request()?;
    let mut ports = Ports::open(request.token.clone())?;
    let failed = |error: InsideError| ToHost::Failed {
        reason: error.to_string(),
    };
    if let Err(error) = setup::set_up(&request).and_then(|()| apart::set_apart()) {
        return send_last(&mut ports, &failed(error));
    }
    let supervisor = Supervisor::new(&request, &mut ports);
    match supervisor.and_then(|mut supervisor| {
        let end = supervisor.until_end()?;
        setup::detach(&request)?;
        Ok((supervisor, end))
    }) {
        Ok((supervisor, end)) if request.stays => supervisor.stay(&end),
        Ok((_, end)) => send_last(&mut ports, &end),
        Err(error) => send_last(&mut ports, &failed(error)),
    }
}

/// Sends the last message once all output has left the guest.
fn send_last(ports: &mut Ports, message: &ToHost) -> Result<(), InsideError> {
    ports.drain()?;
    ports.send(message)?;
    ports.drain()
}

/// Reads the request and removes its file, which contains the init's secret.
fn take_request() -> Result<InnerRequest, InsideError> {
    let path = Path::new(GUEST_DIR).join(REQUEST_FILE);
    std::fs::read(&path)
        .and_then(|bytes| std::fs::remove_file(&path).map(|()| bytes))
        .and_then(|bytes| Ok(serde_json::from_slice(&bytes)?))
        .map_err(|source| InsideError::File { path, source })
}

/// Error of the guest's init.
#[derive(Debug, Error)]
pub(crate) enum InsideError {
    #[error("file `{}`: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("mount of `{what}` at `{}`: {source}", at.display())]
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
    #[error("command `{}` in `{}`: {source}", command.display(), cwd.display())]
    Command {
        command: PathBuf,
        cwd: PathBuf,
        source: io::Error,
    },
}

impl InsideError {
    /// Returns a conversion for errors of a kernel interface that names no object.
    pub(crate) fn kernel<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::Kernel {
            what,
            source: source.into(),
        }
    }

    /// Returns a conversion for a serial port's errors.
    pub(crate) fn port<E: Into<io::Error>>(port: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::Port {
            port,
            source: source.into(),
        }
    }
}
