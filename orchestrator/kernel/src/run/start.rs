//! Start of a repetition's time.
//!
//! Before a repetition, a guest's virtual clock jumps during waits for the host, by amounts that differ between runs.
//! Therefore every repetition starts at the same phase of the kernel's periodic work, most of which is due at whole
//! seconds of jiffies, and of the retransmission timers. Timers that count from their last expiry cannot be aligned in
//! this way: 2,000 sleeps of 1 ms ended within 15 ns of each other in most boots, and tens of microseconds apart in a
//! few.

use std::{fs, io};

use lab_abi::wire::AgentCommand;
use lab_generators::contract::MonotonicTime;
use lab_plan::{
    Plan, rdma,
    timer_wheel::{JIFFY, WheelTimer},
};
use lab_units::Nanos;

use crate::lower::Clock;

/// Start of a repetition's clock, and the end of the agents' rest (suspended periodic work) before that start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Start {
    /// Instant from which flows, samples and records count.
    pub at: MonotonicTime,
    /// Instant until which agents suspend their periodic work.
    pub rest_until: MonotonicTime,
}

impl Start {
    /// Returns the next possible start for a repetition of `plan`.
    ///
    /// # Errors
    /// If the kernel does not report its jiffies (its timer ticks).
    pub(super) fn next(clock: Clock, plan: &Plan) -> io::Result<Self> {
        match clock {
            Clock::Real => Ok(Self::on_real_clock(MonotonicTime::now())),
            Clock::Virtual => {
                let timer = WheelTimer::new(rdma::timeout(plan.rdma.qp_timeout));
                Ok(Self::aligned(Tick::read()?, period(timer.granularity())))
            }
        }
    }

    const fn on_real_clock(now: MonotonicTime) -> Self {
        Self {
            at: now.after(REAL_LEAD).round_up_to(SECOND),
            rest_until: now,
        }
    }

    /// Returns the first start whose jiffies are a multiple of `period`, after a margin for work that is still in
    /// progress.
    fn aligned(now: Tick, period: u64) -> Self {
        let rest = (now.jiffies + MARGIN).next_multiple_of(period) - now.jiffies;
        let after = |jiffies| now.at.after(Nanos::new(jiffies * JIFFY.get()));
        Self {
            at: after(rest),
            rest_until: after(rest - VIRTUAL_LEAD),
        }
    }

    /// Returns the command that announces the start to the agents.
    pub(super) const fn command(self) -> AgentCommand {
        AgentCommand::Start {
            at_ns: Nanos::new(self.at.as_nanos()),
            rest_until_ns: Nanos::new(self.rest_until.as_nanos()),
        }
    }
}

/// Tick of the kernel's timer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Tick {
    /// Time of the tick, a multiple of [`JIFFY`].
    at: MonotonicTime,
    /// Value of the jiffies counter from this tick on. At boot, the counter starts five minutes before it overflows 32
    /// bits; it misses some ticks of the boot (20 or 22 in boots of one kernel).
    jiffies: u64,
}

impl Tick {
    /// Reads the time and the jiffies of a recent timer tick.
    fn read() -> io::Result<Self> {
        let missing = || {
            io::Error::other(format!(
                "`{TIMER_LIST}` does not contain the current time and the jiffies"
            ))
        };
        let read = |_| Self::parse(&fs::read_to_string(TIMER_LIST)?).ok_or_else(missing);
        let ticks: Vec<Self> = (0..READINGS).map(read).collect::<io::Result<_>>()?;
        Self::undisturbed(ticks).ok_or_else(missing)
    }

    /// Returns a reading in which no tick occurred between reading the time and reading the jiffies, because such a
    /// tick makes the jiffies too large by one.
    fn undisturbed(readings: Vec<Self>) -> Option<Self> {
        let ahead = |tick: &Self| {
            tick.jiffies
                .saturating_sub(tick.at.as_nanos() / JIFFY.get())
        };
        readings.into_iter().min_by_key(ahead)
    }

    fn parse(timer_list: &str) -> Option<Self> {
        let number = |label: &str| {
            let rest = timer_list.lines().find_map(|line| line.strip_prefix(label));
            rest?.split_whitespace().next()?.parse::<u64>().ok()
        };
        let now = number("now at ")?;
        Some(Self {
            at: MonotonicTime::from_nanos(now - now % JIFFY.get()),
            jiffies: number("jiffies: ")?,
        })
    }
}

