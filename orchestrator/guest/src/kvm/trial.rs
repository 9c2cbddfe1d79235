//! A boot under KVM that only has to show that it works.

use std::{
    io::{self, PipeReader, Read},
    os::fd::{AsFd, AsRawFd},
    time::{Duration, Instant},
};

use lab_units::Bytes;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use thiserror::Error;

use crate::{
    Accelerator, Clock,
    cache::Kernel,
    files::{in_memory, output_pipe},
    initramfs::{self, TRIAL_WORD},
    machine::{Machine, Messages, Port},
    process::Qemu,
    programs,
    request::DEFAULT_VCPUS,
};

/// Why a trial boot is no proof that KVM works.
#[derive(Debug, Error)]
pub(crate) enum TrialError {
    #[error("`busybox` is not installed")]
    NoBusybox,
    #[error("its kernel said nothing within {} s", FIRST_SIGN.as_secs())]
    NoSign,
    #[error("it ran no program within {} s", WHOLE.as_secs())]
    TooSlow,
    #[error("its machine ended early{}", after_colon(said))]
    Ended { said: String },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Boots `kernel` under KVM until it runs a program or it is clear that it will not.
pub(crate) fn boot(kernel: &Kernel) -> Result<(), TrialError> {
    let busybox = programs::find_busybox().ok_or(TrialError::NoBusybox)?;
    let initramfs = in_memory(&initramfs::build_trial(&busybox)?)?;
    let (console, its_console) = output_pipe()?;
    let (word, its_word) = output_pipe()?;
    let machine = Machine {
        engine: Accelerator::Kvm,
        clock: Clock::Real,
        vcpus: DEFAULT_VCPUS,
        memory: MEMORY,
        seed: 1,
        image: kernel.image.clone(),
        initramfs: initramfs.as_raw_fd(),
        ports: vec![
            Port::Output(its_console.as_raw_fd()),
            Port::Output(its_word.as_raw_fd()),
        ],
        messages: Messages::All,
        shares: Vec::new(),
    };
    let files = vec![initramfs.into(), its_console.into(), its_word.into()];
    let mut qemu = Qemu::start(&machine.arguments(), files)?;
    match watch(console, word) {
        Err(TrialError::Ended { .. }) => {
            let mut said = String::new();
            if let Some(mut messages) = qemu.take_stderr() {
                messages.read_to_string(&mut said)?;
            }
            // Of an assertion's long story the first line says what broke.
            let said = said.lines().next().unwrap_or_default().to_owned();
            Err(TrialError::Ended { said })
        }
        outcome => outcome,
    }
}

/// Waits for the word, as long as the boot shows the progress a working one would.
fn watch(mut console: PipeReader, mut word: PipeReader) -> Result<(), TrialError> {
    let started = Instant::now();
    let mut seen_sign = false;
    let mut said = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let limit = if seen_sign { WHOLE } else { FIRST_SIGN };
        let Some(left) = limit.checked_sub(started.elapsed()) else {
            return Err(if seen_sign {
                TrialError::TooSlow
            } else {
                TrialError::NoSign
            });
        };
        let [on_console, on_word] = wait(&console, &word, left)?;
        if on_console {
            let count = console.read(&mut buffer)?;
            if count == 0 {
                return Err(TrialError::Ended {
                    said: String::new(),
                });
            }
            seen_sign = true;
        }
        if on_word {
            let count = word.read(&mut buffer)?;
            said.extend_from_slice(&buffer[..count]);
            if String::from_utf8_lossy(&said).contains(TRIAL_WORD) {
                return Ok(());
            }
        }
    }
}

fn wait(console: &PipeReader, word: &PipeReader, left: Duration) -> io::Result<[bool; 2]> {
    let mut fds = [console.as_fd(), word.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
    poll(&mut fds, timeout)?;
    Ok(fds.map(|fd| fd.any().unwrap_or(false)))
}

fn after_colon(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!(": `{said}`")
    }
}

/// The kernel's first line comes within half a second where KVM works.
const FIRST_SIGN: Duration = Duration::from_secs(3);

/// And its first program within two.
const WHOLE: Duration = Duration::from_secs(6);

/// Enough for the kernel and a program.
const MEMORY: Bytes = Bytes::new(512 << 20);
