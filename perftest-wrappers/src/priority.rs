//! Scheduling priorities of threads and processes.

use std::io;

use nix::{
    errno::Errno,
    libc::{self, c_int},
    unistd::Pid,
};

/// Runs the calling thread before every ordinary process, at the lowest real-time priority.
///
/// # Errors
/// The process may not set real-time priorities.
pub(crate) fn run_first() -> io::Result<()> {
    let this_thread = Pid::from_raw(0);
    schedule(this_thread, libc::SCHED_FIFO, 1)
}

/// Runs `process` only when no other process wants the CPU.
pub(crate) fn run_when_idle(process: Pid) -> io::Result<()> {
    schedule(process, libc::SCHED_IDLE, 0)
}

#[expect(unsafe_code, reason = "nix has no sched_setscheduler")]
fn schedule(process: Pid, policy: c_int, sched_priority: c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: `parameters` lives through the call, which only reads it.
    let result =
        unsafe { libc::sched_setscheduler(process.as_raw(), policy, &raw const parameters) };
    Errno::result(result)?;
    Ok(())
}
