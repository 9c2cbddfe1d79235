//! Identities of processes and namespaces, which distinguish them from later ones with the same number.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

use nix::{sys::signal::Signal, unistd::Pid};
use procfs::process::{Process, Stat, all_processes};
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use crate::journal::if_found;

/// Process id together with the process's start time, so that a later process with the same id differs.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: i32,
    /// Start time in clock ticks since boot.
    pub start: u64,
}

impl ProcessId {
    /// Identifies the process that has the id `pid` now; `None` if there is no such process.
    #[must_use]
    pub fn of(pid: i32) -> Option<Self> {
        let start = stat(pid)?.starttime;
        Some(Self { pid, start })
    }

    /// Identifies the calling process.
    pub fn own() -> io::Result<Self> {
        let pid = Pid::this().as_raw();
        Self::of(pid).ok_or_else(|| io::Error::other("cannot read `/proc/self/stat`"))
    }

    /// Returns true while the process runs; false once it has ended or is a zombie.
    #[must_use]
    pub fn is_alive(self) -> bool {
        let runs = |stat: Stat| stat.starttime == self.start && !matches!(stat.state, 'Z' | 'X');
        stat(self.pid).is_some_and(runs)
    }

    /// Sends a signal to this process, never to a later process with the same id.
    pub(crate) fn signal(self, signal: Signal) -> io::Result<()> {
        let is_gone = |error: &rustix::io::Errno| *error == rustix::io::Errno::SRCH;
        let pid = rustix::process::Pid::from_raw(self.pid).ok_or(io::ErrorKind::InvalidInput)?;
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(error) if is_gone(&error) => return Ok(()),
            process => process?,
        };
        // The pidfd is open now. It keeps referring to the process whose start time is compared next, even if the id is
        // reused.
        if !self.is_alive() {
            return Ok(());
        }
        let signal = rustix::process::Signal::from_named_raw(signal as i32);
        match pidfd_send_signal(process, signal.ok_or(io::ErrorKind::InvalidInput)?) {
            Err(error) if is_gone(&error) => Ok(()),
            sent => Ok(sent?),
        }
    }
}

fn stat(pid: i32) -> Option<Stat> {
    Process::new(pid).ok()?.stat().ok()
}

/// Returns the command line of a process, its arguments separated by spaces.
pub(crate) fn command(pid: i32) -> String {
    let words = Process::new(pid).and_then(|process| process.cmdline());
    words.unwrap_or_default().join(" ")
}

/// Returns the ids of all processes.
pub(crate) fn all() -> io::Result<Vec<i32>> {
    let processes = all_processes().map_err(io::Error::other)?;
    Ok(processes.flatten().map(|process| process.pid()).collect())
}

/// Returns the control groups of a process, as `/proc/PID/cgroup` lists them; empty on a kernel without control
/// groups.
pub(crate) fn cgroup(pid: i32) -> io::Result<String> {
    Ok(if_found(fs::read_to_string(format!("/proc/{pid}/cgroup")))?.unwrap_or_default())
}

/// Network namespace, distinguished from later namespaces with the same inode, because the kernel reuses inodes.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub(crate) struct NetnsId {
    pub inode: u64,
    /// Time at which the kernel created the inode, ns since 1970. The time is constant while a name or an open file
    /// holds the namespace, and nobody can change it, because the inode is immutable
    /// (<https://github.com/torvalds/linux/blob/v6.1/fs/nsfs.c>, `__ns_get_path`).
    pub since_ns: i64,
}

impl NetnsId {
    /// Identifies the namespace whose file is at `path`; `None` if there is no such file.
    pub fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::of_file)
    }

    /// Identifies the network namespace of a process; `None` if there is no such process.
    pub fn of_process(pid: i32) -> Option<Self> {
        Self::at(Path::new(&format!("/proc/{pid}/ns/net")))
    }

    /// Identifies the namespace whose file has the metadata `file`.
    pub fn of_file(file: &fs::Metadata) -> Self {
        let seconds = file.ctime().saturating_mul(1_000_000_000);
        Self {
            inode: file.ino(),
            since_ns: seconds.saturating_add(file.ctime_nsec()),
        }
    }
}

/// Returns the random id that the kernel chose for this boot.
pub(crate) fn boot_id() -> io::Result<String> {
    procfs::sys::kernel::random::boot_id().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_process_differs_from_an_earlier_one_with_its_id() {
        let mut process = ProcessId::own().unwrap();
        assert!(process.is_alive());
        process.start -= 1;
        assert!(!process.is_alive());
    }

    #[test]
    fn a_zombie_is_not_alive() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = ProcessId::of(i32::try_from(child.id()).unwrap());
        let deadline = Instant::now() + Duration::from_secs(60);
        while process.is_some_and(ProcessId::is_alive) {
            assert!(Instant::now() < deadline);
        }
        child.wait().unwrap();
    }
}
