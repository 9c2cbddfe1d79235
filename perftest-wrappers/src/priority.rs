//! Who gets the CPU first.

use std::io;

use nix::{
    errno::Errno,
    libc::{self, c_int},
    unistd::Pid,
};

/// Runs the calling thread before every ordinary process.
pub(crate) fn run_first() -> io::Result<()> {
    let this_thread = Pid::from_raw(0);
    set(this_thread, libc::SCHED_FIFO, 1)
}

/// Runs `process` only when no other wants the CPU.
pub(crate) fn run_when_idle(process: Pid) -> io::Result<()> {
    set(process, libc::SCHED_IDLE, 0)
}

#[expect(unsafe_code, reason = "nix has no sched_setscheduler")]
fn set(process: Pid, policy: c_int, sched_priority: c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: `parameters` lives through the call, which only reads it.
    let result =
        unsafe { libc::sched_setscheduler(process.as_raw(), policy, &raw const parameters) };
    Errno::result(result)?;
    Ok(())
}
