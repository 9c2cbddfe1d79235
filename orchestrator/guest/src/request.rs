//! Request for a guest run: the command, its working directory, and the guest's properties.

use std::{
    ffi::OsString,
    fs,
    io::{self, IsTerminal},
    num::NonZeroU8,
    path::{Path, PathBuf},
    time::Duration,
};

use lab_units::{Bytes, Clock};
use nix::unistd::{AccessFlags, access};
use serde::{Deserialize, Serialize};

use crate::GuestError;

/// Accelerator with which QEMU runs a guest.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accelerator {
    /// Software emulation of the CPU, QEMU's TCG.
    Tcg,
    /// Hardware virtualisation of the CPU, Linux's KVM.
    Kvm,
}

impl Accelerator {
    /// Returns the accelerator's name for users and for the guest's environment.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcg => "tcg",
            Self::Kvm => "kvm",
        }
    }

    /// Returns the accelerator and clock for a guest whose requested clock is `clock`.
    ///
    /// `kvm_works` is called only if the result depends on it, because it may boot a guest.
    #[must_use]
    pub fn choose(clock: Option<Clock>, kvm_works: impl FnOnce() -> bool) -> (Self, Clock) {
        if clock != Some(Clock::Virtual) && kvm_works() {
            (Self::Kvm, Clock::Real)
        } else {
            (Self::Tcg, clock.unwrap_or(Clock::Virtual))
        }
    }
}

/// Terminal of the host to which the command's output is connected.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Terminal {
    /// True if standard output is a terminal.
    pub stdout: bool,
    /// True if standard error is a terminal.
    pub stderr: bool,
    /// Columns and rows; `None` if neither standard output nor standard error is a terminal.
    pub size: Option<(u16, u16)>,
}

impl Terminal {
    /// Returns the terminal to which this process is connected.
    #[must_use]
    pub fn of_this_process() -> Self {
        let stdout = io::stdout().is_terminal();
        let stderr = io::stderr().is_terminal();
        let size = match (stderr, stdout) {
            (true, _) => window_size(io::stderr()),
            (false, true) => window_size(io::stdout()),
            (false, false) => None,
        };
        Self {
            stdout,
            stderr,
            size,
        }
    }
}

/// Configuration of exec sessions, in which other processes run commands in the guest.
#[derive(Clone, Debug)]
pub struct ExecConfig {
    /// Path of the Unix socket for clients. The file must not exist, and is removed with the guest.
    pub socket: PathBuf,
    /// Words put in front of every command, beginning with the path of a program.
    pub prefix: Vec<OsString>,
}

/// Request to run a command in a guest, with the guest's properties.
///
/// The guest uses the host's root file system, read-only with a throw-away overlay; it has its own `/proc`, `/sys`,
/// `/dev` and `/run`. The guest caches the files that it has read, so it does not see later changes on the host.
#[derive(Clone, Debug)]
pub struct GuestRequest {
    /// Command and its arguments; the command must be an absolute path.
    pub argv: Vec<OsString>,
    /// Environment of the command, without the `LCMP_LAB_*` variables, which the guest adds.
    pub env: Vec<(String, String)>,
    /// Working directory of the command.
    pub cwd: PathBuf,
    /// Host directories that are mounted writable at the same path; writes to all other directories are discarded.
    pub writable: Vec<PathBuf>,
    /// Requested clock; `None` selects the real clock with KVM if KVM works, otherwise the virtual clock with software
    /// emulation.
    pub clock: Option<Clock>,
    /// Memory of the guest in bytes.
    pub memory: Bytes,
    /// Number of virtual CPUs on the real clock; on the virtual clock there is always one.
    pub vcpus: NonZeroU8,
    /// Seed of the guest's random numbers.
    pub seed: u64,
    /// File on the host to which the kernel's console output is written.
    pub console_log: PathBuf,
    /// Maximum host time that the boot may take.
    pub boot_timeout: Duration,
    /// Host time without output or heartbeat after which the guest is killed; `None` disables the limit.
    pub silence_timeout: Option<Duration>,
    /// Configuration of exec sessions; `None` if they are not allowed.
    pub exec: Option<ExecConfig>,
    /// Terminal to which the command's output is connected.
    pub terminal: Terminal,
    /// Directory of the unpacked kernel package.
    pub cache: PathBuf,
    /// Program that runs [`crate::inside::main`] if its first argument is [`crate::INIT_VERB`].
    pub init_program: PathBuf,
}

