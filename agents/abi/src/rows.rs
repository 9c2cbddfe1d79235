//! Map rows and ring buffer records, as the switch program sees them.
//!
//! Times are `CLOCK_MONOTONIC` nanoseconds, the clock of `bpf_ktime_get_ns`. Addresses and ports
//! are in network byte order wherever they come out of a packet.

use core::net::Ipv4Addr;

use crate::layout::row;

/// Candidate next hops of one destination.
pub const MAX_CANDIDATES: usize = 8;

/// Ages of a flow that a destination may tell apart: each candidate joins the cheapest and leaves them
/// at most once.
pub const MAX_AGES: usize = 2 * MAX_CANDIDATES + 1;

/// Ports of one switch; a power of two, so that an index can be masked instead of compared.
pub const MAX_PORTS: usize = 64;

/// Destination prefixes of one switch.
pub const MAX_DESTINATIONS: u32 = 1024;

/// Bytes of the ring buffer of decisions: room for about 4,000 of them.
pub const RING_BYTES: u32 = 512 * 1024;

/// With this much of the ring buffer filled its reader is woken; else it comes by itself.
pub const RING_WAKE_BYTES: u32 = RING_BYTES / 4;

/// Past [`RING_WAKE_BYTES`] its reader is woken once in so many bytes more; a power of two.
pub const RING_WAKE_STEP: u32 = 16 * 1024;

/// Set in a port's state while the port is alive.
pub const PORT_ALIVE: u64 = 1 << 63;

/// `SwitchParams::mechanism`: a hash over the live candidates' buckets.
pub const MECHANISM_BUCKETS: u32 = 0;

/// `SwitchParams::mechanism`: LCMP.
pub const MECHANISM_LCMP: u32 = 1;

/// `ScoredCandidate::flags`: the port was alive.
pub const CANDIDATE_ALIVE: u8 = 1;

/// `ScoredCandidate::flags`: the hash was taken over this candidate and those like it.
pub const CANDIDATE_KEPT: u8 = 2;

/// `DecisionRecord::dest_qp` of a packet that is not RoCEv2.
pub const NO_QP: u32 = u32::MAX;

/// UDP destination port of RoCEv2.
pub const ROCE_PORT: u16 = 4791;

row! {
    /// A flow: the five-tuple, ports 0 for a protocol without ports and for fragments.
    pub struct FlowKey as "flow_key" {
        /// Source address, in network byte order.
        pub src: u32,
        /// Destination address, in network byte order.
        pub dst: u32,
        /// Source port, in network byte order.
        pub sport: u16,
        /// Destination port, in network byte order.
        pub dport: u16,
        /// IP protocol.
        pub proto: u8,
        /// Zero.
        pub pad: [u8; 3],
    }
}

impl FlowKey {
    /// The key of a flow.
    #[must_use]
    pub const fn new(src: Ipv4Addr, dst: Ipv4Addr, sport: u16, dport: u16, proto: u8) -> Self {
        Self {
            src: src.to_bits().to_be(),
            dst: dst.to_bits().to_be(),
            sport: sport.to_be(),
            dport: dport.to_be(),
            proto,
            pad: [0; 3],
        }
    }

    /// The source address.
    #[must_use]
    pub const fn source(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32::from_be(self.src))
    }

    /// The destination address.
    #[must_use]
    pub const fn destination(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32::from_be(self.dst))
    }

    /// The source port.
    #[must_use]
    pub const fn source_port(self) -> u16 {
        u16::from_be(self.sport)
    }

    /// The destination port.
    #[must_use]
    pub const fn destination_port(self) -> u16 {
        u16::from_be(self.dport)
    }
}

row! {
    /// Where a flow is pinned to: with its key 48 bytes, where the paper counts 24, for the key is
    /// the whole five-tuple and packets, bytes and decisions are counted for telemetry.
    pub struct FlowEntry as "flow_entry" {
        /// Time of its latest packet, to a tick of the kernel's timer; a decision's is exact.
        pub last_seen_ns: u64,
        /// Packets forwarded.
        pub packets: u64,
        /// Bytes forwarded, Ethernet header included.
        pub bytes: u64,
        /// The egress port's slot.
        pub port: u16,
        /// The row of `demands` its bytes count in, from 1 on; 0: in none.
        pub demand: u16,
        /// Decisions made for it: more than one after a failover.
        pub decisions: u32,
    }
}

