//! Measures that keep perftest's processes off the CPU: SIGSTOP when a process starts to compute, and priorities.
//!
//! A client sleeps while its messages are in flight. Its last completion wakes it, and it then calibrates its clock
//! with 0.22 s of busy waiting per flow, which on a small machine delays other flows' packets by milliseconds. A
//! software counter checks a process after every [`COMPUTE_PERIOD`] of CPU time, and sends `SIGSTOP` when it first
//! finds the process in user mode. The process then continues at idle priority. This does not affect the measurement:
//! both timestamps have already been taken, and the calibration relates clock ticks to time, however long it takes.
//!
//! Before its last completion a client needs far less CPU time than [`COMPUTE_PERIOD`], and nearly all of it in the
//! kernel. If a client were stopped too early, its FCT would be longer than the time until the stop. The session
//! checks this and reports it as an error of the flow.

use std::{
    collections::BTreeMap,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    sync::{Arc, Mutex, PoisonError},
};

use lab_units::Nanos;
use nix::{
    errno::Errno,
    libc::{self, c_int},
    sys::wait::{Id, WaitPidFlag, WaitStatus, waitid},
    unistd::Pid,
};
use perf_event_open_sys::{
    bindings::{
        PERF_COUNT_SW_TASK_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_TYPE_SOFTWARE, perf_event_attr,
    },
    ioctls, perf_event_open,
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
    task::JoinHandle,
};

/// Performance counter that sends `SIGSTOP` to a process once, when the process computes in user mode. Dropping the
/// value removes the counter.
#[derive(Debug)]
pub(crate) struct StopOnCompute {
    _counter: OwnedFd,
}

impl StopOnCompute {
    /// Creates and starts the counter for `process`.
    pub(crate) fn arm(process: Pid) -> io::Result<Self> {
        let counter = count_cpu_time(process)?;
        deliver_to(counter.as_raw_fd(), process)?;
        enable_once(counter.as_raw_fd())?;
        Ok(Self { _counter: counter })
    }
}

/// Listener for stops of child processes, because the runtime reports only their ends.
///
/// One listener serves all children. If each flow checked its own child, every stop would wake all flows while their
/// data is in flight.
#[derive(Debug)]
pub(crate) struct StopListener {
    waiting: Waiting,
    listener: JoinHandle<()>,
}

type Waiting = Arc<Mutex<BTreeMap<Pid, oneshot::Sender<()>>>>;

impl StopListener {
    /// Starts the listener. Must be called within a runtime.
    pub(crate) fn start() -> io::Result<Self> {
        let changes = signal(SignalKind::child())?;
        let waiting = Waiting::default();
        let listener = tokio::spawn(listen(changes, Arc::clone(&waiting)));
        Ok(Self { waiting, listener })
    }

    /// Returns a receiver for the next stop of `child`.
    pub(crate) fn stop_of(&self, child: Pid) -> oneshot::Receiver<()> {
        let (stopped, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(child, stopped);
        receiver
    }
}

impl Drop for StopListener {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn listen(mut changes: Signal, waiting: Waiting) {
    while changes.recv().await.is_some() {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let stopped: Vec<Pid> = waiting.keys().copied().filter(is_stopped).collect();
        for child in stopped {
            if let Some(stop) = waiting.remove(&child) {
                // The call fails if the flow has already ended.
                let _ = stop.send(());
            }
        }
    }
}

/// Returns true if `child` was stopped since the last call. Leaves the ends of child processes to the runtime, and
/// other child processes to their owners.
fn is_stopped(child: &Pid) -> bool {
    let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
    matches!(waitid(Id::Pid(*child), flags), Ok(WaitStatus::Stopped(..)))
}

#[expect(unsafe_code, reason = "perf_event_open has no safe form")]
fn count_cpu_time(process: Pid) -> io::Result<OwnedFd> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: u32::try_from(size_of::<perf_event_attr>()).expect("a few hundred bytes"),
        config: u64::from(PERF_COUNT_SW_TASK_CLOCK),
        ..Default::default()
    };
    attributes.__bindgen_anon_1.sample_period = COMPUTE_PERIOD.get();
    attributes.set_disabled(1);
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    let any_cpu = -1;
    let no_group = -1;
    let flags = libc::c_ulong::from(PERF_FLAG_FD_CLOEXEC);
    // SAFETY: `attributes` is a valid structure of the size it states, and outlives the call.
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
    // SAFETY: the call succeeded, so the descriptor has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(counter) })
}

/// Makes the kernel send `SIGSTOP` to `process` when the counter fires.
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

/// CPU time between two checks whether a process computes. It must exceed the CPU time for posting messages, up to 7
/// ms, because rxe sends a window of 128 packets within the call.
pub(crate) const COMPUTE_PERIOD: Nanos = Nanos::from_millis(10);

/// Command for `fcntl` that selects the signal of a file descriptor; the libc crate does not define it.
/// <https://elixir.bootlin.com/linux/v6.1/source/include/uapi/asm-generic/fcntl.h>
const F_SETSIG: c_int = 10;
