//! Separation of the init's rights from those of the programs that it starts.
//!
//! Programs in a guest are root and need nearly all rights of root: they make namespaces, links and eBPF programs.
//! They lack the rights to read the memory of a process with more rights, to create device files, to access hardware
//! directly and to reboot the machine. The ports to the host, which are already open, and the init's secret therefore
//! remain accessible only to the init.

use std::{fs, path::Path};

use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

use super::error::InsideError;
use crate::wire::{CONTROL_PORT, STDERR_PORT, STDOUT_PORT};

/// Removes the device files of the serial ports to the host, and withholds some capabilities from all programs that
/// start from now on.
pub(super) fn set_apart() -> Result<(), InsideError> {
    for port in [STDOUT_PORT, STDERR_PORT, CONTROL_PORT] {
        fs::remove_file(Path::new(port)).map_err(InsideError::port(port))?;
    }
    for right in WITHHELD {
        // The init keeps these rights, because the bounding set only limits rights that a program gets at exec.
        remove_capability_from_bounding_set(right)
            .map_err(InsideError::kernel("capability bounding set"))?;
    }
    Ok(())
}

/// Capabilities that the init withholds from all programs in a guest.
const WITHHELD: [CapabilitySet; 4] = [
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::MKNOD,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
];