row! {
    /// A destination prefix, in the layout of `BPF_MAP_TYPE_LPM_TRIE` keys.
    pub struct PrefixKey as "prefix_key" {
        /// Leading bits that count.
        pub bits: u32,
        /// The address, in network byte order.
        pub addr: u32,
    }
}

impl PrefixKey {
    /// The key of `addr/bits`.
    #[must_use]
    pub const fn new(addr: Ipv4Addr, bits: u8) -> Self {
        Self {
            bits: bits as u32,
            addr: addr.to_bits().to_be(),
        }
    }
}

row! {
    /// A next hop of a destination.
    pub struct CandidateRow as "candidate" {
        /// The egress port's slot.
        pub port: u32,
        /// Hash buckets of it, for the bucket mechanism.
        pub buckets: u16,
        /// C_path.
        pub path: u8,
        /// Zero.
        pub pad: u8,
    }
}

row! {
    /// From so many bytes on, a flow's cheapest next hops. The halves are apart for a row to need no
    /// more alignment than the kernel's prefix table gives.
    pub struct AgeRow as "age" {
        /// The lower half of the bytes a flow has sent.
        pub from_low: u32,
        /// The upper half.
        pub from_high: u32,
        /// Bit n: the candidate at n is one of them.
        pub cheapest: u8,
        /// Zero.
        pub pad: [u8; 3],
    }
}

impl AgeRow {
    /// It never begins.
    pub const NEVER: Self = Self::new(u64::MAX, 0);

    /// From `from` bytes on, of which a switch counts 63 bits, the candidates of these bits.
    #[expect(clippy::cast_possible_truncation, reason = "the halves")]
    const fn new(from: u64, cheapest: u8) -> Self {
        let from = if from > MOST { MOST } else { from };
        Self {
            from_low: from as u32,
            from_high: (from >> 32) as u32,
            cheapest,
            pad: [0; 3],
        }
    }

    /// From `from` bytes on, the candidates for which `cheapest` says so, in their order.
    #[must_use]
    pub fn of(from: u64, cheapest: impl IntoIterator<Item = bool>) -> Self {
        let bits = cheapest.into_iter().zip(0u32..);
        let bits = bits.map(|(is_cheapest, place)| u8::from(is_cheapest) << place);
        Self::new(from, bits.sum())
    }

    /// Whether the candidate at `place` is one of the cheapest.
    #[must_use]
    pub const fn has(&self, place: u32) -> bool {
        self.cheapest >> place & 1 == 1
    }

    /// The bytes it begins at.
    #[must_use]
    pub const fn from(&self) -> u64 {
        (self.from_high as u64) << 32 | self.from_low as u64
    }
}

/// The program compares numbers of 63 bits.
const MOST: u64 = u64::MAX >> 1;

row! {
    /// The next hops of a destination, nearest first.
    pub struct DestinationRow as "destination" {
        /// Rows in use.
        pub count: u32,
        /// The row of `demands` that what this datacenter's hosts send there counts in, from 1 on; 0:
        /// it is not counted.
        pub demand: u32,
        /// The next hops.
        pub candidates: [CandidateRow; MAX_CANDIDATES],
        /// Where flows age, the ages of one that goes there, in order; else, and behind the last, rows
        /// that never begin.
        pub ages: [AgeRow; MAX_AGES],
    }
}

row! {
    /// An egress port.
    pub struct PortRow as "port" {
        /// The port's state in one word, so that it is read and written whole: Q in the low byte,
        /// then T, D and C_cong, and PORT_ALIVE.
        pub state: u64,
        /// Its interface.
        pub ifindex: u32,
        /// Source address of frames leaving it.
        pub src_mac: [u8; 6],
        /// Destination address of frames leaving it.
        pub dst_mac: [u8; 6],
    }
}

