//! Bringing a guest to the same moment in every run.

use std::{env, io};

use lab_units::Nanos;
use nix::{
    time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep},
    unistd::sync,
};

use crate::{
    Clock,
    inside::{CLOCK_VARIABLE, cpu},
};

/// Waits for a moment that means the same in every run on the virtual clock, and says when it is.
///
/// Up to here the guest has waited for the host now and then, and its clock has leapt by amounts that
/// differ from run to run. Much of the kernel's periodic work is due at whole seconds, so what
/// follows a whole multiple of 100 s after boot meets it at the same distance. What is left are
/// timers that count from the last time they ran: 2,000 sleeps of 1 ms ended within 15 ns of each
/// other in most boots, idle host or not, and a few tens of microseconds apart in some. Waiting costs
/// a quarter of a second of host time.
///
/// Call it once everything is made and preloaded, right before flows start. On the real clock there
/// is no such moment and it returns at once.
///
/// # Errors
///
/// Fails when the clock cannot be read.
pub fn settle() -> io::Result<Nanos> {
    sync();
    if env::var_os(CLOCK_VARIABLE).is_some_and(|clock| clock == Clock::Virtual.name()) {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?.tv_sec();
        let moment = nix::sys::time::TimeSpec::new(next_moment(now), 0);
        clock_nanosleep(
            ClockId::CLOCK_MONOTONIC,
            ClockNanosleepFlags::TIMER_ABSTIME,
            &moment,
        )?;
    }
    cpu::uptime()
}

/// The first multiple of the period that leaves time for work already begun.
fn next_moment(now_seconds: i64) -> i64 {
    ((now_seconds + MARGIN_SECONDS) / PERIOD_SECONDS + 1) * PERIOD_SECONDS
}

/// Longer than the kernel's own periods that count, of which five seconds for writing files back is
/// the longest.
const PERIOD_SECONDS: i64 = 100;

const MARGIN_SECONDS: i64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_is_at_least_the_margin_away() {
        assert_eq!(next_moment(0), 100);
        assert_eq!(next_moment(79), 100);
        assert_eq!(next_moment(80), 200);
        assert_eq!(next_moment(100), 200);
    }
}
