//! Lock on the machine's set of labs.

use std::{
    fs::{self, File, Metadata, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{OWNER_ONLY, base, if_found};

/// Lock that is held while labs are reserved or removed. It is released when its process ends; the last holder removes
/// an empty directory.
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
                None => return Err(io::Error::new(io::ErrorKind::TimedOut, BUSY)),
            }
        }
    }

    /// Returns `None` while another process holds the lock or has just removed its file.
    fn attempt() -> io::Result<Option<Self>> {
        fs::create_dir_all(base())?;
        // All users may list the labs, whatever the umask of the user who created the directory.
        let _ = fs::set_permissions(base(), Permissions::from_mode(EVERYONE_LISTS));
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        // Whoever can open a file can lock it, and so block every lab of the machine.
        options.mode(OWNER_ONLY);
        let Some(file) = if_found(options.open(path()))? else {
            return Ok(None);
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // If the file was removed meanwhile, its lock excludes nobody.
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
            // A process that takes the lock meanwhile creates the file and the directory again.
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
                    (hint: `fuser /run/lcmp-lab/.lock` names it)";
/// Maximum wait for the lock. Taking down the largest lab takes a second or two, more on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