row! {
    /// How to decide; the weights and thresholds may be written while the program is at work.
    pub struct SwitchParams as "switch_params" {
        /// With signals older than this LCMP falls back to a hash over all; 0: they never age.
        pub stale_after_ns: u64,
        /// With tables older than this, or none yet, every policy falls back to a hash over all; 0:
        /// they never age.
        pub max_table_age_ns: u64,
        /// α.
        pub alpha: u32,
        /// β.
        pub beta: u32,
        /// Seed of the flow hash.
        pub seed: u32,
        /// MECHANISM_BUCKETS or MECHANISM_LCMP.
        pub mechanism: u32,
        /// 1 for the preset `artifact`.
        pub artifact: u32,
        /// `paper`: C_cong from which a port counts as highly congested.
        pub congested_threshold: u32,
        /// `artifact`: cost from which a kept candidate is dropped.
        pub drop_threshold: u32,
        /// The first address of the datacenter's own hosts, in network byte order.
        pub local_addr: u32,
        /// The bits of an address that say whether it is one of them, in network byte order.
        pub local_mask: u32,
        /// 1: a flow that has outgrown its next hop is decided again, by the destination's ages.
        pub ageing: u32,
    }
}

row! {
    /// All of a switch but its flows and destinations: one value, so that one lookup finds it.
    pub struct SwitchTable as "switch_table" {
        /// How to decide.
        pub params: SwitchParams,
        /// When the ports' congestion was last sampled.
        pub sampled_at_ns: u64,
        /// When the control plane last said that the destinations' rows are right; 0: never.
        pub tables_at_ns: u64,
        /// Flows that agents took out of the flow table because they were idle.
        pub expired: u64,
        /// Flows that the kernel evicted from a full flow table, as agents found.
        pub evicted: u64,
        /// The ports by slot.
        pub ports: [PortRow; MAX_PORTS],
    }
}

row! {
    /// Packets and decisions of one CPU.
    pub struct Counters as "counters" {
        /// Frames received.
        pub received: u64,
        /// Packets forwarded by their flow's entry.
        pub hits: u64,
        /// Flows decided for the first time.
        pub new_flows: u64,
        /// Flows decided again because their port had died.
        pub failovers: u64,
        /// Flows decided again because they had outgrown their port.
        pub outgrown: u64,
        /// Decisions by a fallback rule.
        pub fallbacks: u64,
        /// Those of them for want of fresh tables or signals.
        pub stale: u64,
        /// Frames left to the kernel: not IPv4, with IP options, or to no known destination.
        pub passed: u64,
        /// Packets left to the kernel because their TTL ends here.
        pub ttl_expired: u64,
        /// Packets dropped because their destination had no live candidate.
        pub no_destination: u64,
        /// Flows that could not be entered in the flow table; each of their packets is decided.
        pub not_pinned: u64,
        /// Decisions the ring buffer had no room for.
        pub records_lost: u64,
    }
}

row! {
    /// A candidate as it was seen by a decision.
    pub struct ScoredCandidate as "scored_candidate" {
        /// C, the total cost; 0 where the rule does not compute it.
        pub cost: u32,
        /// The egress port's slot.
        pub port: u8,
        /// C_path.
        pub path: u8,
        /// C_cong.
        pub congestion: u8,
        /// CANDIDATE_ALIVE, CANDIDATE_KEPT.
        pub flags: u8,
    }
}

row! {
    /// A decision, as the ring buffer carries it.
    pub struct DecisionRecord as "decision_record" {
        /// When.
        pub time_ns: u64,
        /// For which flow.
        pub flow: FlowKey,
        /// The flow's hash.
        pub hash: u32,
        /// The destination QP of the deciding packet's base transport header, or NO_QP.
        pub dest_qp: u32,
        /// The port decided for.
        pub port: u32,
        /// TRIGGER_*.
        pub trigger: u8,
        /// RULE_*.
        pub rule: u8,
        /// Candidates in use.
        pub count: u8,
        /// Where flows age, bit n: the candidate at n is one of the cheapest for what the flow has
        /// sent; else 0.
        pub cheapest: u8,
        /// The candidates.
        pub candidates: [ScoredCandidate; MAX_CANDIDATES],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hold_addresses_as_packets_do() {
        let key = FlowKey::new(
            Ipv4Addr::new(10, 1, 2, 3),
            Ipv4Addr::LOCALHOST,
            258,
            4791,
            17,
        );
        let bytes: [u8; 16] = bytemuck::cast(key);
        assert_eq!(
            bytes,
            [10, 1, 2, 3, 127, 0, 0, 1, 1, 2, 0x12, 0xb7, 17, 0, 0, 0]
        );
        assert_eq!(key.source(), Ipv4Addr::new(10, 1, 2, 3));
        assert_eq!(key.destination(), Ipv4Addr::LOCALHOST);
        assert_eq!((key.source_port(), key.destination_port()), (258, 4791));
    }
}
