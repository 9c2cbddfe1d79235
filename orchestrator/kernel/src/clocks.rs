//! Readings of all clocks of the machine at one moment.

use std::io;

use nix::{
    sys::time::TimeSpec,
    time::{ClockId, clock_gettime},
};

/// Readings of the machine's clocks at one moment, ns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Clocks {
    pub wall: u64,
    pub monotonic: u64,
    pub raw: u64,
    /// Time that the reading took, ns; the clocks may differ by this much without an error.
    pub took: u64,
}

impl Clocks {
    /// Reads the clocks until a reading is so quick that no other task can have interrupted it, at most [`TRIES`]
    /// times; returns the quickest reading.
    pub fn read() -> io::Result<Self> {
        let mut best = Self::read_once()?;
        for _ in 1..TRIES {
            if best.took <= QUICK {
                break;
            }
            let again = Self::read_once()?;
            if again.took < best.took {
                best = again;
            }
        }
        Ok(best)
    }

    fn read_once() -> io::Result<Self> {
        let read = |clock| Ok::<_, io::Error>(nanos(clock_gettime(clock)?));
        let monotonic = read(ClockId::CLOCK_MONOTONIC)?;
        let raw = read(ClockId::CLOCK_MONOTONIC_RAW)?;
        let wall = read(ClockId::CLOCK_REALTIME)?;
        let took = read(ClockId::CLOCK_MONOTONIC)?.saturating_sub(monotonic);
        Ok(Self {
            wall,
            monotonic,
            raw,
            took,
        })
    }

    /// Returns by how much the wall clock has jumped against the monotonic clock since `earlier`, ns, minus the time
    /// that the two readings took.
    pub fn jump_since(&self, earlier: &Self) -> u64 {
        let span = self.monotonic.saturating_sub(earlier.monotonic);
        let jump = span.abs_diff(self.wall.saturating_sub(earlier.wall));
        jump.saturating_sub(self.took + earlier.took)
    }

    /// Returns by how much the monotonic clock has drifted against the hardware clock since `earlier`, ns, minus the
    /// time that the two readings took.
    pub fn drift_since(&self, earlier: &Self) -> u64 {
        let span = self.monotonic.saturating_sub(earlier.monotonic);
        let drift = span.abs_diff(self.raw.saturating_sub(earlier.raw));
        drift.saturating_sub(self.took + earlier.took)
    }
}

/// Converts a time since 1970 to nanoseconds; times before 1970 become 0.
pub(crate) fn nanos(time: TimeSpec) -> u64 {
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    part(time.tv_sec()) * 1_000_000_000 + part(time.tv_nsec())
}

const TRIES: u32 = 10;

/// Maximum time of a quick reading, ns: the time that a reading takes on an otherwise idle emulated CPU.
const QUICK: u64 = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_between_two_readings_is_no_jump() {
        let clocks = |wall, monotonic, raw, took| Clocks {
            wall,
            monotonic,
            raw,
            took,
        };
        let before = clocks(5_000_000, 1_000_000, 900_000, 1_000);
        let preempted = clocks(15_900_000, 11_000_000, 10_900_000, 900_000);
        assert_eq!(preempted.jump_since(&before), 0);
        assert_eq!(preempted.drift_since(&before), 0);
        let set = clocks(65_000_000, 11_000_000, 10_400_000, 1_000);
        assert_eq!(set.jump_since(&before), 50_000_000 - 2_000);
        assert_eq!(set.drift_since(&before), 500_000 - 2_000);
    }
}
