//! Bounds of trust, each with its reason: for a lab's links before its flows, and for a run's figures.

use lab_units::{BitsPerSec, Clock, Nanos};
use serde::{Deserialize, Serialize};

use super::{code::ReasonCode, grade::Grade};
use crate::Location;

/// Place of a lab, as far as the exactness of its clock goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// This machine's kernel.
    Native,
    /// A guest on the real clock.
    Vm,
    /// A guest whose clock counts instructions.
    GuestVirtual,
}

/// Bounds of a link's measurement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LinkBounds {
    /// Place that the bounds are for.
    pub place: Place,
    /// Largest error of a one-way delay shorter than 10 ms.
    delay_floor: Nanos,
    /// Largest difference between two delays of one direction.
    spread: Nanos,
}

impl Place {
    /// Returns the place of a run by its location and clock.
    #[must_use]
    pub const fn of(location: Location, clock: Clock) -> Self {
        match (location, clock) {
            (_, Clock::Virtual) => Self::GuestVirtual,
            (Location::Here, Clock::Real) => Self::Native,
            (Location::Guest, Clock::Real) => Self::Vm,
        }
    }

    /// Returns the bounds for a lab's links at this place.
    ///
    /// On the virtual clock a probe waits for nothing but the instructions of another packet, 15 µs each.
    /// On real clocks the least of the probes' delays must still be exact, but the others may have waited
    /// for a CPU, in a guest also for the host's.
    #[must_use]
    pub const fn link_bounds(self) -> LinkBounds {
        let (delay_floor, spread) = match self {
            Self::GuestVirtual => (Nanos::new(50_000), Nanos::new(100_000)),
            Self::Native => (Nanos::new(50_000), Nanos::new(1_000_000)),
            Self::Vm => (Nanos::new(250_000), Nanos::new(5_000_000)),
        };
        LinkBounds {
            place: self,
            delay_floor,
            spread,
        }
    }

    /// Returns the name of the place.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Vm => "guest, real clock",
            Self::GuestVirtual => "guest, virtual clock",
        }
    }
}

impl LinkBounds {
    /// Returns the largest error of a one-way delay: 0.5 %, at least the place's floor. LCMP's delay score
    /// has 256 steps, so half a percent moves it by about one.
    #[must_use]
    pub fn delay(&self, asked: Nanos) -> Nanos {
        Nanos::new(asked.get() / 200).max(self.delay_floor)
    }

    /// Returns the largest difference between two delays of one direction.
    #[must_use]
    pub const fn spread(&self) -> Nanos {
        self.spread
    }

    /// Returns the largest error of a rate: 1 %, which is the smallest change of a slowdown that a report
    /// calls a difference.
    #[must_use]
    pub fn rate(&self, asked: BitsPerSec) -> BitsPerSec {
        BitsPerSec::new(asked.get() / 100).unwrap_or(asked)
    }

    /// Largest error of a queue's limit, in frames: the frame that may be leaving while the next one comes.
    pub const QUEUE_PACKETS: u64 = 1;

    /// Most frames on a link that the measurement did not send. No program of a lab sends any before the
    /// flows; a daemon of the machine may announce itself on a host's interface.
    pub const FOREIGN_PACKETS: u64 = 8;
}

/// Bound on a run's figure. Above `doubtful` the run is doubtful, above `invalid` it is invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Largest value of a valid run.
    pub doubtful: f64,
    /// Largest value of a doubtful run.
    pub invalid: f64,
}

/// Share of flows launched late. A start is late by a hundredth of its round trip; one such flow shifts its
/// own FCT alone, a tenth of them shifts every percentile.
pub const LATE_LAUNCHES: Bound = Bound::new(0.0, 0.1);

/// Share of queue samples that began after the next one was due. LCMP decides by the latest sample: each
/// hundredth of late ones is a hundredth of decisions by an older one; half of them is no sampling.
pub const LATE_SAMPLES: Bound = Bound::new(0.01, 0.5);

/// Share of the CPU in use while flows ran, on the virtual clock. Above it packets wait for instructions of
/// others; with all of it used, the lab was slower than its own clock.
pub const GUEST_CPU: Bound = Bound::new(0.9, 0.98);

