//! In-band telemetry (INT) fields: exact, or as the artifact's packets encode them.
//!
//! The artifact's `IntHop` has 64 bits: 24 for the time in nanoseconds, 20 for the bytes sent in units of 128 B, 17 for
//! the queue in units of 80 B, and 3 for a code of the rate. Except for the rate, each field wraps around: at 16.8 ms,
//! 134 MB and 10.5 MB.

use lab_plan::Semantics;

use super::IntHop;
use crate::time::SimTime;

/// Change of a hop's telemetry between two ACKs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Passage {
    /// Time between the two ACKs' telemetry, in [`ticks`].
    pub ticks: u64,
    /// Time between the two ACKs' telemetry, in seconds.
    pub seconds: f64,
    /// Bytes that the port sent between the two ACKs' telemetry.
    pub bytes: u64,
    /// Smaller of the queue lengths in the two ACKs' telemetry, in bytes.
    pub queue_bytes: u64,
    /// Rate of the port in bit/s.
    pub rate_bps: u64,
}

impl Passage {
    /// Returns the exact change between two records of telemetry.
    pub fn between(before: &IntHop, now: &IntHop) -> Self {
        let time = now.time.saturating_sub(before.time);
        Self {
            ticks: time.picos(),
            seconds: time.as_secs_f64(),
            bytes: now.tx_bytes.saturating_sub(before.tx_bytes),
            queue_bytes: now.queue_bytes.min(before.queue_bytes),
            rate_bps: now.rate_bps,
        }
    }
}

/// Returns the change as the artifact computes it from its wrapped fields: `GetTimeDelta`, `GetBytesDelta`, `GetQlen`.
pub(super) fn artifact_passage(before: &IntHop, now: &IntHop) -> Passage {
    let times = [before, now].map(|hop| wrapped_time(hop.time));
    let bytes = [before, now].map(|hop| wrapped_bytes(hop.tx_bytes));
    let queues = [before, now].map(|hop| wrapped_queue(hop.queue_bytes));
    let nanos = wrapping_difference(times, TIME_BITS);
    Passage {
        ticks: nanos,
        seconds: super::rate::count(nanos) * 1e-9,
        bytes: wrapping_difference(bytes, BYTES_BITS) * BYTES_UNIT,
        queue_bytes: queues[0].min(queues[1]) * QUEUE_UNIT,
        rate_bps: coded_rate(now.rate_bps),
    }
}

/// Converts a duration to [`Passage::ticks`]: picoseconds, or nanoseconds in the artifact.
pub(super) const fn ticks(time: SimTime, semantics: Semantics) -> u64 {
    match semantics {
        Semantics::Paper => time.picos(),
        Semantics::Artifact => time.nanos_trunc().get(),
    }
}

/// Returns the bytes that telemetry adds to an ACK in the artifact. Without telemetry, the 12-byte header is padded to
/// 26 bytes.
pub(super) const fn artifact_ack_bytes(int_bytes: u32) -> u32 {
    (ACK_HEADER_BYTES + int_bytes).saturating_sub(ACK_PADDED_BYTES)
}

/// Returns a time as stored in the artifact's telemetry: in nanoseconds, cut to 24 bits.
const fn wrapped_time(time: SimTime) -> u64 {
    time.nanos_trunc().get() % (1 << TIME_BITS)
}

/// Returns a number of sent bytes as stored in the artifact's telemetry: in units of 128 bytes, cut to 20 bits.
const fn wrapped_bytes(bytes: u64) -> u64 {
    bytes / BYTES_UNIT % (1 << BYTES_BITS)
}

/// Returns a queue length as stored in the artifact's telemetry: cut to 32 bits, converted to units of 80 bytes, cut to
/// 17 bits.
const fn wrapped_queue(bytes: u64) -> u64 {
    bytes % (1 << 32) / QUEUE_UNIT % (1 << QUEUE_BITS)
}

/// Returns the difference between two values of a `bits`-bit field that wraps around at most once.
const fn wrapping_difference([before, now]: [u64; 2], bits: u32) -> u64 {
    if now >= before {
        now - before
    } else {
        now + (1 << bits) - before
    }
}

/// Returns `rate` as decoded from the artifact's 3-bit code; 25 Gbit/s, the first coded rate, if `rate` has no code.
fn coded_rate(rate: u64) -> u64 {
    CODED_RATES
        .iter()
        .copied()
        .find(|known| *known == rate)
        .unwrap_or(CODED_RATES[0])
}

/// Rates that have a code, in bit/s: `IntHop::lineRateValues`.
const CODED_RATES: [u64; 8] = [
    25_000_000_000,
    40_000_000_000,
    50_000_000_000,
    100_000_000_000,
    200_000_000_000,
    400_000_000_000,
    600_000_000_000,
    800_000_000_000,
];

const TIME_BITS: u32 = 24;
const BYTES_BITS: u32 = 20;
const BYTES_UNIT: u64 = 128;
const QUEUE_BITS: u32 = 17;
const QUEUE_UNIT: u64 = 80;

/// Size of `qbbHeader` without telemetry, in bytes.
const ACK_HEADER_BYTES: u32 = 12;

/// Minimum size of `qbbHeader` in bytes: the minimum frame, 60 B, minus PPP, 14 B, and IP, 20 B.
const ACK_PADDED_BYTES: u32 = 26;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_wraps_at_16_8_ms() {
        assert_eq!(wrapped_time(SimTime::from_micros(16_777)), 16_777_000);
        assert_eq!(wrapped_time(SimTime::from_micros(16_778)), 784);
    }

    #[test]
    fn bytes_sent_wrap_at_134_mb() {
        assert_eq!(wrapped_bytes(134_217_727), (1 << 20) - 1);
        assert_eq!(wrapped_bytes(134_217_728), 0);
    }

    #[test]
    fn queues_wrap_at_10_5_mb() {
        assert_eq!(wrapped_queue(10_485_759), (1 << 17) - 1);
        assert_eq!(wrapped_queue(10_485_760), 0);
    }

    #[test]
    fn a_field_that_has_wrapped_once_gives_the_difference() {
        let before = IntHop {
            time: SimTime::from_micros(16_777),
            tx_bytes: 134_217_600,
            queue_bytes: 10_485_760 + 800,
            rate_bps: 100_000_000_000,
        };
        let now = IntHop {
            time: SimTime::from_micros(16_778),
            tx_bytes: 134_217_728 + 12_800,
            queue_bytes: 1_600,
            ..before
        };
        let passage = artifact_passage(&before, &now);
        // The counter was at 134,217,600 B, the last of 2^20 units, so 101 units were sent.
        assert_eq!((passage.ticks, passage.bytes), (1_000, 101 * 128));
        assert_eq!(passage.queue_bytes, 800);
        let exact = Passage::between(&before, &now);
        assert_eq!((exact.ticks, exact.bytes), (1_000_000, 12_928));
    }

    #[test]
    fn a_rate_without_a_code_is_taken_for_25_gbit() {
        assert_eq!(coded_rate(200_000_000_000), 200_000_000_000);
        assert_eq!(coded_rate(10_000_000_000), 25_000_000_000);
    }

    #[test]
    fn an_ack_with_room_for_64_hops_has_560_bytes() {
        // The ACK has 60 B without telemetry, and telemetry takes 2 + 64 · 8 B.
        assert_eq!(60 + artifact_ack_bytes(514), 560);
        assert_eq!(artifact_ack_bytes(8), 0);
    }
}
