//! The guest's side: the init, which sets the guest up and runs one command in it.
//!
//! - `setup`: file systems, modules, limits, priorities
//! - `ports`: serial ports to the host
//! - `apart`: separation of the init and its ports from the programs that it starts
//! - `supervise`, `command`: the command, its output and its signals
//! - `sessions`: exec sessions
//! - `preload`: copying of files into the guest's memory
//! - `clock`: CPU time, and number of waits for the host
//! - `variables`: environment variables of commands
//!
//! A command that measures in virtual time first creates everything, then calls [`preload`] with all files that it will
//! run or read, then `sync`, then sleeps to a fixed phase of the kernel's periodic work. Until the end of the
//! measurement it writes only to `/dev/shm` or `/run`, because the virtual clock jumps at each wait for the host. Data
//! that the host needs before the end is sent through the [`crate::outbox`].

mod apart;
mod clock;
mod command;
mod error;
mod ports;
mod preload;
mod sessions;
mod setup;
mod supervise;
mod variables;

use std::path::Path;

use nix::{
    sys::reboot::{RebootMode, reboot},
    unistd::getpid,
};

pub use clock::{CpuUse, cpu_usage, host_waits};
pub use preload::preload;
pub use sessions::exec_session_count;
pub use variables::{
    ACCEL_VARIABLE, CLOCK_VARIABLE, GUEST_VARIABLE, PROGRESS_VARIABLE, clock, is_inside,
};

use self::{error::InsideError, ports::Ports, supervise::Supervisor};
use crate::wire::{GUEST_DIR, InnerRequest, REQUEST_FILE, ToHost};

/// Runs the guest's init: sets the guest up, runs the command, reports the command's end to the host and powers off.
///
/// A program whose first argument is [`crate::INIT_VERB`] must call this function first.
pub fn main() -> ! {
    if getpid().as_raw() != 1 || !Path::new(GUEST_DIR).exists() {
        eprintln!("`{}` runs only as the init of a guest", crate::INIT_VERB);
        std::process::exit(2);
    }
    if let Err(error) = run() {
        eprintln!("guest init: {error}");
    }
    // Normally the host kills the machine when it receives the last message, before this call.
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

/// Sends the init's last message to the host, after all output has left the guest.
fn send_last(ports: &mut Ports, message: &ToHost) -> Result<(), InsideError> {
    ports.drain()?;
    ports.send(message)?;
    ports.drain()
}

/// Reads the host's request and removes the request's file, which contains the init's secret.
fn take_request() -> Result<InnerRequest, InsideError> {
    let path = Path::new(GUEST_DIR).join(REQUEST_FILE);
    std::fs::read(&path)
        .and_then(|bytes| std::fs::remove_file(&path).map(|()| bytes))
        .and_then(|bytes| Ok(serde_json::from_slice(&bytes)?))
        .map_err(|source| InsideError::File { path, source })
}
