//! Bounds that decide whether a run is trusted, each with its reason: on a lab's links before the first flow, and on
//! the figures of a run.

use lab_units::{BitsPerSec, Clock, Nanos};

use super::{code::ReasonCode, grade::Grade};
use crate::Location;

/// Bounds on the measured rates and delays of a link, relative to the plan.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LinkBounds {
    /// Maximum error of a one-way delay shorter than 10 ms.
    delay_floor: Nanos,
    /// Maximum difference between two delays measured in one direction.
    spread: Nanos,
}

impl LinkBounds {
    /// Returns the bounds for the links of a lab with this location and clock.
    ///
    /// On the virtual clock, a probe waits only while the CPU handles other packets, 15 µs per packet. On this
    /// machine's real clock, the probes' minimum delay is as exact as on the virtual clock, but single probes may wait
    /// for a CPU. In a guest on the real clock, probes may also wait for a CPU of the host, so both bounds are larger.
    #[must_use]
    pub const fn of(location: Location, clock: Clock) -> Self {
        let (delay_floor, spread) = match (location, clock) {
            (_, Clock::Virtual) => (Nanos::new(50_000), Nanos::new(100_000)),
            (Location::Here, Clock::Real) => (Nanos::new(50_000), Nanos::new(1_000_000)),
            (Location::Guest, Clock::Real) => (Nanos::new(250_000), Nanos::new(5_000_000)),
        };
        Self {
            delay_floor,
            spread,
        }
    }

    /// Returns the maximum error of the planned one-way delay `asked`: 0.5 %, but at least `delay_floor`. LCMP's delay
    /// score has 256 steps, so 0.5 % changes the score by about one step.
    #[must_use]
    pub fn delay(&self, asked: Nanos) -> Nanos {
        Nanos::new(asked.get() / 200).max(self.delay_floor)
    }

    /// Returns the maximum difference between two delays measured in one direction.
    #[must_use]
    pub const fn spread(&self) -> Nanos {
        self.spread
    }

    /// Returns the maximum error of the planned rate `asked`: 1 %, the smallest change of a slowdown that reports treat
    /// as a difference.
    #[must_use]
    pub fn rate(&self, asked: BitsPerSec) -> BitsPerSec {
        BitsPerSec::new(asked.get() / 100).unwrap_or(asked)
    }

    /// Maximum error of a queue's limit, in frames: one frame may be leaving the queue while the next one arrives.
    pub const QUEUE_PACKETS: u64 = 1;

    /// Maximum number of frames on a link that are not the measurement's own. The lab sends no other frames before the
    /// flows start, but a daemon of the machine may announce itself on a host's interface.
    pub const FOREIGN_PACKETS: u64 = 8;
}

/// Bounds on a figure of a run, above which the run is doubtful or invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Maximum value in a valid run; above it, the run is doubtful.
    pub doubtful: f64,
    /// Maximum value in a doubtful run; above it, the run is invalid.
    pub invalid: f64,
}

/// Bounds on the share of flows that started late, by more than a hundredth of their round trip. FCTs do not include a
/// late start, but a late flow meets other queues than the planned one. Even if its FCT were arbitrary, a percentile over
/// all flows would shift by at most the share of late flows: with one in a thousand, p99 lies between p98.9 and p99.1.
/// That is less than the 95 % interval of p99 over 10,000 flows, from p98.8 to p99.2. If a tenth is late, every
/// percentile may shift.
pub const LATE_LAUNCHES: Bound = Bound::new(0.001, 0.1);

/// Bounds on the share of queue samples that were taken only after the next one was due. LCMP uses the latest sample,
/// so 1 % of late samples means that 1 % of the decisions use an older sample. If half are late, the sampling interval
/// has no meaning.
pub const LATE_SAMPLES: Bound = Bound::new(0.01, 0.5);

/// Bounds on the share of the guest's CPU in use while flows ran, on the virtual clock. Above the lower bound, packets
/// wait while the CPU handles other packets; near full use, the lab was slower than its own clock.
pub const GUEST_CPU: Bound = Bound::new(0.9, 0.98);

/// Bounds on the share of all CPU time in use, in the busiest second, on real clocks. Softirqs forward packets without
/// delay as long as one CPU has idle time.
pub const BUSY_SECOND: Bound = Bound::new(0.9, 0.995);

/// Bounds on the share of CPU time that the hypervisor gave to other machines, in the worst second. A stolen time slice
/// lasts milliseconds, longer than a sampling interval.
pub const STEAL: Bound = Bound::new(0.02, 0.2);

/// Bounds on the share of one CPU's time in softirqs, in its busiest second. Above the lower bound, packets are handled
/// by `ksoftirqd`, which waits for the CPU like any process.
pub const SOFTIRQ: Bound = Bound::new(0.8, 0.98);

/// Bounds on the mean number of tasks per CPU that waited for a CPU while flows ran; each waits for the time slices of
/// other tasks.
pub const WAITING: Bound = Bound::new(0.25, 2.0);

/// Bounds on the share of the watchdog's wake-ups that were late by more than [`WATCHDOG_LATE`]. The watchdog sleeps
/// for a fixed time over and over; emulated link delays use the same kernel timers.
pub const LATE_WAKEUPS: Bound = Bound::new(0.01, 0.2);

