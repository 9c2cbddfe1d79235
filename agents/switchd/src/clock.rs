//! Clock that the switch program uses, and the agent's timers.

use std::os::fd::{AsFd, BorrowedFd};

use lab_units::Nanos;
use nix::{
    errno::Errno,
    sys::{
        time::TimeSpec,
        timerfd::{ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
    time::{ClockId, clock_gettime},
};

use crate::SwitchdError;

/// Returns the time on the clock of `bpf_ktime_get_ns`, `CLOCK_MONOTONIC`.
pub fn now() -> Result<Nanos, SwitchdError> {
    let time =
        clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(SwitchdError::io("read the clock"))?;
    let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec()).unwrap_or_default();
    Ok(Nanos::new(seconds * NANOS_PER_SECOND + nanos))
}

/// Timer that is due at regular intervals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Periodic {
    interval: Nanos,
    due: Nanos,
}

/// State of a timer when [`Periodic::take`] checks it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Due {
    /// The timer is not due yet.
    NotYet,
    /// Due, with less than one interval of delay.
    Now,
    /// Due, with a delay of at least one whole interval.
    Late,
}

impl Periodic {
    /// Returns a timer that is first due after `now`, at a whole number of intervals before or after `start`.
    pub(crate) fn new(interval: Nanos, start: Nanos, now: Nanos) -> Self {
        let length = interval.get();
        let phase = start.get() % interval.get();
        let since_due = (now.get() % length + length - phase) % length;
        Self {
            interval,
            due: now.saturating_add(Nanos::new(length - since_due)),
        }
    }

    /// Checks the timer at `now`; a timer that was due is next due at the following multiple of the interval.
    pub(crate) fn take(&mut self, now: Nanos) -> Due {
        if now < self.due {
            return Due::NotYet;
        }
        let missed = (now.get() - self.due.get()) / self.interval.get();
        let steps = Nanos::new(self.interval.get().saturating_mul(missed + 1));
        self.due = self.due.saturating_add(steps);
        if missed == 0 { Due::Now } else { Due::Late }
    }

    /// Returns the time at which the timer is due.
    pub(crate) const fn due(&self) -> Nanos {
        self.due
    }
}

/// File descriptor that becomes readable at a given time, without the timer slack of a poll time-out.
pub(crate) struct Alarm {
    timer: TimerFd,
}

impl Alarm {
    pub(crate) fn new() -> Result<Self, SwitchdError> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(TimerClock::CLOCK_MONOTONIC, flags).map(|timer| Self { timer });
        timer.map_err(SwitchdError::io("make a timer"))
    }

    /// Makes the descriptor readable at `time`, or at once if `time` has passed.
    pub(crate) fn set(&self, time: Nanos) -> Result<(), SwitchdError> {
        let seconds = i64::try_from(time.get() / NANOS_PER_SECOND).unwrap_or(i64::MAX);
        let nanos = i64::try_from(time.get() % NANOS_PER_SECOND).unwrap_or_default();
        let once = Expiration::OneShot(TimeSpec::new(seconds, nanos));
        let set = self.timer.set(once, TimerSetTimeFlags::TFD_TIMER_ABSTIME);
        set.map_err(SwitchdError::io("set a timer"))
    }

    /// Makes the descriptor unreadable until it is set again.
    pub(crate) fn clear(&self) -> Result<(), SwitchdError> {
        match self.timer.wait() {
            Ok(()) | Err(Errno::EAGAIN) => Ok(()),
            Err(errno) => Err(SwitchdError::io("read a timer")(errno)),
        }
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Nanos {
        Nanos::new(nanos)
    }

    #[test]
    fn a_timer_is_due_at_multiples_of_its_interval_however_late_it_is_taken() {
        let mut periodic = Periodic::new(at(10), at(0), at(103));
        assert_eq!(periodic.take(at(109)), Due::NotYet);
        assert_eq!(periodic.take(at(113)), Due::Now);
        assert_eq!(periodic.due(), at(120));
        assert_eq!(periodic.take(at(147)), Due::Late);
        assert_eq!(periodic.due(), at(150));
    }

    #[test]
    fn a_timer_counts_from_its_start_before_and_after_it() {
        let due = |start, now| Periodic::new(at(10), at(start), at(now)).due();
        for (now, expected) in [(0, 7), (6, 7), (7, 17), (120, 127), (127, 137), (130, 137)] {
            assert_eq!(due(127, now), at(expected), "{now}");
        }
    }
}
