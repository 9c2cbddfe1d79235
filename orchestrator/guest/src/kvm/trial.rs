//! Trial boot of a guest under KVM.

use std::{
    io::{self, PipeReader, Read},
    os::fd::{AsFd, AsRawFd},
    time::{Duration, Instant},
};

use lab_units::Bytes;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use thiserror::Error;

use crate::{
    Accelerator, Clock,
    cache::Kernel,
    error::quoted,
    initramfs::{self, TRIAL_MARKER},
    machine::{Machine, Messages, SerialPort},
    process::{Qemu, find_busybox, in_memory, output_pipe},
    request::DEFAULT_VCPUS,
    retry::uninterrupted,
};

/// Error of a trial boot.
#[derive(Debug, Error)]
pub(crate) enum TrialError {
    #[error("`busybox` is not installed")]
    NoBusybox,
    #[error("the guest's kernel wrote no output within {} s", FIRST_OUTPUT_TIMEOUT.as_secs())]
    NoOutput,
    #[error("the guest started no program within {} s", BOOT_TIMEOUT.as_secs())]
    TooSlow,
    #[error("the guest's virtual machine ended early{}", quoted(messages))]
    Ended { messages: String },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Boots `kernel` under KVM; waits until it runs a program or a time-out expires.
pub(crate) fn boot(kernel: &Kernel) -> Result<(), TrialError> {
    let busybox = find_busybox().ok_or(TrialError::NoBusybox)?;
    let initramfs = in_memory(&initramfs::build_trial(&busybox)?)?;
    let (console, its_console) = output_pipe()?;
    let (marker, its_marker) = output_pipe()?;
    let machine = Machine {
        accelerator: Accelerator::Kvm,
        clock: Clock::Real,
        vcpus: DEFAULT_VCPUS,
        memory: MEMORY,
        seed: 1,
        image: kernel.image.clone(),
        initramfs: initramfs.as_raw_fd(),
        ports: vec![
            SerialPort::Output(its_console.as_raw_fd()),
            SerialPort::Output(its_marker.as_raw_fd()),
        ],
        messages: Messages::All,
        shares: Vec::new(),
        outbox: None,
    };
    let files = vec![initramfs.into(), its_console.into(), its_marker.into()];
    let mut qemu = Qemu::start(&machine.arguments(), files, None)?;
    match watch(console, marker) {
        Err(TrialError::Ended { .. }) => {
            let mut messages = String::new();
            if let Some(mut stderr) = qemu.take_stderr() {
                stderr.read_to_string(&mut messages)?;
            }
            // The first line of QEMU's messages contains the failed assertion.
            let messages = messages.lines().next().unwrap_or_default().to_owned();
            Err(TrialError::Ended { messages })
        }
        outcome => outcome,
    }
}

/// Waits for the marker that the trial's first program writes; fails if a time-out expires first.
fn watch(mut console: PipeReader, mut marker: PipeReader) -> Result<(), TrialError> {
    let started = Instant::now();
    let mut has_output = false;
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let (limit, error) = if has_output {
            (BOOT_TIMEOUT, TrialError::TooSlow)
        } else {
            (FIRST_OUTPUT_TIMEOUT, TrialError::NoOutput)
        };
        let Some(left) = limit.checked_sub(started.elapsed()) else {
            return Err(error);
        };
        let [on_console, on_marker] = wait(&console, &marker, left)?;
        if on_console {
            let count = uninterrupted(|| console.read(&mut buffer))?;
            if count == 0 {
                let messages = String::new();
                return Err(TrialError::Ended { messages });
            }
            has_output = true;
        }
        if on_marker {
            let count = uninterrupted(|| marker.read(&mut buffer))?;
            received.extend_from_slice(&buffer[..count]);
            if String::from_utf8_lossy(&received).contains(TRIAL_MARKER) {
                return Ok(());
            }
        }
    }
}

fn wait(console: &PipeReader, marker: &PipeReader, left: Duration) -> io::Result<[bool; 2]> {
    let mut fds = [console.as_fd(), marker.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
    match poll(&mut fds, timeout) {
        // A signal interrupted the call; the caller computes the remaining time and calls again.
        Err(Errno::EINTR) => return Ok([false; 2]),
        ready => ready?,
    };
    Ok(fds.map(|fd| fd.any().unwrap_or(false)))
}

/// Time limit for the kernel's first line of output, which takes up to 0.5 s if KVM works.
const FIRST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(3);

/// Time limit for the first program to run, which takes up to 2 s if KVM works.
const BOOT_TIMEOUT: Duration = Duration::from_secs(6);

/// Memory of the trial guest in bytes, enough for the kernel and one program.
const MEMORY: Bytes = Bytes::new(512 << 20);
