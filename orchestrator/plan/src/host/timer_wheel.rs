//! Kernel timers as SoftRoCE uses them: whole jiffies, rounded up to the granularity of a timer-wheel level.
//!
//! Source: <https://github.com/torvalds/linux/blob/v6.1/kernel/time/timer.c>.

use lab_units::Nanos;

/// Duration of a kernel timer that SoftRoCE restarts at each acknowledgement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WheelTimer {
    jiffies: u64,
    granularity: u64,
}

impl WheelTimer {
    /// Creates a timer with `duration`, rounded up to whole jiffies, at least one.
    #[must_use]
    pub fn new(duration: Nanos) -> Self {
        let jiffies = (duration.get() / JIFFY.get()).max(1);
        let level = (0..LEVELS).find(|&level| jiffies < SLOTS << (level * SHIFT));
        Self {
            jiffies,
            granularity: 1 << (level.unwrap_or(LEVELS) * SHIFT),
        }
    }

    /// Returns the granularity in jiffies: a timer of this duration expires at a multiple of it.
    #[must_use]
    pub const fn granularity(self) -> u64 {
        self.granularity
    }

    /// Returns the expiry time of a timer that is set at `now`. Both times are relative to an instant at which the
    /// jiffies were a multiple of the granularity.
    ///
    /// The timer expires at the next multiple of the granularity after its duration, even if the duration ends exactly
    /// at a multiple, so it is up to one granularity late.
    #[must_use]
    pub const fn expiry(self, now: Nanos) -> Nanos {
        let expires = now.get() / JIFFY.get() + self.jiffies;
        let slot = expires / self.granularity + 1;
        Nanos::new((slot * self.granularity).saturating_mul(JIFFY.get()))
    }
}

/// Length of a jiffy at Debian's `CONFIG_HZ` of 250.
pub const JIFFY: Nanos = Nanos::from_millis(4);

/// Number of granules that one level of the wheel spans: `LVL_SIZE - 1`.
const SLOTS: u64 = 63;

/// Binary logarithm of the ratio between the granularities of successive levels: `LVL_CLK_SHIFT`.
const SHIFT: u32 = 3;

/// Number of levels below the last one: `LVL_DEPTH - 1`.
const LEVELS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn jiffies(count: u64) -> Nanos {
        Nanos::new(count * JIFFY.get())
    }

    #[test]
    fn levels_begin_where_the_kernels_do() {
        let granularity = |count| WheelTimer::new(jiffies(count)).granularity();
        for (count, expected) in [
            (62, 1),
            (63, 8),
            (503, 8),
            (504, 64),
            (4_031, 64),
            (4_032, 512),
            (32_256, 4_096),
            (u64::MAX / JIFFY.get() / 2, 1 << 24),
        ] {
            assert_eq!(granularity(count), expected, "{count}");
        }
    }

    #[test]
    fn a_timer_expires_at_the_next_multiple_of_its_granularity() {
        let fine = WheelTimer::new(Nanos::new(1));
        assert_eq!(fine.expiry(Nanos::ZERO), jiffies(2), "a jiffy at least");
        assert_eq!(fine.expiry(Nanos::new(JIFFY.get() - 1)), jiffies(2));
        assert_eq!(fine.expiry(JIFFY), jiffies(3));
        // 4.096 µs · 2^24 is 17,179 jiffies: 33.55 granules of 512 jiffies, rounded up to 34.
        let coarse = WheelTimer::new(crate::rdma::timeout(24));
        for (now, expected) in [(0, 34), (228, 34), (229, 35), (741, 36)] {
            assert_eq!(
                coarse.expiry(jiffies(now)),
                jiffies(expected * 512),
                "{now}"
            );
        }
    }
}
