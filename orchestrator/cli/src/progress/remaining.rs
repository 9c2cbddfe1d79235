//! Remaining time of a run, estimated from the policies and repetitions that have ended.

use std::time::{Duration, Instant};

/// Numbers of expected and ended runs of the flows, one per policy and repetition, all assumed to take the same time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Remaining {
    expected: u32,
    done: u32,
    /// Time at which the first run of the flows began; `None` before that time.
    since: Option<Instant>,
    /// Time at which the latest run ended; `None` before the first end.
    last: Option<Instant>,
}

impl Remaining {
    /// Returns counts for flows that will run `times` times, starting at `now`.
    pub(super) fn of(times: u64, now: Instant) -> Self {
        Self {
            expected: u32::try_from(times).unwrap_or(u32::MAX),
            since: Some(now),
            ..Self::default()
        }
    }

    /// Counts the end of a phase at `now`, if flows ran in it.
    pub(super) fn ended(&mut self, phase: &str, now: Instant) {
        if phase.ends_with("flows") {
            self.done += 1;
            self.last = Some(now);
        }
    }

    /// Estimates the remaining time; `None` before the first run of flows has ended and after the last.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        let since = self.since?;
        let last = self.last?;
        let rest = self
            .expected
            .checked_sub(self.done)
            .filter(|&rest| rest > 0)?;
        let each = last.duration_since(since) / self.done.max(1);
        Some((each * rest).saturating_sub(now.duration_since(last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_the_runs_before() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut remaining = Remaining::of(4, start);
        remaining.ended("ecmp agents", at(5));
        assert_eq!(remaining.left(at(9)), None);
        remaining.ended("ecmp flows", at(20));
        assert_eq!(remaining.left(at(25)), Some(Duration::from_secs(55)));
        remaining.ended("lcmp flows", at(30));
        assert_eq!(remaining.left(at(30)), Some(Duration::from_secs(30)));
        for _ in 0..2 {
            remaining.ended("lcmp flows", at(40));
        }
        assert_eq!(remaining.left(at(41)), None);
    }
}
