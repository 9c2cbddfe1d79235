//! Conversions to the kernel's units: bytes per second, fractions of 2^32, microseconds, and ticks of 64 ns
//! (`PSCHED_SHIFT`).
//!
//! <https://github.com/torvalds/linux/blob/v6.1/include/net/pkt_sched.h>

use std::fmt;

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

/// Converts a rate to bytes per second, rounded down, but never to zero, which would mean an unlimited rate.
pub(super) fn bytes_per_sec(rate: BitsPerSec) -> u64 {
    (rate.get() / 8).max(1)
}

/// Converts a probability `p` to `p · (2^32 - 1)`, rounded to nearest: all bits set means 1.
pub(super) fn of_all_ones(probability: Ratio) -> u32 {
    u32::try_from(probability.scale_nearest(u64::from(u32::MAX))).unwrap_or(u32::MAX)
}

/// Converts a rate to the old 32-bit attribute, capped at its largest value. If the 64-bit attribute is also present,
/// the kernel uses that one.
pub(super) fn narrow(bytes_per_sec: u64) -> u32 {
    u32::try_from(bytes_per_sec).unwrap_or(u32::MAX)
}

/// Converts a number of bytes to 32 bits, capped at the largest value.
pub(super) fn clamp(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

/// Converts a time to microseconds in 32 bits, rounded down and capped at the largest value.
pub(super) fn micros(time: Nanos) -> u32 {
    u32::try_from(time.get() / 1_000).unwrap_or(u32::MAX)
}

/// Converts a time to signed nanoseconds, capped at the largest value.
pub(super) fn signed(time: Nanos) -> i64 {
    i64::try_from(time.get()).unwrap_or(i64::MAX)
}

/// Returns the time in which a token bucket fills, in ticks, computed in the same way as in `psched_l2t_ns`.
///
/// <https://github.com/torvalds/linux/blob/v6.1/net/sched/sch_generic.c>, `psched_ratecfg_precompute`.
pub(super) fn ticks(bytes_per_sec: u64, burst: Bytes) -> u32 {
    let mut factor = 1_000_000_000u64;
    let mut shift = 0;
    let multiplier = loop {
        let multiplier = factor / bytes_per_sec;
        if multiplier & (1 << 31) != 0 || factor & (1 << 63) != 0 {
            break multiplier;
        }
        factor <<= 1;
        shift += 1;
    };
    let multiplier = u128::from(multiplier & u64::from(u32::MAX));
    let nanos = (u128::from(burst.get()) * multiplier) >> shift;
    u32::try_from(nanos >> 6).unwrap_or(u32::MAX)
}

/// Displays a ratio, multiplied by a factor, with six decimal places, rounded to nearest; the factor 100 gives percent.
pub(super) struct Decimal(pub Ratio, pub u64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millionths = self.0.scale_nearest(1_000_000 * self.1);
        let whole = millionths / 1_000_000;
        let part = millionths % 1_000_000;
        write!(f, "{whole}.{part:06}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_ticks_are_the_kernels() {
        // `tc -s qdisc` shows a burst of 4190 B at 100 Mbit/s as buffer 5237 ticks: 335.2 µs / 64 ns.
        assert_eq!(ticks(12_500_000, Bytes::new(4190)), 5237);
    }

    #[test]
    fn probabilities_fill_the_range() {
        assert_eq!(of_all_ones(Ratio::ONE), u32::MAX);
        assert_eq!(of_all_ones(Ratio::new(1, 2).unwrap()), 1 << 31);
        assert_eq!(of_all_ones(Ratio::new(0, 1).unwrap()), 0);
    }
}
