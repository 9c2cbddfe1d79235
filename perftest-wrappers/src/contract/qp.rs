//! Properties of a SoftRoCE queue pair: window, time-out range and packet sizes.

use lab_units::{Bytes, Tool};

/// Returns the number of data packets that carry a message.
#[must_use]
pub fn packets(message: Bytes, path_mtu: u32) -> u64 {
    message.get().div_ceil(u64::from(path_mtu)).max(1)
}

/// Returns the size of a message's data packets as a qdisc counts them: payload padded to four bytes, plus all
/// headers from Ethernet to the ICRC.
#[must_use]
pub fn wire_bytes(message: Bytes, path_mtu: u32, tool: Tool) -> Bytes {
    let packets = packets(message, path_mtu);
    let extended = match tool {
        Tool::SendBw => 0,
        // The first packet carries the remote address of the write.
        Tool::WriteBw => RETH,
        Tool::Verbs => RETH + IMMDT,
        // The first and the last packet of a READ response carry an acknowledgement.
        Tool::ReadBw if packets == 1 => AETH,
        Tool::ReadBw => 2 * AETH,
    };
    Bytes::new(message.get().next_multiple_of(4) + packets * PACKET_OVERHEAD.get() + extended)
}

/// Maximum number of unacknowledged packets of an rxe QP on any path, which limits long flows to `128 · MTU` per
/// round trip. No module parameter changes this window.
/// `RXE_MAX_UNACKED_PSNS`, <https://elixir.bootlin.com/linux/v6.1/source/drivers/infiniband/sw/rxe/rxe_param.h>
pub const RXE_WINDOW_PACKETS: u64 = 128;

/// Header bytes of each packet on a reliable connection over a veth: 14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 4 ICRC.
pub const PACKET_OVERHEAD: Bytes = Bytes::new(58);

/// Maximum exponent of a QP's time-out, a five-bit field.
pub const MAX_QP_TIMEOUT: u8 = 31;

/// Minimum exponent of a QP's time-out, which is perftest's own default (67 ms): a shorter retransmission timer would
/// expire when the scheduler is merely late.
pub const MIN_QP_TIMEOUT: u8 = 14;

const RETH: u64 = 16;
const AETH: u64 = 4;
const IMMDT: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

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