/// Returns a period in jiffies that is a whole number of seconds and, if possible, a multiple of a timer's
/// `granularity`. The short period is preferred, because the start is then 15 minutes of virtual time sooner on
/// average, which saves the host a few seconds.
const fn period(granularity: u64) -> u64 {
    if SHORT_PERIOD.is_multiple_of(granularity) {
        SHORT_PERIOD
    } else {
        LONG_PERIOD
    }
}

const TIMER_LIST: &str = "/proc/timer_list";

/// Number of times that the latest tick is read, because another tick may disturb a reading.
const READINGS: usize = 3;

const SECOND: Nanos = Nanos::from_millis(1_000);

/// 256 s in jiffies: 125 granules of the wheel level that holds timers up to 2 minutes.
const SHORT_PERIOD: u64 = 64_000;

/// 2,048 s in jiffies: 125 granules of the wheel level that holds timers up to 17 minutes. Longer timers
/// are not aligned.
const LONG_PERIOD: u64 = 512_000;

/// Minimum time before the start for work that is still in progress: 20 s in jiffies.
const MARGIN: u64 = 5_000;

/// Time between the end of the agents' rest and the start, enough for at least one queue sample: 1 s in jiffies.
const VIRTUAL_LEAD: u64 = 250;

/// Minimum time before the start on the real clock, in which agents receive the start command.
const REAL_LEAD: Nanos = Nanos::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(time: u64) -> MonotonicTime {
        MonotonicTime::from_nanos(time * SECOND.get())
    }

    #[test]
    fn the_real_clock_starts_on_a_whole_second_with_a_quarter_to_spare() {
        for (now_ms, at) in [(100_000, 101), (100_750, 101), (100_751, 102)] {
            let now = MonotonicTime::from_nanos(now_ms * 1_000_000);
            let start = Start::on_real_clock(now);
            assert_eq!((start.at, start.rest_until), (seconds(at), now), "{now_ms}");
        }
    }

    #[test]
    fn a_virtual_clock_starts_at_the_first_multiple_after_the_margin() {
        for (jiffies, rest) in [
            (0, 64_000),
            (59_000, 5_000),
            (59_001, 68_999),
            (64_000, 64_000),
        ] {
            let at = seconds(30);
            let start = Start::aligned(Tick { at, jiffies }, 64_000);
            assert_eq!(
                start.at,
                at.after(Nanos::new(rest * JIFFY.get())),
                "{jiffies}"
            );
            assert_eq!(start.at.since(start.rest_until), SECOND, "{jiffies}");
        }
    }

    #[test]
    fn a_period_has_whole_seconds_and_whole_expiries() {
        for (exponent, expected) in [(14, SHORT_PERIOD), (24, SHORT_PERIOD), (25, LONG_PERIOD)] {
            let granularity = WheelTimer::new(rdma::timeout(exponent)).granularity();
            let period = period(granularity);
            assert_eq!(period, expected, "{exponent}");
            assert_eq!(
                (period % granularity, period * JIFFY.get() % SECOND.get()),
                (0, 0),
                "{exponent}"
            );
        }
        assert_eq!(period(1 << 15), LONG_PERIOD);
    }

    #[test]
    fn the_tick_is_the_last_one_before_the_time() {
        let text = "Timer List Version: v0.9\nHRTIMER_MAX_CLOCK_BASES: 8\nnow at 2544673221 nsecs\n\ncpu: 0\n\
            \x20 .last_jiffies   : 0\njiffies: 4294892912\n";
        let at = MonotonicTime::from_nanos(2_544_000_000);
        assert_eq!(
            Tick::parse(text),
            Some(Tick {
                at,
                jiffies: 4_294_892_912
            })
        );
        assert_eq!(Tick::parse("now at 2544673221 nsecs\n"), None);
        assert_eq!(Tick::parse("now at x nsecs\njiffies: 1\n"), None);
    }

    #[test]
    fn a_tick_between_time_and_jiffies_is_noticed() {
        let tick = |time: u64, jiffies| Tick {
            at: MonotonicTime::from_nanos(time * JIFFY.get()),
            jiffies,
        };
        for at in 0..3 {
            let mut readings = vec![tick(70, 1_050), tick(70, 1_050), tick(71, 1_051)];
            readings[at].jiffies += 1;
            let found = Tick::undisturbed(readings).unwrap();
            assert_eq!(found.jiffies - found.at.as_nanos() / JIFFY.get(), 980);
        }
    }
}
