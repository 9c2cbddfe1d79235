//! This process's limits: the number of open files that it needs, and the maximum file size.

use nix::sys::{
    resource::{Resource, getrlimit, setrlimit},
    signal::{SigHandler, Signal, signal},
};

use crate::failure::{During, Failure};

/// Raises this process's limit of open files to the number that every verb needs, if it is lower. A lab raises it
/// further, by its size.
///
/// # Errors
/// If the hard limit is lower: otherwise some later file could not be opened, and the error would name that file.
pub fn require() -> Result<(), Failure> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).during("read the limit of open files")?;
    if soft >= NEEDED {
        return Ok(());
    }
    if hard < NEEDED {
        return Err(Failure::environment(format_args!(
            "this process may have {hard} files open, it needs {NEEDED} (hint: `ulimit -n 1024` in a new \
             shell)"
        )));
    }
    setrlimit(Resource::RLIMIT_NOFILE, NEEDED, hard).during("raise the limit of open files")
}

/// Makes a write beyond the file-size limit fail with an error, as on a full disk, in this process and its children;
/// otherwise SIGXFSZ would end them without a message.
#[expect(unsafe_code, reason = "a signal's action is the whole process's")]
pub fn outlive_size_limit() -> nix::Result<()> {
    // SAFETY: no handler is installed, and none was installed before.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.map(drop)
}

/// Maximum number of open files of a verb without a lab: a guest's owner has pipes and exec clients.
const NEEDED: u64 = 64;
