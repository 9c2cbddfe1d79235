//! RoCEv2 packet sizes on the wire, and netem's packet limits.
//!
//! A packet's wire bytes are those that a qdisc counts: from the Ethernet header to the invariant CRC, without
//! preamble, frame check sequence and inter-frame gap.

use lab_units::{BitsPerSec, Bytes, Nanos};

/// Bytes of the headers and CRC of every packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, invariant CRC 4.
pub const HEADERS: u64 = 58;

/// Bytes of the RDMA extended transport header, in the first packet of a WRITE and in a READ request.
pub const RETH: u64 = 16;

/// Bytes of the ACK extended transport header, in an ACK and in the first and last packet of a READ response.
pub const AETH: u64 = 4;

/// Bytes of immediate data, in the last packet of a message sent with immediate data.
pub const IMMDT: u64 = 4;

/// Wire bytes of an ACK, the smallest frame in the lab.
pub const ACK: u64 = HEADERS + AETH;

/// Wire bytes of a READ request.
pub const READ_REQUEST: u64 = HEADERS + RETH;

/// Maximum number of packets that rxe sends before it requests an ACK (`RXE_MAX_PKT_PER_ACK`):
/// <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_param.h>.
pub const PACKETS_PER_ACK: u64 = 64;

/// Limit of rxe on unacknowledged packets of a QP (`RXE_MAX_UNACKED_PSNS`). A QP stops only above the limit, so one
/// more packet can be in flight: <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_param.h>.
pub const RXE_WINDOW_PACKETS: u64 = 128;

/// Maximum number of packets per QP that rxe keeps in the kernel's queues at once, `RXE_INFLIGHT_SKBS_PER_QP_HIGH` plus
/// one: <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_param.h>.
pub const RXE_PARKED_PACKETS: u64 = 65;

/// Returns rxe's window per QP in payload bytes, with `payload` bytes in every packet.
#[must_use]
pub fn rxe_window(payload: u32) -> Bytes {
    Bytes::new(RXE_WINDOW_PACKETS * u64::from(payload))
}

/// Returns the minimum number of round trips that a flow with `packets` packets needs under rxe's window.
#[must_use]
pub const fn rxe_round_trips(packets: u64) -> u64 {
    packets.div_ceil(RXE_WINDOW_PACKETS)
}

/// Bytes of an interface's MTU that rxe reserves for headers (`RXE_MAX_HDR_LENGTH`); the path MTU is at most the
/// remainder: <https://github.com/torvalds/linux/blob/v6.1/drivers/infiniband/sw/rxe/rxe_hdr.h>.
pub const RXE_HEADER_ROOM: u32 = 80;

/// Returns the number of packets in a message with `bytes` bytes; an empty message takes one packet.
#[must_use]
pub fn packets(bytes: Bytes, path_mtu: u32) -> u64 {
    bytes.get().div_ceil(u64::from(path_mtu)).max(1)
}

/// Returns the bytes of HPCC telemetry in a packet with room for `hops` switches: a 2-byte header (hop count, path) and
/// 8 bytes per switch (Li et al., SIGCOMM '19, figure 7; `IntHeader` in its NS-3 code).
#[must_use]
pub const fn telemetry(hops: u32) -> u32 {
    2 + 8 * hops
}

/// Returns the wire bytes of a data packet: headers, `extended` bytes for extended headers, and `payload` padded to a
/// multiple of four bytes.
#[must_use]
pub fn data(payload: u64, extended: u64) -> u64 {
    HEADERS + extended + payload.next_multiple_of(4)
}

/// Returns the packet limit with which a netem delay line never drops: room for the bytes in flight and for `buffer`,
/// because the queue before netem may empty in one burst. Both are counted in ACKs, the smallest frames.
#[must_use]
pub fn delay_line_packets(rate: BitsPerSec, delay: Nanos, buffer: Bytes) -> u32 {
    netem_packets(rate, delay, buffer, ACK).max(MIN_DELAY_LINE)
}

/// Returns the packet limit of a netem qdisc that is both queue and delay line of a link, as inside a DC. The queue
/// overflows once `frame`-byte frames fill `buffer`; netem counts packets, not bytes.
#[must_use]
pub fn queue_packets(rate: BitsPerSec, delay: Nanos, buffer: Bytes, frame: Bytes) -> u32 {
    netem_packets(rate, delay, buffer, frame.get())
}

/// Returns a netem limit in packets. Bytes in flight are counted in ACKs, so that the delay line never drops; bytes of
/// the queue are counted in frames of `frame` bytes.
fn netem_packets(rate: BitsPerSec, delay: Nanos, buffer: Bytes, frame: u64) -> u32 {
    let in_flight = rate.bytes_in(delay).get().div_ceil(ACK);
    let queued = buffer.get().div_ceil(frame).max(1);
    let needed = in_flight.saturating_add(queued);
    u32::try_from(needed).unwrap_or(u32::MAX)
}

/// Minimum packet limit of a delay line; with the kernel's default, 1,000, netem silently drops packets on long links.
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
        // 100 Mbit/s · 2.5 s = 31,250,000 B, which is 504,033 ACKs. 620 kB is another 10,000 ACKs, or 155 frames of
        // 4,000 B.
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
