//! Lock of the machine's set of labs.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use super::base;

/// Lock held while labs are reserved or removed. It ends with its process; the last holder removes an
/// empty directory.
#[derive(Debug)]
pub(crate) struct MachineLock {
    _file: File,
}

impl MachineLock {
    /// Waits until no other process changes the machine's set of labs.
    pub fn take() -> io::Result<Self> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match Self::attempt()? {
                Some(lock) => return Ok(lock),
                None if Instant::now() < deadline => sleep(PAUSE),
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

    /// Returns `None` while another process holds the lock or has just removed its file.
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
        // The lock of a removed file excludes nobody.
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
            // A process that comes in between creates both again.
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
const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
