//! Waiting for a process that was asked to end, as long as the process uses CPU time.

use std::time::{Duration, Instant};

use procfs::process::{Stat, all_processes};

/// Wait for a process to end. The wait is over once the process has used less CPU time than [`WORK`] during [`IDLE`],
/// or after [`LONGEST`].
#[derive(Debug)]
pub(super) struct Patience {
    /// Time at which the wait is over in any case.
    last: Instant,
    /// Time at which the wait is over unless the process does more work before.
    until: Instant,
    /// CPU time that the process had used when `until` was set.
    worked: Duration,
}

impl Patience {
    /// Begins a wait at `now` for a process that has used the CPU time `worked` so far.
    pub fn new(now: Instant, worked: Duration) -> Self {
        Self {
            last: now + LONGEST,
            until: now + IDLE,
            worked,
        }
    }

    /// Returns true if the wait is over at `now`, given that the process has used the CPU time `worked` so far.
    pub fn is_over(&mut self, now: Instant, worked: Duration) -> bool {
        if worked.saturating_sub(self.worked) >= WORK {
            (self.until, self.worked) = (now + IDLE, worked);
        }
        now >= self.until.min(self.last)
    }
}

/// Returns the CPU time that a process and its children, including ended children, have used so far. Children count
/// because a guest is a child of its lab's owner.
pub(super) fn worked(pid: i32) -> Duration {
    let stats = all_processes()
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|process| process.stat().ok());
    let of_owner = stats.filter(|stat| stat.pid == pid || stat.ppid == pid);
    let used = |stat: Stat| {
        let of_ended = u64::try_from(stat.cutime + stat.cstime).unwrap_or(0);
        stat.utime + stat.stime + of_ended
    };
    let ticks: u64 = of_owner.map(used).sum();
    Duration::from_millis(ticks.saturating_mul(1_000) / procfs::ticks_per_second().max(1))
}

/// Maximum time without work. An owner that has nothing else to do ends its processes and takes its lab down within a
/// few seconds.
const IDLE: Duration = Duration::from_secs(15);

/// CPU time within [`IDLE`] that counts as work, such as drawing a report or ending a guest's flows. A process that
/// only waits and polls uses less CPU time.
const WORK: Duration = Duration::from_millis(500);

/// Maximum duration of a wait, longer than drawing any report takes.
const LONGEST: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_is_waited_for() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut patience = Patience::new(start, Duration::from_secs(7));
        // The process works for half of each second: it has used 3.5 s more after 7 s, and so on.
        for seconds in 1..=40 {
            let worked = Duration::from_secs(7) + Duration::from_millis(500 * seconds);
            assert!(!patience.is_over(at(seconds), worked), "{seconds}");
        }
        // By 40 s, the process has used 27 s, and it does no more work.
        let worked = Duration::from_secs(27);
        assert!(!patience.is_over(at(54), worked));
        assert!(patience.is_over(at(55), worked));
    }

    #[test]
    fn neither_a_process_that_waits_nor_one_that_never_ends_is() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut waits = Patience::new(start, Duration::ZERO);
        assert!(!waits.is_over(at(14), Duration::from_millis(499)));
        assert!(waits.is_over(at(15), Duration::from_millis(499)));
        let mut spins = Patience::new(start, Duration::ZERO);
        let over = (1..).find(|second| spins.is_over(at(*second), Duration::from_secs(*second)));
        assert_eq!(over, Some(600));
    }

    #[test]
    fn the_work_of_a_child_is_its_parents() {
        let own = i32::try_from(std::process::id()).unwrap();
        let before = worked(own);
        let mut child = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let give_up = Instant::now() + Duration::from_secs(60);
        while worked(own) < before + Duration::from_millis(200) {
            assert!(Instant::now() < give_up);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            worked(own) >= before + Duration::from_millis(200),
            "it has ended"
        );
    }
}