impl GuestRequest {
    /// Returns a request to run `argv` in `cwd` with default properties and this program as the
    /// guest's init.
    pub fn new(argv: Vec<OsString>, cwd: &Path, console_log: &Path) -> io::Result<Self> {
        Ok(Self {
            argv,
            env: Vec::new(),
            cwd: cwd.to_owned(),
            writable: Vec::new(),
            clock: None,
            memory: DEFAULT_MEMORY,
            vcpus: DEFAULT_VCPUS,
            seed: 1,
            console_log: console_log.to_owned(),
            boot_timeout: DEFAULT_BOOT_TIMEOUT,
            silence_timeout: Some(DEFAULT_SILENCE_TIMEOUT),
            exec: None,
            terminal: Terminal::of_this_process(),
            cache: crate::cache::default_dir(),
            init_program: std::env::current_exe()?,
        })
    }

    /// Checks that the paths of the request are visible in the guest.
    pub(crate) fn check_paths(&self) -> Result<(), GuestError> {
        let command = self.argv.first().map(PathBuf::from).unwrap_or_default();
        if !command.is_absolute() {
            return Err(GuestError::RelativeCommand { command });
        }
        for path in [&command, &self.cwd, &self.init_program, &self.cache] {
            let hides = |own: &&&str| path.starts_with(own);
            if let Some(own) = OWN_DIRS.iter().find(hides) {
                return Err(GuestError::Hidden {
                    path: path.clone(),
                    own: own.into(),
                });
            }
        }
        self.writable.iter().try_for_each(|path| {
            check_writable(path).map_err(GuestError::file("writable directory", path))
        })
    }
}

fn check_writable(path: &Path) -> io::Result<()> {
    if !path.is_absolute() {
        return Err(io::Error::other("the path is not absolute"));
    }
    fs::read_dir(path)?;
    Ok(access(path, AccessFlags::W_OK)?)
}

fn window_size(of: impl std::os::fd::AsFd) -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(of).ok()?;
    (size.ws_col > 0).then_some((size.ws_col, size.ws_row))
}

/// Returns the memory of a guest whose command needs `command` bytes, rounded up to whole GiB, at least
/// [`DEFAULT_MEMORY`].
#[must_use]
pub fn memory_for(command: Bytes) -> Bytes {
    let all = command.get().saturating_add(OWN_MEMORY);
    let gibibytes = all.div_ceil(GIBIBYTE).min(u64::MAX / GIBIBYTE);
    Bytes::new(gibibytes * GIBIBYTE).max(DEFAULT_MEMORY)
}

/// Mount points of the guest's own file systems, which hide the host's directories at these paths. Writable directories
/// may lie below them.
const OWN_DIRS: &[&str] = &["/run", "/proc", "/sys", "/dev"];

/// Minimum memory of a guest that a user may choose, which boots and runs the smallest lab.
pub const MIN_MEMORY: Bytes = Bytes::new(GIBIBYTE / 2);

/// Default memory of a guest: a lab of 32 hosts and 300 QPs was measured at 0.4 GB. The host provides
/// only pages that the guest touches.
pub const DEFAULT_MEMORY: Bytes = Bytes::new(2 * GIBIBYTE);

/// Memory in bytes for the kernel, its page cache and the files that the command writes. The overlay and `/run` may
/// each use up to half of the guest's memory.
const OWN_MEMORY: u64 = GIBIBYTE;

const GIBIBYTE: u64 = 1 << 30;

/// Default number of virtual CPUs on the real clock. Measurements showed no gain from more than two.
pub const DEFAULT_VCPUS: NonZeroU8 = NonZeroU8::new(2).expect("two is not zero");

/// Default of [`GuestRequest::boot_timeout`]. A boot takes 4 to 7 s on two idle cores, and 25 s on two cores with four
/// other busy processes.
pub const DEFAULT_BOOT_TIMEOUT: Duration = Duration::from_secs(120);

/// Default of [`GuestRequest::silence_timeout`]. A heartbeat is sent every 10 s of guest time, which took up to 30 s
/// under software emulation on a busy host.
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

    #[test]
    fn kvm_has_the_real_clock_and_emulation_the_virtual_one_by_default() {
        let choose = |clock, kvm_works| Accelerator::choose(clock, || kvm_works);
        assert_eq!(choose(None, false), (Accelerator::Tcg, Clock::Virtual));
        assert_eq!(choose(None, true), (Accelerator::Kvm, Clock::Real));
        let real = Some(Clock::Real);
        assert_eq!(choose(real, false), (Accelerator::Tcg, Clock::Real));
        assert_eq!(choose(real, true), (Accelerator::Kvm, Clock::Real));
    }

    #[test]
    fn a_virtual_clock_is_emulated_without_a_trial_of_kvm() {
        let chosen = Accelerator::choose(Some(Clock::Virtual), || unreachable!("no trial"));
        assert_eq!(chosen, (Accelerator::Tcg, Clock::Virtual));
    }
}
