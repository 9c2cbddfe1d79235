//! Start of a repetition's time.
//!
//! In a guest in virtual time every repetition starts at the same phase of the kernel's periodic work, most of
//! which is due at whole seconds, and of the timers that retransmit. Before, the virtual clock has jumped during
//! waits for the host, by amounts that differ between runs. Timers that count from their last expiry remain:
//! 2,000 sleeps of 1 ms ended within 15 ns of each other in most boots, and some tens of microseconds apart in
//! a few.

use lab_abi::wire::AgentCommand;
use lab_perftest::MonotonicTime;
use lab_plan::{
    Plan, rdma,
    timer_wheel::{JIFFIES_WRAP, WheelTimer},
};
use lab_units::Nanos;

use crate::lower::Clock;

/// Start of a repetition's time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Start {
    /// Time from which flows, samples and records count.
    pub at: MonotonicTime,
    /// Time until which agents rest.
    pub rest_until: MonotonicTime,
}

impl Start {
    /// Returns the next start of a repetition of `plan`.
    pub(super) fn next(clock: Clock, plan: &Plan, now: MonotonicTime) -> Self {
        match clock {
            Clock::Real => Self {
                at: now.after(REAL_LEAD).round_up_to(SECOND),
                rest_until: now,
            },
            Clock::Virtual => {
                let timer = WheelTimer::new(rdma::timeout(plan.rdma.qp_timeout));
                Self::aligned(now, period(timer.granularity()))
            }
        }
    }

    /// Returns the first start after work already begun that is whole periods from a wrap of jiffies.
    fn aligned(now: MonotonicTime, period: Nanos) -> Self {
        let wrap = MonotonicTime::from_nanos(JIFFIES_WRAP.get() % period.get());
        let since_wrap = MonotonicTime::from_nanos(now.after(MARGIN).since(wrap).get());
        let at = wrap.after(Nanos::new(since_wrap.round_up_to(period).as_nanos()));
        let rest_until = at.as_nanos().saturating_sub(VIRTUAL_LEAD.get());
        Self {
            at,
            rest_until: MonotonicTime::from_nanos(rest_until),
        }
    }

    /// Returns the command for the agents.
    pub(super) const fn command(self) -> AgentCommand {
        AgentCommand::Start {
            at_ns: Nanos::new(self.at.as_nanos()),
            rest_until_ns: Nanos::new(self.rest_until.as_nanos()),
        }
    }
}

/// Returns the shortest period of whole seconds and of expiries `granularity` apart, out of two: a quarter of an
/// hour costs the host a few seconds.
fn period(granularity: Nanos) -> Nanos {
    match SHORT_PERIOD.get().is_multiple_of(granularity.get()) {
        true => SHORT_PERIOD,
        false => LONG_PERIOD,
    }
}

const SECOND: Nanos = Nanos::from_millis(1_000);

/// Period of whole seconds with expiries 2.048 s apart, those of timers of up to two minutes.
const SHORT_PERIOD: Nanos = Nanos::from_millis(256_000);

/// Period of whole seconds with expiries 16.384 s apart, those of timers of up to 17 minutes. Where longer ones
/// expire is left to chance.
const LONG_PERIOD: Nanos = Nanos::from_millis(2_048_000);

/// Virtual time for work already begun.
const MARGIN: Nanos = Nanos::from_millis(20_000);

/// Time between the agents' rest and the start, for at least a sample.
const VIRTUAL_LEAD: Nanos = Nanos::from_millis(1_000);

const REAL_LEAD: Nanos = Nanos::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(time: u64) -> MonotonicTime {
        MonotonicTime::from_nanos(time * SECOND.get())
    }

    #[test]
    fn the_real_clock_starts_on_a_whole_second_with_a_quarter_to_spare() {
        let plan = crate::testing::routed(0);
        for (now_ms, at) in [(100_000, 101), (100_750, 101), (100_751, 102)] {
            let now = MonotonicTime::from_nanos(now_ms * 1_000_000);
            let start = Start::next(Clock::Real, &plan, now);
            assert_eq!((start.at, start.rest_until), (seconds(at), now), "{now_ms}");
        }
    }

    #[test]
    fn a_virtual_clock_starts_where_timers_expire_after_the_margin() {
        for (period_s, now, at) in [
            (256, 0, 44),
            (256, 24, 44),
            (256, 25, 300),
            (2_048, 281, 2_348),
        ] {
            let period = Nanos::from_millis(period_s * 1_000);
            let start = Start::aligned(seconds(now), period);
            assert_eq!(start.at, seconds(at), "{now}");
            assert_eq!(start.rest_until, seconds(at - 1), "{now}");
            let since_wrap = (at + 10 * 2_048 - 300) * SECOND.get();
            assert_eq!(since_wrap % 2_048_000_000, 0, "{now}");
        }
    }

    #[test]
    fn a_period_is_as_long_as_the_qps_time_out_needs() {
        let of = |exponent| period(WheelTimer::new(rdma::timeout(exponent)).granularity());
        assert_eq!(
            [14, 24, 25, 31].map(of),
            [SHORT_PERIOD, SHORT_PERIOD, LONG_PERIOD, LONG_PERIOD]
        );
    }
}
