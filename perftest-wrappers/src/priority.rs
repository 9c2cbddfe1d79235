//! Scheduling priorities of threads and processes.

use std::io;

use nix::{
    errno::Errno,
    libc::{self, c_int},
    unistd::Pid,
};

/// Gives the calling thread precedence over all ordinary processes, at the lowest real-time priority.
///
/// # Errors
/// The process is not permitted to set real-time priorities.
pub(crate) fn run_first() -> io::Result<()> {
    let this_thread = Pid::from_raw(0);
    schedule(this_thread, libc::SCHED_FIFO, 1)
}

/// Lets `process` run only when no other process needs the CPU.
pub(crate) fn run_when_idle(process: Pid) -> io::Result<()> {
    schedule(process, libc::SCHED_IDLE, 0)
}

#[expect(unsafe_code, reason = "nix has no sched_setscheduler")]
fn schedule(process: Pid, policy: c_int, sched_priority: c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: `parameters` outlives the call, which only reads it.
    let result =
        unsafe { libc::sched_setscheduler(process.as_raw(), policy, &raw const parameters) };
    Errno::result(result)?;
    Ok(())
}
