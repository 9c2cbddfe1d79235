//! Instants on the kernel's monotonic clock.

use lab_units::Nanos;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Instant on `CLOCK_MONOTONIC`, in nanoseconds since boot. All processes and network namespaces on the machine share
/// this clock, and the switch agents' records use it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct MonotonicTime(u64);

impl MonotonicTime {
    /// Returns the instant `nanos` nanoseconds after boot.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the current instant.
    ///
    /// # Panics
    /// Never on Linux, whose monotonic clock can always be read and starts at zero.
    #[must_use]
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("the monotonic clock exists");
        let seconds = u64::try_from(time.tv_sec()).expect("it starts at boot");
        let nanos = u64::try_from(time.tv_nsec()).expect("a part of a second");
        Self(seconds * 1_000_000_000 + nanos)
    }

    /// Returns the nanoseconds since boot.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the instant that is `time` later, or the last instant if the sum overflows.
    #[must_use]
    pub const fn after(self, time: Nanos) -> Self {
        Self(self.0.saturating_add(time.get()))
    }

    /// Returns the earliest instant, not before `self`, that is a whole multiple of `time` since boot.
    ///
    /// If the flows of two runs start at whole seconds, the kernel's periodic work (ticks, deferred work rounded to
    /// seconds) falls at the same points of both runs.
    #[must_use]
    pub const fn round_up_to(self, time: Nanos) -> Self {
        match time.get() {
            0 => self,
            nanos => match self.0.checked_next_multiple_of(nanos) {
                Some(instant) => Self(instant),
                None => self,
            },
        }
    }

    /// Returns the time since `earlier`; zero if `earlier` is not in the past.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos::new(self.0.saturating_sub(earlier.0))
    }
}
