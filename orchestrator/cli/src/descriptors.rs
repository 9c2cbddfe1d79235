//! Limits of this process: number of open files, and maximum file size.

use nix::sys::{
    resource::{Resource, getrlimit, setrlimit},
    signal::{SigHandler, Signal, signal},
};

use crate::failure::{During, Failure};

/// Raises this process's soft limit of open files to the number that every verb needs, if the limit is lower. A lab
/// raises it further, depending on its size.
///
/// # Errors
/// If the hard limit is lower than the number needed: otherwise, opening some file would fail later, with an error that
/// names only that file.
pub fn require() -> Result<(), Failure> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).during("read the limit of open files")?;
    if soft >= NEEDED {
        return Ok(());
    }
    if hard < NEEDED {
        return Err(Failure::environment(format_args!(
            "this process may open {hard} files but needs {NEEDED} (hint: `ulimit -n 1024` in a new \
             shell)"
        )));
    }
    setrlimit(Resource::RLIMIT_NOFILE, NEEDED, hard).during("raise the limit of open files")
}

/// Ignores SIGXFSZ in this process and its children: a write beyond the file-size limit then fails with an error, as on
/// a full disk, instead of killing the process without a message.
#[expect(unsafe_code, reason = "a signal's action is the whole process's")]
pub fn outlive_size_limit() -> nix::Result<()> {
    // SAFETY: no handler is installed, and none was installed before.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.map(drop)
}

/// Maximum number of files that a verb without a lab opens, including a guest owner's pipes and exec clients.
const NEEDED: u64 = 64;
