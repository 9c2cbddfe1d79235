//! Stopping a process as soon as it computes instead of waiting.
//!
//! A client sleeps while its messages are under way. Its last completion wakes it, and then it
//! calibrates its clock: 0.22 s of busy waiting per flow, which on a small machine delays other
//! flows' packets by milliseconds. Nothing tells the outside that it has begun, but the kernel can
//! tell that a process computes: a software counter of its CPU time, looked at every
//! [`PATIENCE`], sends it `SIGSTOP` the first time it is found in user mode. It then goes on at idle
//! priority. The measurement is not touched: both of its instants are past, and the calibration
//! measures clock ticks against time, however long that takes.
//!
//! Until its last completion a client needs far less CPU than [`PATIENCE`], nearly all of it in the
//! kernel, so it is not stopped too early; were it, its FCT would be longer than the time until it
//! was stopped, which is looked for and is an error of the flow.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

use lab_units::Nanos;
use nix::{
    errno::Errno,
    libc::{self, c_int},
    unistd::Pid,
};
use perf_event_open_sys::{
    bindings::{
        PERF_COUNT_SW_TASK_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_TYPE_SOFTWARE, perf_event_attr,
    },
    ioctls, perf_event_open,
};

/// A brake on one process; dropping it takes it off.
#[derive(Debug)]
pub(crate) struct Brake {
    _counter: OwnedFd,
}

impl Brake {
    /// Puts a brake on `process`, which works once.
    pub(crate) fn arm(process: Pid) -> io::Result<Self> {
        let counter = count_cpu_time(process)?;
        deliver_to(counter.as_raw_fd(), process)?;
        enable_once(counter.as_raw_fd())?;
        Ok(Self { _counter: counter })
    }
}

#[expect(unsafe_code, reason = "perf_event_open has no safe form")]
fn count_cpu_time(process: Pid) -> io::Result<OwnedFd> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: u32::try_from(size_of::<perf_event_attr>()).expect("a few hundred bytes"),
        config: u64::from(PERF_COUNT_SW_TASK_CLOCK),
        ..Default::default()
    };
    attributes.__bindgen_anon_1.sample_period = PATIENCE.get();
    attributes.set_disabled(1);
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    let any_cpu = -1;
    let no_group = -1;
    let flags = libc::c_ulong::from(PERF_FLAG_FD_CLOEXEC);
    // SAFETY: `attributes` is a valid structure of the size it states, and lives through the call.
    let counter = unsafe {
        perf_event_open(
            &raw mut attributes,
            process.as_raw(),
            any_cpu,
            no_group,
            flags,
        )
    };
    let counter = Errno::result(counter)?;
    // SAFETY: the call succeeded, so this is a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(counter) })
}

/// Has the kernel send `SIGSTOP` to `process` when the counter fires.
#[expect(unsafe_code, reason = "nix has neither F_SETSIG nor F_SETOWN")]
fn deliver_to(counter: RawFd, process: Pid) -> io::Result<()> {
    let commands = [
        (libc::F_SETFL, libc::O_ASYNC),
        (F_SETSIG, libc::SIGSTOP),
        (libc::F_SETOWN, process.as_raw()),
    ];
    for (command, argument) in commands {
        // SAFETY: all three commands take an integer.
        Errno::result(unsafe { libc::fcntl(counter, command, argument) })?;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "an ioctl")]
fn enable_once(counter: RawFd) -> io::Result<()> {
    let times: c_int = 1;
    // SAFETY: this request takes an integer by value.
    Errno::result(unsafe { ioctls::REFRESH(counter, times) })?;
    Ok(())
}

/// CPU time between two looks at the process. Posting messages takes up to 7 ms of it, as rxe sends
/// a window of 128 packets from within.
pub(crate) const PATIENCE: Nanos = Nanos::from_millis(10);

/// Which signal a descriptor sends; the libc crate lacks it.
/// <https://elixir.bootlin.com/linux/v6.1/source/include/uapi/asm-generic/fcntl.h>
const F_SETSIG: c_int = 10;
