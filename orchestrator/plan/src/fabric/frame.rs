//! RoCEv2 packet sizes on the wire, and netem's packet limits.
//!
//! Wire bytes are those a qdisc counts: from the Ethernet header to the invariant CRC, without
//! preamble, frame check sequence and gap.

use lab_units::{BitsPerSec, Bytes, Nanos};

/// Ethernet 14, IPv4 20, UDP 8, BTH 12, invariant CRC 4.
pub const HEADERS: u64 = 58;

/// RDMA extended transport header: on a WRITE's first packet and on a READ request.
pub const RETH: u64 = 16;

/// ACK extended transport header: on an ACK and on the first and last packet of a READ response.
pub const AETH: u64 = 4;

/// Immediate data: on the last packet of a message that has them.
pub const IMMDT: u64 = 4;

/// Wire bytes of an ACK, the smallest frame in the lab.
pub const ACK: u64 = HEADERS + AETH;

/// Wire bytes of a READ request.
pub const READ_REQUEST: u64 = HEADERS + RETH;

/// Packets without an ACK request that rxe sends at most (`RXE_MAX_PKT_PER_ACK`):
/// <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_param.h>.
pub const PACKETS_PER_ACK: u64 = 64;

/// Unacknowledged packets rxe allows a QP (`RXE_MAX_UNACKED_PSNS`):
/// <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_param.h>.
pub const RXE_WINDOW_PACKETS: u64 = 128;

/// Packets of a QP that rxe leaves to the kernel at once, `RXE_INFLIGHT_SKBS_PER_QP_HIGH` and one more:
/// <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_param.h>.
pub const RXE_PARKED_PACKETS: u64 = 65;

/// Payload bytes that rxe allows a QP unacknowledged, in full packets of `payload`.
#[must_use]
pub fn rxe_window(payload: u32) -> Bytes {
    Bytes::new(RXE_WINDOW_PACKETS * u64::from(payload))
}

/// Minimum round trips that a flow with `packets` needs under rxe's window.
#[must_use]
pub const fn rxe_round_trips(packets: u64) -> u64 {
    packets.div_ceil(RXE_WINDOW_PACKETS)
}

/// Bytes that rxe keeps of an interface's MTU for headers (`RXE_MAX_HDR_LENGTH`); the rest is the
/// path MTU:
/// <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_hdr.h>.
pub const RXE_HEADER_ROOM: u32 = 80;

/// Number of packets in a message with `bytes`; an empty message is one packet.
#[must_use]
pub fn packets(bytes: Bytes, path_mtu: u32) -> u64 {
    bytes.get().div_ceil(u64::from(path_mtu)).max(1)
}

/// Bytes of HPCC telemetry in a packet with room for `hops` switches: a 2-byte header (hop count, path) and 8 bytes a
/// switch (Li et al., SIGCOMM '19, figure 7; `IntHeader` in its NS-3 code).
#[must_use]
pub const fn telemetry(hops: u32) -> u32 {
    2 + 8 * hops
}

/// Wire bytes of a data packet with `payload`, which is padded to four bytes, and `extended` bytes of
/// extended headers.
#[must_use]
pub fn data(payload: u64, extended: u64) -> u64 {
    HEADERS + extended + payload.next_multiple_of(4)
}

/// Returns the packets that netem must hold to delay a link without dropping: bytes in flight and, if
/// the queue before it empties in one burst, its `buffer`, both in ACKs, the smallest frame.
#[must_use]
pub fn delay_line_packets(rate: BitsPerSec, delay: Nanos, buffer: Bytes) -> u32 {
    netem_packets(rate, delay, buffer, ACK).max(MIN_DELAY_LINE)
}

/// Returns the packet limit for a netem that is a link's queue and delay line in one, as inside a
/// DC, and drops when its `buffer` is full of `frame`-byte frames: netem counts packets, not bytes.
#[must_use]
pub fn queue_packets(rate: BitsPerSec, delay: Nanos, buffer: Bytes, frame: Bytes) -> u32 {
    netem_packets(rate, delay, buffer, frame.get())
}

/// Bytes in flight count in ACKs, so that no delay line drops; bytes queued in `frame` bytes.
fn netem_packets(rate: BitsPerSec, delay: Nanos, buffer: Bytes, frame: u64) -> u32 {
    let in_flight = rate.bytes_in(delay).get().div_ceil(ACK);
    let queued = buffer.get().div_ceil(frame).max(1);
    let needed = in_flight.saturating_add(queued);
    u32::try_from(needed).unwrap_or(u32::MAX)
}

/// Smallest delay line; the kernel's default of 1,000 drops silently on long links.
const MIN_DELAY_LINE: u32 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netem_holds_the_bandwidth_delay_product_in_acks() {
        let link = |rate: &str, delay: &str, buffer: &str| {
            let rate = rate.parse();
            let delay = delay.parse();
            let buffer = buffer.parse();
            (rate.unwrap(), delay.unwrap(), buffer.unwrap())
        };
        // 100 Mbit/s for 2.5 s are 31,250,000 B or 504,033 ACKs; 620 kB are 10,000 ACKs more, or 155
        // frames of 4,000 B.
        let (rate, delay, buffer) = link("100 Mbit", "2500 ms", "620 kB");
        let frame = Bytes::new(4_000);
        assert_eq!(delay_line_packets(rate, delay, buffer), 504_033 + 10_000);
        assert_eq!(queue_packets(rate, delay, buffer, frame), 504_033 + 155);
        let (rate, delay, buffer) = link("1 Mbit", "0", "0");
        assert_eq!(delay_line_packets(rate, delay, buffer), MIN_DELAY_LINE);
        assert_eq!(queue_packets(rate, delay, buffer, frame), 1);
    }

    #[test]
    fn a_windows_last_packet_begins_no_other_round_trip() {
        assert_eq!(rxe_window(4096), Bytes::new(524_288));
        assert_eq!(rxe_round_trips(128), 1);
        assert_eq!(rxe_round_trips(129), 2);
    }

    #[test]
    fn an_empty_message_is_one_packet() {
        assert_eq!(packets(Bytes::ZERO, 4096), 1);
        assert_eq!(packets(Bytes::new(4096), 4096), 1);
        assert_eq!(packets(Bytes::new(4097), 4096), 2);
    }
}
