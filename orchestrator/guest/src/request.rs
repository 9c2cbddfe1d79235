//! What is asked of a guest.

use std::{
    ffi::OsString,
    io::IsTerminal,
    num::NonZeroU8,
    path::{Path, PathBuf},
    time::Duration,
};

use lab_units::{Bytes, Clock};

/// Which accelerator is asked for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Accel {
    /// KVM where a trial boot has shown that it works, else software emulation.
    #[default]
    Auto,
    /// Software emulation.
    Tcg,
    /// KVM, without a trial.
    Kvm,
}

/// How much of the host's terminal the inner command may use.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Terminal {
    /// Standard output is a terminal.
    pub stdout: bool,
    /// Standard error is a terminal.
    pub stderr: bool,
    /// Columns and rows, where one of the two is a terminal.
    pub size: Option<(u16, u16)>,
}

impl Terminal {
    /// The terminal of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let stdout = std::io::stdout().is_terminal();
        let stderr = std::io::stderr().is_terminal();
        let size = stderr
            .then(|| window_size(std::io::stderr()))
            .or_else(|| stdout.then(|| window_size(std::io::stdout())));
        Self {
            stdout,
            stderr,
            size: size.flatten(),
        }
    }
}

/// How commands come into a guest while it runs.
#[derive(Clone, Debug)]
pub struct GuestDoor {
    /// The socket to listen on, where there is nothing yet; only the owner of this process may open
    /// it.
    pub socket: PathBuf,
    /// The words before those of every command that comes in. The first is an absolute path.
    pub prefix: Vec<OsString>,
}

/// A command to run inside a guest, and the guest to run it in.
///
/// Everything that is not named here comes from the host: its root file system is the guest's,
/// read-only with a throw-away overlay. `/proc`, `/sys`, `/dev` and `/run` are the guest's own. What
/// the guest has read once it does not ask for again: a file rewritten on the host meanwhile is seen
/// as it was.
#[derive(Clone, Debug)]
pub struct GuestRequest {
    /// The command and its arguments. The command is an absolute path.
    pub argv: Vec<OsString>,
    /// The command's whole environment, apart from the `LCMP_LAB_*` variables the guest adds.
    pub env: Vec<(String, String)>,
    /// The command's working directory.
    pub cwd: PathBuf,
    /// Host directories mounted writable at the same path; all else is discarded at the end.
    pub writable: Vec<PathBuf>,
    /// How time passes; `None` is virtual under software emulation and real under KVM.
    pub clock: Option<Clock>,
    /// The accelerator.
    pub accel: Accel,
    /// The guest's memory.
    pub memory: Bytes,
    /// Virtual CPUs in real time; in virtual time there is one.
    pub vcpus: NonZeroU8,
    /// Seed of the guest's random numbers, so that two runs draw the same ones.
    pub seed: u64,
    /// The file the kernel's console is written to, on the host.
    pub console_log: PathBuf,
    /// Host time a boot may take.
    pub boot_timeout: Duration,
    /// Host time without output or heartbeat after which the guest is ended; `None` never ends it.
    pub silence_timeout: Option<Duration>,
    /// How other commands come in, if they may.
    pub door: Option<GuestDoor>,
    /// What the command's output is connected to.
    pub terminal: Terminal,
    /// The directory with the unpacked kernel package.
    pub cache: PathBuf,
    /// The program whose hidden verb [`crate::INIT_VERB`] calls [`crate::inside::main`].
    pub init_program: PathBuf,
}

impl GuestRequest {
    /// A request to run `argv` in `cwd`, with this program as the guest's init and the defaults.
    ///
    /// # Errors
    ///
    /// Fails when the path of the running program is not known.
    pub fn new(argv: Vec<OsString>, cwd: &Path, console_log: &Path) -> std::io::Result<Self> {
        Ok(Self {
            argv,
            env: Vec::new(),
            cwd: cwd.to_owned(),
            writable: Vec::new(),
            clock: None,
            accel: Accel::Auto,
            memory: DEFAULT_MEMORY,
            vcpus: DEFAULT_VCPUS,
            seed: 1,
            console_log: console_log.to_owned(),
            boot_timeout: DEFAULT_BOOT_TIMEOUT,
            silence_timeout: Some(DEFAULT_SILENCE_TIMEOUT),
            door: None,
            terminal: Terminal::of_this_process(),
            cache: crate::cache::default_dir(),
            init_program: std::env::current_exe()?,
        })
    }
}

fn window_size(of: impl std::os::fd::AsFd) -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(of).ok()?;
    (size.ws_col > 0).then_some((size.ws_col, size.ws_row))
}

/// The memory of a guest whose command needs `command` of it, in whole GiB, [`DEFAULT_MEMORY`] at least.
#[must_use]
pub fn memory_for(command: Bytes) -> Bytes {
    let all = command.get().saturating_add(OWN_MEMORY);
    let gibibytes = all.div_ceil(GIBIBYTE).min(u64::MAX / GIBIBYTE);
    Bytes::new(gibibytes * GIBIBYTE).max(DEFAULT_MEMORY)
}

/// Memory of a guest whose command needs little: the lab of 32 hosts and 300 QPs was measured at
/// 0.4 GB. The host gives only what is touched.
pub const DEFAULT_MEMORY: Bytes = Bytes::new(2 * GIBIBYTE);

/// For the kernel, the files it keeps in memory, and what the command writes: the overlay and `/run`
/// are in memory, each of half of it at most.
const OWN_MEMORY: u64 = GIBIBYTE;

const GIBIBYTE: u64 = 1 << 30;

/// Virtual CPUs in real time: more than two gained nothing where it was measured.
pub const DEFAULT_VCPUS: NonZeroU8 = NonZeroU8::new(2).expect("two is not zero");

/// A boot takes 4 to 7 s of host time on two idle cores; on two that four others wanted too, 25 s were
/// seen.
pub const DEFAULT_BOOT_TIMEOUT: Duration = Duration::from_secs(120);

/// The guest's heartbeat comes every few seconds of its own time, which under software emulation
/// on a busy host was seen to take up to half a minute.
pub const DEFAULT_SILENCE_TIMEOUT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_in_whole_gibibytes_two_at_least() {
        let gibibytes = |command| memory_for(Bytes::new(command)).get() / GIBIBYTE;
        assert_eq!(gibibytes(0), 2);
        assert_eq!(gibibytes(GIBIBYTE), 2);
        assert_eq!(gibibytes(GIBIBYTE + 1), 3);
        assert_eq!(memory_for(Bytes::new(u64::MAX)).get() % GIBIBYTE, 0);
    }
}
