//! The QEMU process and the files it inherits.

use std::{
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, ChildStderr, Command, ExitStatus, Stdio},
};

use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    sys::{
        prctl,
        signal::{Signal, kill},
    },
    unistd::{Pid, getpid, getppid},
};

use crate::programs::QEMU;

/// A running machine; dropping it kills the process and waits for it.
pub(crate) struct Qemu {
    child: Child,
}

impl Qemu {
    /// Starts the emulator with `arguments`, letting it inherit `files` under their numbers.
    ///
    /// The machine is in a process group of its own, so that a Ctrl-C at the terminal reaches it
    /// only through us. It dies with the calling thread, which therefore must outlive it.
    pub(crate) fn start(arguments: &[OsString], files: Vec<OwnedFd>) -> io::Result<Self> {
        let mut command = Command::new(QEMU);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        prepare_child(&mut command, files, getpid());
        let child = command.spawn()?;
        Ok(Self { child })
    }

    /// The machine's standard error; `None` the second time.
    pub(crate) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Lets the machine, and with it its virtual time, stand still.
    pub(crate) fn freeze(&self) -> nix::Result<()> {
        kill(self.pid(), Signal::SIGSTOP)
    }

    /// Lets a frozen machine go on.
    pub(crate) fn thaw(&self) -> nix::Result<()> {
        kill(self.pid(), Signal::SIGCONT)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Ends the machine and says how it ended, by itself or by us.
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        // A machine that has ended already keeps its own status.
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Killing fails only when it has ended, and then waiting is all there is to do.
        let _ = self.end();
    }
}

/// What the child does between fork and exec: keep `files` open, and die with us.
#[expect(unsafe_code, reason = "a hook between fork and exec has no safe form")]
fn prepare_child(command: &mut Command, files: Vec<OwnedFd>, parent: Pid) {
    let hook = move || {
        for file in &files {
            fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // The parent may have died before the line above.
        if getppid() == parent {
            Ok(())
        } else {
            Err(io::Error::from(io::ErrorKind::BrokenPipe))
        }
    };
    // SAFETY: the hook only makes system calls, which are async-signal-safe, and neither allocates
    // nor takes locks.
    unsafe {
        command.pre_exec(hook);
    }
}
