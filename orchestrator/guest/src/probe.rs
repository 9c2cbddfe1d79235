//! Requirements that guests have, and checks of this machine against them.

use std::{
    env::consts::ARCH,
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use lab_units::Bytes;
use nix::sys::statvfs::statvfs;
use thiserror::Error;

use crate::{
    cache::{CacheError, DIR_VARIABLE, FILL_COMMAND, Kernel},
    kvm::{self, KvmVerdict},
    process::{BUSYBOX_PACKAGE, QEMU, QEMU_PACKAGE, find_busybox},
    request::DEFAULT_MEMORY,
    rights::{self, GUEST_USER},
};

/// Requirement that guests have, and its state on this machine.
#[derive(Debug)]
pub struct Need {
    /// Short name of the requirement: `busybox`, `guest memory`.
    pub subject: &'static str,
    /// Reason why a guest needs it.
    pub why: &'static str,
    /// Description of the state if the requirement is met; otherwise the finding.
    pub found: Result<String, GuestFinding>,
}

/// Requirement of guests that this machine does not meet.
#[derive(Debug, Error)]
pub enum GuestFinding {
    #[error("this machine is {architecture}, but guests exist only for x86_64")]
    Architecture { architecture: &'static str },
    #[error("`{program}` is not installed")]
    ProgramMissing {
        program: &'static str,
        package: &'static str,
    },
    #[error("`{program}` {what}: {message}")]
    ProgramUnfit {
        program: &'static str,
        package: &'static str,
        what: &'static str,
        message: String,
    },
    /// The cache has no kernel for guests.
    #[error(transparent)]
    GuestKernel(#[from] CacheError),
    #[error("`{}` has {free} free, but a guest's kernel needs {needed}", dir.display())]
    NoSpace {
        dir: PathBuf,
        free: Bytes,
        needed: Bytes,
    },
    #[error("this user namespace does not map user {user}")]
    NoUser { user: u32 },
    #[error("{free} of memory is available, but the guest needs up to {needed}")]
    NoMemory { free: Bytes, needed: Bytes },
}

impl GuestFinding {
    /// Returns the command that fixes the problem, or advice if no command can fix it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Architecture { .. } => {
                "use an x86_64 machine, or a kernel that has all modules that a lab needs"
                    .to_owned()
            }
            Self::ProgramMissing { package, .. } => format!("sudo apt-get install {package}"),
            Self::ProgramUnfit { package, .. } => {
                format!("sudo apt-get install --reinstall {package}")
            }
            Self::GuestKernel(_) => FILL_COMMAND.to_owned(),
            Self::NoSpace { dir, .. } => format!(
                "free some space in `{}`, or set {DIR_VARIABLE} to another directory",
                dir.display(),
            ),
            Self::NoUser { user } => {
                format!("run as root of the machine, or map user and group IDs up to {user}")
            }
            Self::NoMemory { .. } => {
                "end other programs, scale the scenario down, or give the guest less: --guest-memory SIZE"
                    .to_owned()
            }
        }
    }
}

/// Checks all requirements of a guest whose kernels are in `cache`, in the order in which they must be fixed.
#[must_use]
pub fn needs(cache: &Path) -> Vec<Need> {
    let need = |subject, why, found| Need {
        subject,
        why,
        found,
    };
    let kernel = Kernel::find(cache)
        .map_err(GuestFinding::from)
        .map(|found| format!("Linux {}, `{}`", found.release, found.image.display()));
    let space = kernel.is_err().then(|| {
        let why = "the kernel package is unpacked into the cache";
        need("room for a kernel", why, room(cache))
    });
    let memory = available_memory().map(|free| {
        let why = "the host provides the memory pages that a guest uses";
        need("guest memory", why, memory(free, DEFAULT_MEMORY))
    });
    let mut needs = vec![
        need(
            "processor",
            "a guest runs this machine's own programs",
            processor(ARCH),
        ),
        need(QEMU, "QEMU emulates the guest's machine", emulator()),
        need(
            "9p",
            "a guest reads this machine's files through 9p",
            file_server(),
        ),
        need(
            "guest user",
            "the emulator runs as an unprivileged user",
            guest_user(),
        ),
        need("busybox", "busybox is the guest's first program", busybox()),
        need(
            "guest kernel",
            "the guest kernel has the modules that this kernel may lack",
            kernel,
        ),
    ];
    needs.extend(space);
    needs.extend(memory);
    needs
}

/// Lists the requirements that guests have and this machine does not meet.
#[must_use]
pub fn lacking(cache: &Path) -> Vec<GuestFinding> {
    needs(cache)
        .into_iter()
        .filter_map(|need| need.found.err())
        .collect()
}

/// Returns a finding if less than `memory` is available; `None` if enough is available or the kernel does not report
/// the available memory.
#[must_use]
pub fn lacking_memory(memory: Bytes) -> Option<GuestFinding> {
    self::memory(available_memory()?, memory).err()
}

/// Returns the state of KVM on this machine; `None` if there is no kernel for a trial boot.
///
/// The first call after each boot of this machine takes up to 6 s.
#[must_use]
pub fn kvm(cache: &Path) -> Option<KvmVerdict> {
    let kernel = Kernel::find(cache).ok()?;
    Some(kvm::verdict(cache, &kernel, || {}))
}

fn processor(architecture: &'static str) -> Result<String, GuestFinding> {
    match architecture {
        "x86_64" => Ok(architecture.to_owned()),
        _ => Err(GuestFinding::Architecture { architecture }),
    }
}

