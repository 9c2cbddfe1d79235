//! Flow identification (section 3.1.2): the hash that spreads flows over equally good next hops.

use core::net::Ipv4Addr;

use lab_abi::rows::without_slot;

/// Fields of a flow that are hashed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FlowTuple {
    /// Source address of the flow.
    pub src: Ipv4Addr,
    /// Destination address of the flow.
    pub dst: Ipv4Addr,
    /// Source port; 0 for a protocol without ports.
    pub sport: u16,
    /// Destination port; 0 for a protocol without ports.
    pub dport: u16,
}

/// Returns MurmurHash3 (x86, 32 bits) of source, destination and `sport | dport << 16`.
///
/// The words are addresses and ports in host byte order, as in the authors' code, so a switch with the same id computes
/// the same hash here, in the switch program and in that code. Two inputs are left out: the protocol, and the slot bits
/// of lab addresses ([`without_slot`]), because the slot of a lab on its machine must not influence the choice of
/// paths. Addresses outside 10.0.0.0/8, such as the authors' 11.0.0.0/8, are hashed whole.
#[must_use]
pub fn flow_hash(flow: FlowTuple, switch_id: u32) -> u32 {
    let [src, dst] = [flow.src, flow.dst].map(|addr| without_slot(addr).to_bits());
    let ports = u32::from(flow.sport) | u32::from(flow.dport) << 16;
    murmur3([src, dst, ports], switch_id)
}

/// Returns MurmurHash3 (x86, 32 bits) of a packet's sequence number, seeded with the hash of the packet's flow. The
/// result decides whether a queue marks the packet, so that equal runs mark equal packets.
#[must_use]
pub fn packet_hash(flow_hash: u32, psn: u32) -> u32 {
    murmur3([psn], flow_hash)
}

fn murmur3<const WORDS: usize>(words: [u32; WORDS], seed: u32) -> u32 {
    let mut hash = seed;
    let mut bytes = 0;
    for word in words {
        let mixed = word
            .wrapping_mul(0xcc9e_2d51)
            .rotate_left(15)
            .wrapping_mul(0x1b87_3593);
        hash = (hash ^ mixed)
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64);
        bytes += 4;
    }
    hash ^= bytes;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_text(text: &[u8; 12], seed: u32) -> u32 {
        let word = |at| u32::from_le_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]]);
        murmur3([word(0), word(4), word(8)], seed)
    }

    #[test]
    fn the_hash_is_murmur3() {
        // Expected value: MurmurHash3_x86_32 of these twelve bytes.
        assert_eq!(of_text(b"hello, world", 0), 0x149b_bb7f);
        assert_eq!(of_text(b"\0\0\0\0\0\0\0\0\0\0\0\0", 0), 0xd941_144b);
        // Expected value: MurmurHash3_x86_32 of these four bytes.
        assert_eq!(packet_hash(0, u32::from_le_bytes(*b"test")), 0xba6b_d213);
    }

    /// The expected hashes are MurmurHash3 of the complete addresses in lab slot 0.
    #[test]
    fn the_hash_is_the_same_in_all_slots() {
        for ([src, dst], sport, switch_id, expected) in [
            ([[16, 1], [128, 1]], 49_153, 8, 0x5e1c_f271),
            ([[255, 255], [16, 1]], 49_152, 176, 0x57b9_af16),
        ] {
            for slot in 0..16 {
                let in_slot =
                    |[third, fourth]: [u8; 2]| Ipv4Addr::new(10, slot << 4, third, fourth);
                let flow = FlowTuple {
                    src: in_slot(src),
                    dst: in_slot(dst),
                    sport,
                    dport: 4791,
                };
                assert_eq!(flow_hash(flow, switch_id), expected, "slot {slot}");
            }
        }
    }

    /// The expected numbers are MurmurHash3 of the complete addresses; the first is an address from the authors'
    /// code.
    #[test]
    fn addresses_outside_labs_are_hashed_whole() {
        for (src, expected) in [
            ([11, 0, 1, 1], 0x6d16_3d4a),
            ([11, 16, 1, 1], 0xee20_2c6f),
            ([172, 16, 0, 1], 0xf8da_142d),
            ([172, 0, 0, 1], 0xb121_c571),
            ([9, 16, 0, 1], 0xa1a2_7ed6),
        ] {
            let flow = FlowTuple {
                src: src.into(),
                dst: Ipv4Addr::new(11, 0, 120, 1),
                sport: 10_000,
                dport: 100,
            };
            assert_eq!(flow_hash(flow, 7), expected, "{src:?}");
        }
    }

    #[test]
    fn the_hash_depends_on_every_field_and_on_the_switch() {
        let flow = FlowTuple {
            src: Ipv4Addr::new(10, 1, 0, 1),
            dst: Ipv4Addr::new(10, 8, 0, 1),
            sport: 49_152,
            dport: 4791,
        };
        let hash = flow_hash(flow, 176);
        let swapped = FlowTuple {
            sport: flow.dport,
            dport: flow.sport,
            ..flow
        };
        let reversed = FlowTuple {
            src: flow.dst,
            dst: flow.src,
            ..flow
        };
        for (flow, switch) in [(swapped, 176), (reversed, 176), (flow, 177)] {
            assert_ne!(hash, flow_hash(flow, switch));
        }
    }
}
