//! QEMU process: its start and end, inherited files, and console log.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, PipeReader, PipeWriter, Write},
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, ExitStatus, Stdio},
};

use lab_files::Links;
use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    sched::{CpuSet, sched_setaffinity},
    sys::{
        memfd::{MFdFlags, memfd_create},
        prctl,
        signal::{Signal, kill},
    },
    unistd::{Pid, getpid, getppid},
};

use crate::{cpu::CpuClaim, rights::GuestRights};

/// Running QEMU process. Dropping it kills the process and waits for its end.
pub(crate) struct Qemu {
    child: Child,
    _cpu: Option<CpuClaim>,
}

impl Qemu {
    /// Starts QEMU with `arguments`, pinned to the CPU that `cpu` claims, if any. QEMU inherits `files` under their
    /// file descriptor numbers.
    ///
    /// QEMU runs in a separate process group, so that Ctrl-C on the terminal does not reach it. QEMU is killed when the
    /// calling thread ends, so the thread must live as long as QEMU is needed.
    pub(crate) fn start(
        arguments: &[OsString],
        files: Vec<OwnedFd>,
        cpu: Option<CpuClaim>,
    ) -> io::Result<Self> {
        let mut command = Command::new(QEMU);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        let only = cpu.as_ref().map(CpuClaim::cpu);
        prepare_child(&mut command, files, only, GuestRights::of_qemu(), getpid());
        let child = command.spawn()?;
        Ok(Self { child, _cpu: cpu })
    }

    /// Returns QEMU's standard error on the first call; `None` afterwards.
    pub(crate) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Pauses the machine, and thereby its virtual clock.
    pub(crate) fn stop(&self) -> nix::Result<()> {
        kill(self.pid(), Signal::SIGSTOP)
    }

    /// Resumes a paused machine.
    pub(crate) fn resume(&self) -> nix::Result<()> {
        kill(self.pid(), Signal::SIGCONT)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Kills QEMU unless it has ended, and returns its exit status.
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Killing fails only if the process has already ended.
        let _ = self.end();
    }
}

/// Sets up what the child process does between fork and exec: it keeps `files` open, restricts itself to the CPUs in
/// `only`, switches to the user and capabilities in `rights`, and asks to be killed when this thread ends.
#[expect(unsafe_code, reason = "a hook between fork and exec has no safe form")]
fn prepare_child(
    command: &mut Command,
    files: Vec<OwnedFd>,
    only: Option<CpuSet>,
    rights: Option<GuestRights>,
    parent: Pid,
) {
    let hook = move || {
        for file in &files {
            fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        if let Some(only) = &only {
            sched_setaffinity(Pid::from_raw(0), only)?;
        }
        if let Some(rights) = &rights {
            rights.take()?;
        }
        // A change of rights clears the death signal, so the signal is set after it.
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // The parent may have died before the death signal was set.
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

/// Returns an anonymous file with the contents `bytes`; it disappears when its last user closes it.
pub(crate) fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"lcmp-lab-initramfs", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

/// Returns a pipe for an output port of the guest.
///
/// If a port is full, the guest waits, and its virtual clock jumps. The port writes single bytes. A socket buffers only
/// a few hundred separate writes; a pipe buffers as many bytes as its size.
pub(crate) fn output_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    fcntl(&writer, FcntlArg::F_SETPIPE_SZ(OUTPUT_PIPE_SIZE))?;
    Ok((reader, writer))
}

/// Returns the last panic message in a console log.
pub(crate) fn panic_message(log: &Path) -> Option<String> {
    // The guest may write to the log's directory, so links are refused.
    let bytes = lab_files::read(log, Links::Refuse, MAX_CONSOLE).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rev().find_map(|line| {
        let at = line.find(PANIC)?;
        Some(line[at..].trim_end().to_owned())
    })
}

/// Returns the path of the statically linked busybox; `None` if it is not installed.
pub(crate) fn find_busybox() -> Option<PathBuf> {
    let paths = ["/bin/busybox", "/usr/bin/busybox"].map(PathBuf::from);
    paths.into_iter().find(|path| is_static(path))
}

/// Returns true if a program is statically linked. The first page of a dynamically linked program contains its
/// interpreter's path.
fn is_static(program: &Path) -> bool {
    const INTERPRETER: &[u8] = b"/ld-";
    fs::read(program).is_ok_and(|bytes| {
        let head = &bytes[..bytes.len().min(4096)];
        !head.windows(INTERPRETER.len()).any(|at| at == INTERPRETER)
    })
}

/// Name of the emulator's program, which is searched in `PATH`.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

/// Debian package that contains the emulator.
pub(crate) const QEMU_PACKAGE: &str = "qemu-system-x86";

/// Debian package that contains the statically linked busybox.
pub(crate) const BUSYBOX_PACKAGE: &str = "busybox-static";

/// Maximum number of bytes read from a console log; a boot writes about a thousandth of this.
const MAX_CONSOLE: u64 = 64 << 20;

/// Maximum size in bytes of a pipe that an unprivileged process may set.
const OUTPUT_PIPE_SIZE: i32 = 1 << 20;

const PANIC: &str = "Kernel panic - ";

#[cfg(test)]
mod tests {
    use nix::sched::sched_getaffinity;

    use super::*;

    #[test]
    fn the_last_panic_line_is_found_without_its_time_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("console.log");
        let text = "[ 1.0] ok\r\n[    1.5] Kernel panic - not syncing: sysrq\r\n[ 1.6] CPU: 0\r\n";
        fs::write(&log, text).unwrap();
        let message = panic_message(&log).unwrap();
        assert_eq!(message, "Kernel panic - not syncing: sysrq");
        assert_eq!(panic_message(Path::new("/nonexistent")), None);
    }

    #[test]
    fn a_program_with_an_interpreter_is_not_static() {
        assert!(!is_static(&std::env::current_exe().unwrap()));
        assert!(!is_static(Path::new("/nonexistent")));
    }

    #[test]
    fn a_child_has_the_cpus_it_is_given() {
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let mut indices = 0..CpuSet::count();
        let first = indices.find(|index| allowed.is_set(*index).unwrap());
        let mut only = CpuSet::new();
        only.set(first.unwrap()).unwrap();
        let mut command = Command::new("nproc");
        prepare_child(&mut command, Vec::new(), Some(only), None, getpid());
        assert_eq!(command.output().unwrap().stdout, b"1\n");
    }
}