/// Delay above which a wake-up of the watchdog is late. For comparison: tbf's bucket overflows after 30 ms, and a frame
/// at 100 Mbit/s takes a third of a millisecond.
pub const WATCHDOG_LATE: Nanos = Nanos::new(2_000_000);

/// Bounds on the sum of the wall clock's jumps relative to the monotonic clock, in nanoseconds. Flow starts and rows
/// use both clocks.
pub const CLOCK_JUMP: Bound = Bound::new(1e6, 1e9);

/// Bounds on the share of packets dropped outside the emulated queues (CPU backlogs, veth, receive), and on the share
/// dropped by links without `loss`. One lost packet makes SoftRoCE go back N.
pub const DROPPED_OUTSIDE: Bound = Bound::new(0.0, 1e-3);

/// Bounds on a count that should be 0: a higher count makes the run doubtful, but never invalid.
pub const ANY: Bound = Bound::new(0.0, f64::INFINITY);

/// Bounds on the share of finished flows that were too fast for the paths that they took. That is impossible, so a
/// single one shows that the ideal FCT or the measurement is wrong.
pub const IMPOSSIBLE_SLOWDOWNS: Bound = Bound::new(0.0, 0.0);

/// Multiple of a link's bound above which the run is invalid, because the measured network is not the scenario's.
pub const LINK_FACTOR: u64 = 10;

impl Bound {
    const fn new(doubtful: f64, invalid: f64) -> Self {
        Self { doubtful, invalid }
    }

    /// Returns the grade (valid, doubtful or invalid) of a run with the figure `value`.
    pub(super) fn grade(self, value: f64) -> Grade {
        if value > self.invalid {
            Grade::Invalid
        } else if value > self.doubtful {
            Grade::Doubtful
        } else {
            Grade::Valid
        }
    }
}

impl ReasonCode {
    /// Returns the bounds on the figure of this reason code; `None` for a fact without a figure, and for a code that is
    /// graded by something other than its figure.
    #[must_use]
    pub const fn bound(self) -> Option<Bound> {
        match self {
            Self::DidNotEnd
            | Self::NoFlows
            | Self::UnrecordedFlows
            | Self::EngineProblem
            | Self::UncertifiedLinks
            | Self::AlteredLab => None,
            // Unfinished flows may be a policy's own result, but then the policy cannot be compared with other
            // policies.
            Self::UnfinishedFlows
            | Self::HostWaits
            | Self::UnexplainedRetries
            | Self::UnpinnedDecisions
            | Self::StaleDecisions
            | Self::LostDecisionRecords
            | Self::LostMessages
            | Self::IncompleteReports
            | Self::UnpausableSenders
            | Self::DroppedDespitePfc
            | Self::DroppedFromTrains
            | Self::UnpacedPackets
            | Self::DroppedByPacer
            | Self::ReorderedByPacer
            | Self::UnsentCnps
            | Self::UnrecordedPauses
            | Self::UndecidedFlows
            | Self::UnrecordedDecisions
            | Self::ExecCommands
            | Self::TunedParameters
            | Self::AgentRestarts
            | Self::TruncatedTables => Some(ANY),
            Self::ImpossibleSlowdowns => Some(IMPOSSIBLE_SLOWDOWNS),
            Self::LateFlows => Some(LATE_LAUNCHES),
            Self::LateSamples => Some(LATE_SAMPLES),
            Self::BusyGuest => Some(GUEST_CPU),
            Self::LateWakeups => Some(LATE_WAKEUPS),
            Self::ClockJump => Some(CLOCK_JUMP),
            Self::BusyCpus => Some(BUSY_SECOND),
            Self::StolenCpus => Some(STEAL),
            Self::Softirqs => Some(SOFTIRQ),
            Self::WaitingTasks => Some(WAITING),
            Self::DroppedOutside | Self::DroppedUnasked => Some(DROPPED_OUTSIDE),
        }
    }
}

/// Returns part ÷ whole; 1 if `whole` is 0 and `part` is not.
pub(super) fn share(part: f64, whole: u64) -> f64 {
    match whole {
        _ if part <= 0.0 => 0.0,
        0 => 1.0,
        _ => part / float(whole),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "figures need fewer digits than a float has"
)]
pub(super) const fn float(count: u64) -> f64 {
    count as f64
}

/// Converts `figure` to a count, rounded down; 0 if it is negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
pub(super) const fn whole(figure: f64) -> u64 {
    figure as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_delays_have_half_a_percent_and_short_ones_the_floor() {
        let bounds = LinkBounds::of(Location::Guest, Clock::Virtual);
        assert_eq!(
            bounds.delay(Nanos::from_millis(25)),
            Nanos::new(125_000),
            "half a percent"
        );
        assert_eq!(bounds.delay(Nanos::new(10_000)), Nanos::new(50_000));
        let vm = LinkBounds::of(Location::Guest, Clock::Real);
        assert_eq!(vm.delay(Nanos::new(10_000)), Nanos::new(250_000));
    }
}