fn emulator() -> Result<String, GuestFinding> {
    if which::which(QEMU).is_err() {
        return Err(GuestFinding::ProgramMissing {
            program: QEMU,
            package: QEMU_PACKAGE,
        });
    }
    run_qemu(&["--version"]).map_err(|message| unfit("does not run", message))
}

const fn unfit(what: &'static str, message: String) -> GuestFinding {
    GuestFinding::ProgramUnfit {
        program: QEMU,
        package: QEMU_PACKAGE,
        what,
        message,
    }
}

/// Checks that QEMU was built with 9p. If QEMU itself is missing, 9p does not count as missing.
fn file_server() -> Result<String, GuestFinding> {
    match run_qemu(&["-device", "virtio-9p-pci,help"]) {
        Err(message) if which::which(QEMU).is_ok() => {
            Err(unfit("was built without a 9p file server", message))
        }
        Err(_) => Ok("unknown, because the emulator is missing".to_owned()),
        Ok(_) => Ok("available in the emulator".to_owned()),
    }
}

/// Runs QEMU and returns the first line of its standard output; if it fails, the error is the first line of its
/// messages.
fn run_qemu(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(QEMU)
        .args(arguments)
        .stdin(Stdio::null())
        .process_group(0)
        .output()
        .map_err(|error| error.to_string())?;
    let first = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines().next().unwrap_or_default().trim().to_owned()
    };
    if output.status.success() {
        return Ok(first(&output.stdout));
    }
    match first(&output.stderr) {
        message if message.is_empty() => Err(output.status.to_string()),
        message => Err(message),
    }
}

fn guest_user() -> Result<String, GuestFinding> {
    if rights::has_guest_user() {
        Ok("available".to_owned())
    } else {
        Err(GuestFinding::NoUser { user: GUEST_USER })
    }
}

fn busybox() -> Result<String, GuestFinding> {
    let found = find_busybox().ok_or(GuestFinding::ProgramMissing {
        program: "busybox (statically linked)",
        package: BUSYBOX_PACKAGE,
    })?;
    Ok(format!("`{}`, statically linked", found.display()))
}

fn room(cache: &Path) -> Result<String, GuestFinding> {
    let Some((dir, free)) = free_in(cache) else {
        return Ok("unknown".to_owned());
    };
    if free < SPACE_NEEDED {
        let needed = SPACE_NEEDED;
        return Err(GuestFinding::NoSpace { dir, free, needed });
    }
    let free = in_megabytes(free);
    Ok(format!("{free} free in `{}`", dir.display()))
}

fn free_in(cache: &Path) -> Option<(PathBuf, Bytes)> {
    let dir = cache.ancestors().find(|ancestor| ancestor.exists())?;
    let stat = statvfs(dir).ok()?;
    let free = Bytes::new(stat.blocks_available().saturating_mul(stat.fragment_size()));
    Some((dir.to_owned(), free))
}

fn memory(free: Bytes, needed: Bytes) -> Result<String, GuestFinding> {
    if free < needed {
        let free = in_megabytes(free);
        let needed = in_megabytes(needed);
        return Err(GuestFinding::NoMemory { free, needed });
    }
    Ok(format!("{} free", in_megabytes(free)))
}

fn available_memory() -> Option<Bytes> {
    available_in(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn available_in(meminfo: &str) -> Option<Bytes> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(Bytes::new(kibibytes * 1024))
}

/// Rounds an amount down to whole MB for display.
fn in_megabytes(amount: Bytes) -> Bytes {
    Bytes::new(amount.get() / 1_000_000 * 1_000_000)
}

/// Disk space in bytes for the downloaded package (70 MB), its unpacked files (410 MB) and the uncompressed kernel
/// image (65 MB).
const SPACE_NEEDED: Bytes = Bytes::new(600_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_the_kernels_available_memory() {
        let meminfo = "MemTotal:  100 kB\nMemFree:  1 kB\nMemAvailable:   2048 kB\n";
        assert_eq!(available_in(meminfo), Some(Bytes::new(2 << 20)));
        assert_eq!(available_in("MemTotal:  100 kB\n"), None);
        let needed = Bytes::new(2_345_600_000);
        let lacking = memory(Bytes::new(900_000_000), needed).unwrap_err();
        let expected = "900 MB of memory is available, but the guest needs up to 2345 MB";
        assert_eq!(lacking.to_string(), expected);
        let enough = Bytes::new(2_345_678_901);
        assert_eq!(memory(enough, needed).unwrap(), "2345 MB free");
    }

    #[test]
    fn a_cache_without_kernel_is_found_with_the_command_that_fills_it() {
        let cache = tempfile::tempdir().unwrap();
        if let Ok(kernel) = Kernel::find(cache.path()) {
            let test = "a_cache_without_kernel_is_found_with_the_command_that_fills_it";
            eprintln!("skipped: {test}: Linux {} is installed", kernel.release);
            return;
        }
        let needs = needs(cache.path());
        let kernel = needs.iter().find(|need| need.subject == "guest kernel");
        let finding = kernel.unwrap().found.as_ref().unwrap_err();
        assert!(finding.remedy().contains("provision --guest"));
        assert!(needs.iter().any(|need| need.subject == "room for a kernel"));
    }

    #[test]
    fn guests_are_of_one_architecture() {
        assert!(processor("x86_64").is_ok());
        let finding = processor("aarch64").unwrap_err();
        let expected = "this machine is aarch64, but guests exist only for x86_64";
        assert_eq!(finding.to_string(), expected);
    }
}
