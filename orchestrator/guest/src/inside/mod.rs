//! The guest's side: the init that sets the guest up and runs one command in it.
//!
//! - `setup`, `softirq`: file systems, modules, limits, priorities
//! - `ports`: the serial ports that lead to the host
//! - `supervise`, `command`: the command, its output and its signals
//! - [`commands_come_in`], `visits`, `visit`: commands that come in while the guest runs
//! - [`cpu_usage`]: how busy the guest is, in its own time
//! - [`preload`]: bringing files into the guest's memory before time matters
//! - [`host_waits`]: how often the guest has waited for the host
//! - [`settle`]: bringing a guest to the same moment in every run
//!
//! A command that measures in virtual time first makes everything, then calls [`preload`] with all
//! it will run or read, then [`settle`], and writes to memory (`/dev/shm` or `/run`) until it has
//! measured: writing to a directory of the host's is a wait for the host too.

mod command;
mod cpu;
mod error;
mod ports;
mod preload;
mod settle;
mod setup;
mod softirq;
mod supervise;
mod visit;
mod visits;
mod waits;

use std::path::Path;

use nix::{
    sys::reboot::{RebootMode, reboot},
    unistd::getpid,
};

pub use cpu::cpu_usage;
pub use preload::preload;
pub use settle::settle;
pub use visits::commands_come_in;
pub use waits::host_waits;

use crate::{
    inside::{error::InsideError, ports::Ports, supervise::Supervisor},
    wire::{GUEST_DIR, InnerRequest, REQUEST_FILE, ToHost},
};

/// Set in the inner command's environment, to `1`.
pub const GUEST_VARIABLE: &str = "LCMP_LAB_GUEST";

/// `virtual` or `real` in the inner command's environment.
pub const CLOCK_VARIABLE: &str = "LCMP_LAB_CLOCK";

/// `tcg` or `kvm` in the inner command's environment.
pub const ACCEL_VARIABLE: &str = "LCMP_LAB_ACCEL";

/// `bar` in the inner command's environment where the host's standard error is a terminal, else
/// `plain`.
pub const PROGRESS_VARIABLE: &str = "LCMP_LAB_PROGRESS";

/// Whether this process runs inside a guest.
#[must_use]
pub fn is_inside() -> bool {
    std::env::var_os(GUEST_VARIABLE).is_some_and(|value| value == "1")
}

/// The guest's init: sets the guest up, runs the command, tells the host its end and powers off.
///
/// Call it first thing in a program whose first argument is [`crate::INIT_VERB`].
pub fn main() -> ! {
    if getpid().as_raw() != 1 || !Path::new(GUEST_DIR).exists() {
        eprintln!("`{}` is for the init of a guest", crate::INIT_VERB);
        std::process::exit(2);
    }
    if let Err(error) = run() {
        eprintln!("guest init: {error}");
    }
    // The host kills the machine once it has heard the last word; this is for when it has not.
    let _ = reboot(RebootMode::RB_POWER_OFF);
    loop {
        std::thread::park();
    }
}

fn run() -> Result<(), InsideError> {
    let mut ports = Ports::open()?;
    let failed = |error: InsideError| ToHost::Failed {
        reason: error.to_string(),
    };
    let request = match set_up() {
        Ok(request) => request,
        Err(error) => return say_last(&mut ports, &failed(error)),
    };
    let supervisor = Supervisor::new(&request, &mut ports);
    match supervisor.and_then(|mut supervisor| {
        let end = supervisor.until_end()?;
        setup::detach(&request)?;
        Ok((supervisor, end))
    }) {
        Ok((supervisor, end)) if request.stays => supervisor.stay(&end),
        Ok((_, end)) => say_last(&mut ports, &end),
        Err(error) => say_last(&mut ports, &failed(error)),
    }
}

fn set_up() -> Result<InnerRequest, InsideError> {
    let request = read_request()?;
    setup::set_up(&request)?;
    Ok(request)
}

/// Says the last word, once all output has left the guest.
fn say_last(ports: &mut Ports, word: &ToHost) -> Result<(), InsideError> {
    ports.drain()?;
    ports.say(word)?;
    ports.drain()
}

fn read_request() -> Result<InnerRequest, InsideError> {
    let file = Path::new(GUEST_DIR).join(REQUEST_FILE);
    let bytes = std::fs::read(&file).map_err(|source| InsideError::File {
        path: file.clone(),
        source,
    })?;
    serde_json::from_slice(&bytes).map_err(|source| InsideError::File {
        path: file,
        source: source.into(),
    })
}
