//! Sysctls of the calling thread's namespace.

use std::{fs, io, path::PathBuf};

/// Writes a sysctl and reads it back; one that the kernel does not have is an error unless
/// `optional`.
pub(crate) fn write(key: &str, value: &str, optional: bool) -> io::Result<()> {
    match fs::write(path(key), value) {
        Err(error) if optional && error.kind() == io::ErrorKind::NotFound => return Ok(()),
        done => done?,
    }
    match read(key)? {
        found if found == value => Ok(()),
        found => Err(io::Error::other(format!("the kernel made it `{found}`"))),
    }
}

/// Reads a sysctl.
pub(crate) fn read(key: &str) -> io::Result<String> {
    Ok(fs::read_to_string(path(key))?.trim().to_owned())
}

/// No interface of a lab has a dot in its name.
fn path(key: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(key.replace('.', "/"))
}