/// Share of the CPUs in use in the busiest second, on real clocks. Softirqs forward packets as long as one
/// CPU has time for them.
pub const BUSY_SECOND: Bound = Bound::new(0.9, 0.995);

/// Share of the busiest second that the hypervisor gave to others. A stolen slice is milliseconds long,
/// which is more than a sample interval.
pub const STEAL: Bound = Bound::new(0.02, 0.2);

/// Share of one CPU in softirqs in its busiest second: above it, packets are handed to `ksoftirqd`, which
/// waits for the CPU like any process.
pub const SOFTIRQ: Bound = Bound::new(0.8, 0.98);

/// Tasks that waited for a CPU while flows ran, per CPU, on average: each waits for the others' time slices.
pub const WAITING: Bound = Bound::new(0.25, 2.0);

/// Share of the watchdog's wake-ups that were late by more than [`WATCHDOG_LATE`]. The watchdog asks for
/// a known delay all through the run; links ask for theirs by the same timers.
pub const LATE_WAKEUPS: Bound = Bound::new(0.01, 0.2);

/// Lateness of a wake-up above which it counts as late: the tbf's bucket loses tokens from 30 ms on, and
/// a frame at 100 Mbit/s takes a third of a millisecond.
pub const WATCHDOG_LATE: Nanos = Nanos::new(2_000_000);

/// Jumps of the wall clock against the monotonic one, nanoseconds: starts and rows use both.
pub const CLOCK_JUMP: Bound = Bound::new(1e6, 1e9);

/// Share of packets dropped outside the emulated queues (CPU backlogs, veth, receive), and share dropped by links
/// without `loss`. One lost packet makes SoftRoCE go back N.
pub const DROPPED_OUTSIDE: Bound = Bound::new(0.0, 1e-3);

/// Bound of a count that should be 0: any larger count makes a run doubtful, and no count makes it invalid.
pub const ANY: Bound = Bound::new(0.0, f64::INFINITY);

/// Share of finished flows with a slowdown under 1: none can have one, so a single one shows that the ideal FCT or the
/// measurement is wrong.
pub const IMPOSSIBLE_SLOWDOWNS: Bound = Bound::new(0.0, 0.0);

/// Times above its bound from which a link that is out of it makes the run invalid: the network is another
/// than the scenario's.
pub const LINK_FACTOR: u64 = 10;

impl Bound {
    const fn new(doubtful: f64, invalid: f64) -> Self {
        Self { doubtful, invalid }
    }

    /// Returns the grade of a run by the figure `value`.
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
    /// Returns the bound of the figure; `None` for a fact, and for a figure whose grade other facts decide.
    #[must_use]
    pub const fn bound(self) -> Option<Bound> {
        match self {
            Self::DidNotEnd
            | Self::UnrecordedFlows
            | Self::EngineProblem
            | Self::UncertifiedLinks
            | Self::AlteredLab => None,
            // A policy may lose flows: the loss is its result, but other policies are no longer comparable with it.
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

/// Returns `part` ÷ `whole`; 1 if `whole` is 0 and `part` is not.
pub(super) fn share(part: f64, whole: u64) -> f64 {
    match whole {
        _ if part <= 0.0 => 0.0,
        0 => 1.0,
        _ => part / float(whole),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a figure needs no more digits than a float has"
)]
pub(super) const fn float(count: u64) -> f64 {
    count as f64
}

/// Returns `figure` as a count, rounded down; 0 if it is negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast saturates"
)]
pub(super) const fn whole(figure: f64) -> u64 {
    figure as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_delays_have_half_a_percent_and_short_ones_the_floor_of_their_place() {
        let bounds = Place::GuestVirtual.link_bounds();
        assert_eq!(
            bounds.delay(Nanos::from_millis(25)),
            Nanos::new(125_000),
            "half a percent"
        );
        assert_eq!(bounds.delay(Nanos::new(10_000)), Nanos::new(50_000));
        let vm = Place::of(Location::Guest, Clock::Real).link_bounds();
        assert_eq!(vm.delay(Nanos::new(10_000)), Nanos::new(250_000));
    }
}
