//! Ethernet frames for tests and benchmarks, and the changes that forwarding makes to them.

use std::ops::Range;

use lab_abi::rows::{FlowKey, NO_QP, PortRow, ROCE_PORT};

const ETHERNET: usize = 14;
const TOS: usize = ETHERNET + 1;
const FRAGMENT: usize = ETHERNET + 6;
const TTL: usize = ETHERNET + 8;
const CHECKSUM: Range<usize> = ETHERNET + 10..ETHERNET + 12;
const IP_HEADER: Range<usize> = ETHERNET..ETHERNET + 20;
const PORTS: usize = ETHERNET + 20;
const UDP_HEADER: usize = 8;
const QP: Range<usize> = PORTS + UDP_HEADER + 5..PORTS + UDP_HEADER + 8;
const PSN: Range<usize> = PORTS + UDP_HEADER + 9..PORTS + UDP_HEADER + 12;

pub(crate) const UDP: u8 = 17;
pub(crate) const TCP: u8 = 6;

/// Ethernet frame with an IPv4 packet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Frame {
    /// Bytes of the frame, from the Ethernet header on.
    pub bytes: Vec<u8>,
}

/// Returns a RoCEv2 frame of `flow` with `payload` bytes after its base transport header.
#[must_use]
pub fn roce_frame(flow: FlowKey, qp: u32, ttl: u8, payload: usize) -> Frame {
    let mut frame = Frame::new(flow, ttl, UDP_HEADER + 12 + payload);
    frame.bytes[QP].copy_from_slice(&qp.to_be_bytes()[1..]);
    frame
}

impl Frame {
    /// Returns a packet of `flow` with `after_ip` bytes after the IP header, the first of which are the ports if the
    /// protocol has ports.
    #[must_use]
    pub fn new(flow: FlowKey, ttl: u8, after_ip: usize) -> Self {
        let mut bytes = vec![0; PORTS + after_ip];
        bytes[..6].copy_from_slice(&[2, 0, 0, 0, 0xaa, 1]);
        bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0xaa, 2]);
        bytes[12..14].copy_from_slice(&[8, 0]);
        bytes[ETHERNET] = 0x45;
        let length = u16::try_from(20 + after_ip).unwrap_or(u16::MAX);
        bytes[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&length.to_be_bytes());
        bytes[TTL] = ttl;
        bytes[ETHERNET + 9] = flow.proto;
        bytes[ETHERNET + 12..ETHERNET + 16].copy_from_slice(&flow.src.to_ne_bytes());
        bytes[ETHERNET + 16..ETHERNET + 20].copy_from_slice(&flow.dst.to_ne_bytes());
        if after_ip >= 4 && matches!(flow.proto, UDP | TCP) {
            bytes[PORTS..PORTS + 2].copy_from_slice(&flow.sport.to_ne_bytes());
            bytes[PORTS + 2..PORTS + 4].copy_from_slice(&flow.dport.to_ne_bytes());
        }
        let mut frame = Self { bytes };
        frame.write_checksum();
        frame
    }

    /// Sets the packet sequence number of a RoCEv2 packet.
    pub(crate) fn with_psn(mut self, psn: u32) -> Self {
        let [_, low @ ..] = psn.to_be_bytes();
        self.bytes[PSN].copy_from_slice(&low);
        self
    }

    /// Sets the type of service, including the ECN bits.
    pub(crate) fn with_tos(mut self, tos: u8) -> Self {
        self.bytes[TOS] = tos;
        self.write_checksum();
        self
    }

    /// Makes the packet a fragment: `more` is true if further fragments follow, and `offset` is in units of eight
    /// bytes.
    pub(crate) fn with_fragment(mut self, more: bool, offset: u16) -> Self {
        let word = (u16::from(more) << 13) | (offset & 0x1fff);
        self.bytes[FRAGMENT..FRAGMENT + 2].copy_from_slice(&word.to_be_bytes());
        self.write_checksum();
        self
    }

    /// Replaces the Ethernet type of the frame.
    pub(crate) fn with_ethertype(mut self, ethertype: u16) -> Self {
        self.bytes[12..14].copy_from_slice(&ethertype.to_be_bytes());
        self
    }

    /// Sets an IP header length of 24 bytes, as with options.
    pub(crate) fn with_options(mut self) -> Self {
        self.bytes[ETHERNET] = 0x46;
        self.write_checksum();
        self
    }

    /// Returns the frame as it leaves through `port`.
    pub(crate) fn forwarded(&self, port: &PortRow) -> Self {
        let mut frame = self.clone();
        frame.bytes[..6].copy_from_slice(&port.dst_mac);
        frame.bytes[6..12].copy_from_slice(&port.src_mac);
        frame.bytes[TTL] -= 1;
        frame.write_checksum();
        frame
    }

    /// Returns the destination QP as the program reads it from the frame.
    pub(crate) fn qp(&self, flow: FlowKey) -> u32 {
        self.transport_field(flow, QP)
    }

    /// Returns the packet sequence number as the program reads it from the frame.
    pub(crate) fn psn(&self, flow: FlowKey) -> u32 {
        self.transport_field(flow, PSN)
    }

    fn transport_field(&self, flow: FlowKey, place: Range<usize>) -> u32 {
        let is_roce = flow.proto == UDP && flow.destination_port() == ROCE_PORT;
        match self.bytes.get(place) {
            Some(&[high, middle, low]) if is_roce => u32::from_be_bytes([0, high, middle, low]),
            _ => NO_QP,
        }
    }

    fn write_checksum(&mut self) {
        self.bytes[CHECKSUM].fill(0);
        let sum: u32 = self.bytes[IP_HEADER]
            .chunks_exact(2)
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        let checksum = !u16::try_from(folded).unwrap_or(u16::MAX);
        self.bytes[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_checksum_is_that_of_a_known_header() {
        // The common textbook example: 192.168.0.1 to 192.168.0.199, UDP, 115 bytes, TTL 64.
        let [src, dst] = [1, 199].map(|host| Ipv4Addr::new(192, 168, 0, host));
        let mut frame = Frame::new(FlowKey::new(src, dst, 0, 0, UDP), 64, 95);
        frame.bytes[FRAGMENT] = 0x40;
        frame.write_checksum();
        assert_eq!(frame.bytes[CHECKSUM], [0xb8, 0x61]);
    }

    #[test]
    fn the_qp_is_read_where_roce_has_it() {
        let flow = |dport| FlowKey::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 1, dport, UDP);
        let frame = roce_frame(flow(4791), 0x0012_3456, 64, 0);
        assert_eq!(frame.qp(flow(4791)), 0x0012_3456);
        assert_eq!(frame.qp(flow(4792)), NO_QP);
        let short = Frame::new(flow(4791), 64, UDP_HEADER + 7);
        assert_eq!(short.qp(flow(4791)), NO_QP);
    }
}
