//! Processes, told apart from later ones of the same number.

use std::{fs, io, path::Path};

use nix::{errno::Errno, sys::signal::Signal, unistd::Pid};
use serde::{Deserialize, Serialize};

/// A process: its number and when it started, so that a later process of the same number is not
/// taken for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ProcessId {
    /// The process id.
    pub pid: i32,
    /// When it started, in clock ticks since the machine did.
    pub start: u64,
}

impl ProcessId {
    /// The process of this number; `None` if there is none.
    #[must_use]
    pub fn of(pid: i32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        Some(Self {
            pid,
            start: stat.start,
        })
    }

    /// The calling process.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn own() -> io::Result<Self> {
        let pid = Pid::this().as_raw();
        Self::of(pid).ok_or_else(|| io::Error::other("cannot read `/proc/self/stat`"))
    }

    /// Whether the process is still there. One that has ended and waits for its parent is not.
    #[must_use]
    pub fn is_alive(self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.start == self.start && !stat.ended)
    }

    /// Sends a signal to the process, and to no other that took its number.
    pub(crate) fn signal(self, signal: Signal) -> Result<(), Errno> {
        if !self.is_alive() {
            return Ok(());
        }
        match nix::sys::signal::kill(Pid::from_raw(self.pid), signal) {
            Err(Errno::ESRCH) => Ok(()),
            done => done,
        }
    }
}

/// The command line of a process, as typed.
pub(crate) fn command(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|&b| b == 0).map(String::from_utf8_lossy);
    words.collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

/// The numbers of all processes.
pub(crate) fn all() -> io::Result<Vec<i32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc")? {
        pids.extend(
            entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<i32>().ok()),
        );
    }
    Ok(pids)
}

/// The inode of the network namespace a process is in.
pub(crate) fn netns_inode(pid: i32) -> Option<u64> {
    inode(Path::new(&format!("/proc/{pid}/ns/net")))
}

/// The inode behind a path.
pub(crate) fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|metadata| metadata.ino())
}

/// What tells this run of the machine from others.
pub(crate) fn boot_id() -> io::Result<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(text.trim().to_owned())
}

struct Stat {
    start: u64,
    ended: bool,
}

impl Stat {
    /// `/proc/<pid>/stat`: number, name in parentheses (which may hold any byte), state, and from
    /// there the 20th field is the start time.
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
        let ended = matches!(fields.next()?, "Z" | "X");
        let start = fields.nth(18)?.parse().ok()?;
        Some(Self { start, ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_itself_and_not_another_of_its_number() {
        let own = ProcessId::own().unwrap();
        assert!(own.is_alive());
        let earlier = ProcessId {
            start: own.start - 1,
            ..own
        };
        assert!(!earlier.is_alive());
    }

    #[test]
    fn a_process_that_has_ended_is_not_alive_even_before_it_is_waited_for() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let process = ProcessId::of(pid);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while process.is_some_and(ProcessId::is_alive) {
            assert!(std::time::Instant::now() < deadline);
        }
        child.wait().unwrap();
    }
}
