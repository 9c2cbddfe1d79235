//! Lock on the set of labs of this machine.

use std::{
    fs::{self, File, Metadata, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{OWNER_ONLY, base, if_found};

/// Lock that is held while labs are reserved or removed. It is released when the holding process ends; the last holder
/// removes the directory of labs if it is empty.
#[derive(Debug)]
pub(crate) struct MachineLock {
    _file: File,
}

impl MachineLock {
    /// Waits until no other process is changing the machine's set of labs, and takes the lock.
    pub fn take() -> io::Result<Self> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match Self::attempt()? {
                Some(lock) => return Ok(lock),
                None if Instant::now() < deadline => sleep(PAUSE),
                None => return Err(io::Error::new(io::ErrorKind::TimedOut, BUSY)),
            }
        }
    }

    /// Tries to take the lock; returns `None` while another process holds it or has just removed its file.
    fn attempt() -> io::Result<Option<Self>> {
        fs::create_dir_all(base())?;
        // All users may list the labs, regardless of the umask of the user who created the directory.
        let _ = fs::set_permissions(base(), Permissions::from_mode(EVERYONE_LISTS));
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        // Every process that can open the file can lock it, and so block all labs of the machine.
        options.mode(OWNER_ONLY);
        let Some(file) = if_found(options.open(path()))? else {
            return Ok(None);
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // If the file was removed in the meantime, its lock does not exclude other processes.
        let id = |metadata: Metadata| (metadata.ino(), metadata.dev());
        let is_there = fs::metadata(path()).map(id).ok() == Some(id(file.metadata()?));
        Ok(is_there.then_some(Self { _file: file }))
    }
}

impl Drop for MachineLock {
    fn drop(&mut self) {
        let others = fs::read_dir(base())
            .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name() != NAME));
        if !others {
            // A process that is about to take the lock creates the file and the directory again.
            let _ = fs::remove_file(path());
            let _ = fs::remove_dir(base());
        }
    }
}

fn path() -> PathBuf {
    base().join(NAME)
}

const EVERYONE_LISTS: u32 = 0o755;
const NAME: &str = ".lock";
const BUSY: &str = "another process has been changing labs for a minute \
                    (hint: `fuser /run/lcmp-lab/.lock` shows the process)";
/// Maximum wait for the lock. Taking down the largest lab takes a second or two, or longer on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
