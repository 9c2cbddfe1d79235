//! One change of the machine's set of labs at a time.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use super::base;

/// Held while labs are claimed, undone or removed. It goes with the process that holds it; the last
/// one to leave an empty directory removes it.
#[derive(Debug)]
pub(crate) struct MachineLock {
    _file: File,
}

impl MachineLock {
    /// Waits until no other process changes the machine's set of labs.
    pub fn take() -> io::Result<Self> {
        let patience = Instant::now() + PATIENCE;
        loop {
            match Self::attempt()? {
                Some(lock) => return Ok(lock),
                None if Instant::now() < patience => sleep(PAUSE),
                None => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "another process has been changing labs for a minute \
                         (hint: `fuser /run/lcmp-lab/.lock` names it)",
                    ));
                }
            }
        }
    }

    /// `None` while another process holds the lock, or has just removed its file.
    fn attempt() -> io::Result<Option<Self>> {
        fs::create_dir_all(base())?;
        let open = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path());
        let file = match open {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The lock of a file that is no longer there keeps nobody out.
        let there = fs::metadata(path()).is_ok_and(|there| {
            file.metadata()
                .is_ok_and(|ours| ours.ino() == there.ino() && ours.dev() == there.dev())
        });
        Ok(there.then_some(Self { _file: file }))
    }
}

impl Drop for MachineLock {
    fn drop(&mut self) {
        let others = fs::read_dir(base())
            .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name() != NAME));
        if !others {
            // Whoever comes in between makes both anew.
            let _ = fs::remove_file(path());
            let _ = fs::remove_dir(base());
        }
    }
}

fn path() -> PathBuf {
    base().join(NAME)
}

const NAME: &str = ".lock";
/// Taking down the largest lab takes a second or two, more on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
