//! The questions.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use lab_units::Bytes;
use nix::sys::statvfs::statvfs;

use crate::{
    cache::Kernel,
    probe::{Finding, Need},
    programs::{self, BUSYBOX_PACKAGE, QEMU, QEMU_PACKAGE},
    request::DEFAULT_MEMORY,
};

/// All that a guest takes of this machine.
pub(crate) fn needs(cache: &Path) -> Vec<Need> {
    let mut needs = vec![
        Need {
            subject: "processor",
            why: "a guest runs this machine's own programs",
            found: processor(env::consts::ARCH),
        },
        Need {
            subject: QEMU,
            why: "it is the guest's machine",
            found: emulator(),
        },
        Need {
            subject: "9p",
            why: "the guest reads this machine's files by it",
            found: file_server(),
        },
        Need {
            subject: "busybox",
            why: "it is the guest's first program",
            found: busybox(),
        },
    ];
    let kernel = Kernel::find(cache)
        .map(|kernel| format!("Linux {} in `{}`", kernel.release, cache.display()));
    let space = kernel.is_err().then(|| Need {
        subject: "room for a kernel",
        why: "the package is unpacked there",
        found: room(cache),
    });
    needs.push(Need {
        subject: "guest kernel",
        why: "it has what this kernel may lack",
        found: kernel.map_err(Finding::from),
    });
    needs.extend(space);
    needs.extend(available_memory().map(|free| Need {
        subject: "guest memory",
        why: "a guest is given it as it touches it",
        found: memory(free, DEFAULT_MEMORY),
    }));
    needs
}

fn processor(architecture: &'static str) -> Result<String, Finding> {
    if architecture == "x86_64" {
        Ok(architecture.to_owned())
    } else {
        Err(Finding::Architecture { architecture })
    }
}

fn emulator() -> Result<String, Finding> {
    if which::which(QEMU).is_err() {
        return Err(Finding::ProgramMissing {
            program: QEMU,
            package: QEMU_PACKAGE,
        });
    }
    ask(&["--version"]).map_err(|said| Finding::ProgramUnfit {
        program: QEMU,
        package: QEMU_PACKAGE,
        what: "does not run",
        said,
    })
}

/// A distribution may build the emulator without it. What there is no emulator for is not missing by
/// itself.
fn file_server() -> Result<String, Finding> {
    let asked = ask(&["-device", "virtio-9p-pci,help"]);
    match asked {
        Err(said) if which::which(QEMU).is_ok() => Err(Finding::ProgramUnfit {
            program: QEMU,
            package: QEMU_PACKAGE,
            what: "has no 9p file server",
            said,
        }),
        Err(_) => Ok("not known without the emulator".to_owned()),
        Ok(_) => Ok("the emulator serves it".to_owned()),
    }
}

/// The first line the emulator answers with; what it complains of is the error.
fn ask(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(QEMU)
        .args(arguments)
        .stdin(Stdio::null())
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
        said if said.is_empty() => Err(output.status.to_string()),
        said => Err(said),
    }
}

fn busybox() -> Result<String, Finding> {
    let found = programs::find_busybox().ok_or(Finding::ProgramMissing {
        program: "busybox (statically linked)",
        package: BUSYBOX_PACKAGE,
    })?;
    Ok(format!("`{}`, statically linked", found.display()))
}

fn room(cache: &Path) -> Result<String, Finding> {
    let Some((dir, free)) = free_in(cache) else {
        return Ok("not known".to_owned());
    };
    if free < SPACE_NEEDED {
        let needed = SPACE_NEEDED;
        return Err(Finding::NoSpace { dir, free, needed });
    }
    Ok(format!(
        "{} free in `{}`",
        in_megabytes(free),
        dir.display()
    ))
}

fn free_in(cache: &Path) -> Option<(PathBuf, Bytes)> {
    let dir = cache.ancestors().find(|ancestor| ancestor.exists())?;
    let stat = statvfs(dir).ok()?;
    let free = Bytes::new(stat.blocks_available().saturating_mul(stat.fragment_size()));
    Some((dir.to_owned(), free))
}

/// Whether a guest can have `memory`.
pub(crate) fn lacking_memory(memory: Bytes) -> Option<Finding> {
    self::memory(available_memory()?, memory).err()
}

fn memory(free: Bytes, needed: Bytes) -> Result<String, Finding> {
    if free < needed {
        let free = in_megabytes(free);
        let needed = in_megabytes(needed);
        return Err(Finding::NoMemory { free, needed });
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

/// Nobody wants the bytes of gigabytes.
fn in_megabytes(amount: Bytes) -> Bytes {
    Bytes::new(amount.get() / 1_000_000 * 1_000_000)
}

/// The package downloaded, unpacked, and its image unpacked again: 70, 410 and 65 MB.
const SPACE_NEEDED: Bytes = Bytes::new(600_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_the_kernel_calls_available() {
        let meminfo = "MemTotal:  100 kB\nMemFree:  1 kB\nMemAvailable:   2048 kB\n";
        assert_eq!(available_in(meminfo), Some(Bytes::new(2 << 20)));
        assert_eq!(available_in("MemTotal:  100 kB\n"), None);
        let needed = Bytes::new(2_345_600_000);
        assert_eq!(
            memory(Bytes::new(900_000_000), needed)
                .unwrap_err()
                .to_string(),
            "900 MB is available, the guest takes up to 2345 MB"
        );
        let enough = Bytes::new(2_345_678_901);
        assert_eq!(memory(enough, needed).unwrap(), "2345 MB free");
    }

    #[test]
    fn a_cache_without_kernel_is_found_with_the_command_that_fills_it() {
        let cache = tempfile::tempdir().unwrap();
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
        assert_eq!(
            finding.to_string(),
            "this is aarch64, there are guests for x86_64 only"
        );
    }
}
