//! What running a guest takes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use lab_units::Bytes;
use nix::sys::statvfs::statvfs;

use crate::{
    cache::Kernel,
    probe::Finding,
    programs::{self, BUSYBOX_PACKAGE, QEMU, QEMU_PACKAGE},
};

/// What keeps a guest from running.
pub(crate) fn findings(cache: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    if programs::find(QEMU).is_none() {
        findings.push(Finding::ProgramMissing {
            program: QEMU,
            package: QEMU_PACKAGE,
        });
    }
    if programs::find_busybox().is_none() {
        findings.push(Finding::ProgramMissing {
            program: "busybox (statically linked)",
            package: BUSYBOX_PACKAGE,
        });
    }
    if let Err(error) = Kernel::find(cache) {
        findings.push(error.into());
        findings.extend(no_space(cache));
    }
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    if let Some(free) = available_memory(&meminfo).filter(|free| *free < MEMORY_NEEDED) {
        findings.push(Finding::NoMemory {
            free,
            needed: MEMORY_NEEDED,
        });
    }
    findings
}

fn no_space(cache: &Path) -> Option<Finding> {
    let dir = existing_ancestor(cache)?;
    let stat = statvfs(&dir).ok()?;
    let free = Bytes::new(stat.blocks_available().saturating_mul(stat.fragment_size()));
    (free < SPACE_NEEDED).then_some(Finding::NoSpace {
        dir,
        free,
        needed: SPACE_NEEDED,
    })
}

fn existing_ancestor(path: &Path) -> Option<PathBuf> {
    let found = path.ancestors().find(|ancestor| ancestor.exists())?;
    Some(found.to_owned())
}

fn available_memory(meminfo: &str) -> Option<Bytes> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(Bytes::new(kibibytes * 1024))
}

/// The package downloaded, unpacked, and its image unpacked again: 70, 410 and 65 MB.
const SPACE_NEEDED: Bytes = Bytes::new(600_000_000);

/// A guest with 32 hosts and 300 QPs was measured at 0.4 GB; kernel and file cache come on top.
const MEMORY_NEEDED: Bytes = Bytes::new(1_000_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_the_kernel_calls_available() {
        let meminfo = "MemTotal:  100 kB\nMemFree:  1 kB\nMemAvailable:   2048 kB\n";
        assert_eq!(available_memory(meminfo), Some(Bytes::new(2 << 20)));
        assert_eq!(available_memory("MemTotal:  100 kB\n"), None);
    }

    #[test]
    fn a_cache_without_kernel_is_found_with_the_command_that_fills_it() {
        let cache = tempfile::tempdir().unwrap();
        let findings = findings(cache.path());
        let kernel = findings
            .iter()
            .find(|finding| matches!(finding, Finding::GuestKernel(_)))
            .unwrap();
        assert!(kernel.remedy().contains("provision.sh"));
    }
}
