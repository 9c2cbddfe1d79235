//! Cause of an agent's end by SIGKILL, a signal that the run sends only to agents whose socket has closed.

use std::{fmt, fs, os::unix::process::ExitStatusExt, process::ExitStatus};

use nix::libc::SIGKILL;

/// Number of processes that this kernel has ended since its boot because memory ran out; `None` if it does not count
/// them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct OomKills(Option<u64>);

impl OomKills {
    /// Reads the kernel's counter.
    pub(super) fn read() -> Self {
        // Without the file, the counter is unknown.
        Self(
            fs::read_to_string(VMSTAT)
                .ok()
                .and_then(|text| parse(&text)),
        )
    }

    /// Returns the cause of the kill of a process that started when the counter had this value; `None` if the process
    /// did not end by SIGKILL.
    pub(super) fn cause(self, status: ExitStatus) -> Option<KillCause> {
        (status.signal() == Some(SIGKILL)).then(|| self.cause_until(Self::read()))
    }

    const fn cause_until(self, now: Self) -> KillCause {
        match (self.0, now.0) {
            (Some(before), Some(now)) if now > before => KillCause::Memory {
                processes: now - before,
            },
            (Some(_), Some(_)) => KillCause::Other,
            _ => KillCause::Unknown,
        }
    }
}

/// Cause of an agent's end by SIGKILL.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KillCause {
    /// Memory ran out while the agent ran.
    Memory {
        /// Number of processes that the kernel has ended for lack of memory since the agent started.
        processes: u64,
    },
    /// The kernel ended no process for lack of memory, so another program killed the agent.
    Other,
    /// The kernel does not count its kills.
    Unknown,
}

impl fmt::Display for KillCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { processes } => write!(
                f,
                "memory ran out, and the kernel has ended {processes} {} for it since the agent started (hint: a guest \
                 gets more memory with `--guest-memory SIZE`)",
                if *processes == 1 { "process" } else { "processes" }
            ),
            Self::Other => f.write_str(
                "memory did not run out, so another program killed it (hint: something on this machine kills it)",
            ),
            Self::Unknown => f.write_str(
                "the kernel ends processes so when memory runs out (hint: a guest gets more memory with \
                 `--guest-memory SIZE`)",
            ),
        }
    }
}

fn parse(vmstat: &str) -> Option<u64> {
    let mut lines = vmstat.lines();
    let value = lines.find_map(|line| line.strip_prefix("oom_kill "))?;
    value.trim().parse().ok()
}

/// Counters of the kernel's memory management, which are those of the whole machine.
///
/// <https://github.com/torvalds/linux/blob/v6.1/mm/vmstat.c#L1288>
const VMSTAT: &str = "/proc/vmstat";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_one_line_of_the_kernels_file() {
        assert_eq!(parse("oom_kill_x 9\noom_kill 3\nnr_free 4\n"), Some(3));
        assert_eq!(parse("nr_free 4\n"), None);
        assert_eq!(parse("oom_kill many\n"), None);
    }

    #[test]
    fn a_counter_that_rose_shows_that_memory_ran_out() {
        let cause = |before, now| OomKills(before).cause_until(OomKills(now));
        assert_eq!(cause(Some(2), Some(5)), KillCause::Memory { processes: 3 });
        assert_eq!(cause(Some(2), Some(2)), KillCause::Other);
        assert_eq!(cause(None, Some(2)), KillCause::Unknown);
        let text = cause(Some(0), Some(1)).to_string();
        assert!(text.contains("has ended 1 process for it"), "{text}");
        assert!(text.contains("--guest-memory"), "{text}");
    }

    #[test]
    fn only_signal_9_is_a_kill_for_memory() {
        let before = OomKills(None);
        assert_eq!(
            before.cause(ExitStatus::from_raw(9)),
            Some(KillCause::Unknown)
        );
        for ended in [0, 15, 256] {
            assert_eq!(before.cause(ExitStatus::from_raw(ended)), None, "{ended}");
        }
    }
}
