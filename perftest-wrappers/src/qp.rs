//! What a queue pair of SoftRoCE can do: its window, its timer, its packets.

use lab_units::{Bytes, Nanos};

use crate::tool::Tool;

/// The smallest QP time-out that does not fire while a packet and its acknowledgement are still
/// on their way, as the exponent perftest's `-u` takes.
///
/// The timer lasts 4.096 µs · 2^n (InfiniBand 9.7.6.1.3). It must outlast `rtt_plus_queue`, and
/// rxe restarts it only when an acknowledgement arrives, so it is given twice that: n is the least
/// for which 4.096 µs · 2^n > 2 · `rtt_plus_queue`. Measured at a round trip of 200 ms: 18 is clean,
/// 14 (perftest's default, 67 ms) sends every packet several times, 12 ends in an error.
///
/// perftest asks for 7 retries, which rxe takes for endless: a time-out that is too short costs
/// bandwidth, not the flow.
///
/// Never less than 14, and 31 (2.4 hours) when nothing is long enough.
#[must_use]
pub const fn required_qp_timeout(rtt_plus_queue: Nanos) -> u8 {
    let needed = rtt_plus_queue.get().saturating_mul(2);
    let mut exponent = MIN_QP_TIMEOUT;
    while exponent < MAX_QP_TIMEOUT && (QP_TIMEOUT_UNIT_NANOS << exponent) <= needed {
        exponent += 1;
    }
    exponent
}

/// The number of data packets that one message of `message` becomes.
#[must_use]
pub fn packets(message: Bytes, path_mtu: u32) -> u64 {
    message.get().div_ceil(u64::from(path_mtu)).max(1)
}

/// The bytes of one message's data packets as a qdisc counts them: payload padded to four bytes,
/// and every header from Ethernet's to the ICRC.
#[must_use]
pub fn wire_bytes(message: Bytes, path_mtu: u32, tool: Tool) -> Bytes {
    let packets = packets(message, path_mtu);
    let extended = match tool {
        Tool::SendBw => 0,
        // The first packet says where to write.
        Tool::WriteBw => RETH,
        // The first and the last packet of a read's response acknowledge.
        Tool::ReadBw if packets == 1 => AETH,
        Tool::ReadBw => 2 * AETH,
    };
    Bytes::new(message.get().next_multiple_of(4) + packets * PACKET_OVERHEAD.get() + extended)
}

/// Packets an rxe QP keeps unacknowledged, whatever its path: a flow of more is limited to
/// `128 · MTU` per round trip. There is no module parameter.
/// `RXE_MAX_UNACKED_PSNS`, <https://elixir.bootlin.com/linux/v6.1/source/drivers/infiniband/sw/rxe/rxe_param.h>
pub const RXE_WINDOW_PACKETS: u64 = 128;

/// What every packet of a reliable connection has around its payload on a veth: 14 Ethernet,
/// 20 IPv4, 8 UDP, 12 BTH, 4 ICRC.
pub const PACKET_OVERHEAD: Bytes = Bytes::new(58);

/// The largest exponent of a QP's time-out: it has five bits.
pub const MAX_QP_TIMEOUT: u8 = 31;

/// perftest's own default, 67 ms: a retransmission timer in the range of a scheduler's hiccup
/// would fire for nothing.
pub const MIN_QP_TIMEOUT: u8 = 14;

const QP_TIMEOUT_UNIT_NANOS: u64 = 4_096;
const RETH: u64 = 16;
const AETH: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_outlasts_twice_the_round_trip() {
        assert_eq!(required_qp_timeout(Nanos::ZERO), 14);
        assert_eq!(required_qp_timeout(Nanos::from_millis(33)), 14);
        // 4.096 us * 2^14 is 67.1 ms, which is not more than 2 * 34 ms.
        assert_eq!(required_qp_timeout(Nanos::from_millis(34)), 15);
        assert_eq!(required_qp_timeout(Nanos::from_millis(200)), 17);
        assert_eq!(required_qp_timeout(Nanos::from_millis(5_000)), 22);
    }

    #[test]
    fn a_timer_that_just_equals_the_need_is_too_short() {
        let exact = Nanos::new((QP_TIMEOUT_UNIT_NANOS << 20) / 2);
        assert_eq!(required_qp_timeout(exact), 21);
    }

    #[test]
    fn no_round_trip_is_too_long_for_an_answer() {
        assert_eq!(required_qp_timeout(Nanos::new(u64::MAX)), MAX_QP_TIMEOUT);
    }

    #[test]
    fn a_message_on_the_wire_is_its_payload_and_its_headers() {
        let message = Bytes::new(20_000);
        assert_eq!(packets(message, 4096), 5);
        assert_eq!(wire_bytes(message, 4096, Tool::SendBw), Bytes::new(20_290));
        assert_eq!(wire_bytes(message, 4096, Tool::WriteBw), Bytes::new(20_306));
        assert_eq!(wire_bytes(message, 4096, Tool::ReadBw), Bytes::new(20_298));
    }

    #[test]
    fn payload_is_padded_to_four_bytes() {
        assert_eq!(
            wire_bytes(Bytes::new(1), 4096, Tool::SendBw),
            Bytes::new(62)
        );
        assert_eq!(
            wire_bytes(Bytes::new(1), 4096, Tool::ReadBw),
            Bytes::new(66)
        );
    }
}
