//! One change of the machine's set of labs at a time.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    thread::sleep,
    time::{Duration, Instant},
};

use super::base;

/// Held while labs are claimed, undone or removed. It goes with the process that holds it.
#[derive(Debug)]
pub(crate) struct MachineLock {
    _file: File,
}

impl MachineLock {
    /// Waits until no other process changes the machine's set of labs.
    pub fn take() -> io::Result<Self> {
        std::fs::create_dir_all(base())?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(base().join(".lock"))?;
        let patience = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() < patience => sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "another process has been changing labs for a minute \
                         (hint: `fuser /run/lcmp-lab/.lock` names it)",
                    ));
                }
            }
        }
    }
}

/// Taking down the largest lab takes a second or two, more on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
