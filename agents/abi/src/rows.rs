//! Map rows and ring buffer records of the switch program.
//!
//! Times are `CLOCK_MONOTONIC` nanoseconds, the clock of `bpf_ktime_get_ns`. Addresses and ports copied from a packet
//! stay in network byte order.

use core::net::Ipv4Addr;

use crate::{Rule, Trigger, dcqcn::CongestionPoint, layout::row, lcmp::Keep};

/// Maximum candidate next hops per destination.
pub const MAX_CANDIDATES: usize = 16;

/// Maximum size thresholds per destination. Thresholds are 0 and the sizes at which a candidate joins or leaves the set
/// of cheapest candidates. Each candidate joins once and leaves once at most; the first never joins after 0, and the
/// last never leaves.
pub const MAX_SIZE_THRESHOLDS: usize = 2 * MAX_CANDIDATES - 1;

/// Maximum ports per switch; a power of two, so that the program can mask an index instead of comparing it.
pub const MAX_PORTS: usize = 64;

/// Maximum destination prefixes per switch.
pub const MAX_DESTINATIONS: u32 = 1024;

/// Maximum rows per switch for packets on tunnels.
pub const MAX_TRANSITS: u32 = 32_768;

/// Size of the decision ring buffer in bytes: about 5,500 records.
pub const RING_BYTES: u32 = 1024 * 1024;

/// Fill level in bytes from which the program wakes the ring buffer's reader; below this level, the reader polls.
pub const RING_WAKE_BYTES: u32 = RING_BYTES / 4;

/// Bytes written between two wake-ups once the fill level exceeds [`RING_WAKE_BYTES`]; a power of two.
pub const RING_WAKE_STEP: u32 = 16 * 1024;

/// Bit of `PortRow::state` that is set while the port is alive.
pub const PORT_ALIVE: u64 = 1 << 63;

/// Value of `SwitchParams::mechanism`: a hash over the live candidates' buckets.
pub const MECHANISM_BUCKETS: u32 = 0;

/// Value of `SwitchParams::mechanism`: LCMP's path cost and congestion cost.
pub const MECHANISM_LCMP: u32 = 1;

/// Value of `SwitchParams::keep`, the cheaper half: ⌈m/2⌉ of m candidates, and all that tie with the last one.
pub const KEEP_HALF: u32 = 0;

/// Value of `SwitchParams::keep`: ⌈m/2⌉ of m candidates, without ties.
pub const KEEP_HALF_STRICT: u32 = 1;

/// Value of `SwitchParams::keep`: ⌊m/2⌋ of m candidates, at least one.
pub const KEEP_FLOOR: u32 = 2;

/// Value of `SwitchParams::keep`: ⌊m/2⌋ of m candidates, or all if that is less than two.
pub const KEEP_FLOOR_OR_ALL: u32 = 3;

/// Returns the value of `SwitchParams::keep` that stands for `rule`.
#[must_use]
pub const fn keep_word(rule: Keep) -> u32 {
    match rule {
        Keep::Half => KEEP_HALF,
        Keep::HalfStrict => KEEP_HALF_STRICT,
        Keep::Floor => KEEP_FLOOR,
        Keep::FloorOrAll => KEEP_FLOOR_OR_ALL,
    }
}

/// Bit of `ScoredCandidate::flags`: the candidate's port was alive.
pub const CANDIDATE_ALIVE: u8 = 1;

/// Bit of `ScoredCandidate::flags`: the candidate was in the set that the hash chose from.
pub const CANDIDATE_KEPT: u8 = 2;

/// Value of `DecisionRecord::dest_qp` and `psn` for a packet that is not RoCEv2.
pub const NO_QP: u32 = u32::MAX;

/// Exponent of the unit of `PortQueueRow::congestion`, 2^6 ns; the largest threshold is thus 137 s.
pub const WAIT_UNIT_BITS: u32 = 6;

/// UDP destination port of RoCEv2.
pub const ROCE_PORT: u16 = 4791;

/// First byte of every lab address: labs use the block 10.0.0.0/8.
pub const LAB_NET: u32 = 10;

/// Bits of a lab address that hold the lab's slot (0 to 15), in host byte order.
pub const SLOT_BITS: u32 = 0x00f0_0000;

/// Returns the address that `addr` has in a lab in slot 0; an address outside 10.0.0.0/8 is returned unchanged.
///
/// Hashes use these addresses, so that a lab's flows take the same paths in every slot.
#[must_use]
#[inline]
pub const fn without_slot(addr: Ipv4Addr) -> Ipv4Addr {
    let bits = addr.to_bits();
    if bits >> 24 == LAB_NET {
        Ipv4Addr::from_bits(bits & !SLOT_BITS)
    } else {
        addr
    }
}

row! {
    /// Five-tuple of a flow; the ports are 0 for fragments and for protocols without ports.
    pub struct FlowKey as "flow_key" {
        /// Source address, in network byte order.
        pub src: u32,
        /// Destination address, in network byte order.
        pub dst: u32,
        /// Source port, in network byte order.
        pub sport: u16,
        /// Destination port, in network byte order.
        pub dport: u16,
        /// IP protocol number, such as 17 for UDP.
        pub proto: u8,
        pub pad: [u8; 3],
    }
}

impl FlowKey {
    /// Returns the key of a flow.
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

    /// Returns the flow's source address, converted from network byte order.
    #[must_use]
    pub const fn source(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32::from_be(self.src))
    }

    /// Returns the flow's destination address, converted from network byte order.
    #[must_use]
    pub const fn destination(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32::from_be(self.dst))
    }

    #[must_use]
    pub const fn source_port(self) -> u16 {
        u16::from_be(self.sport)
    }

    #[must_use]
    pub const fn destination_port(self) -> u16 {
        u16::from_be(self.dport)
    }
}

row! {
    /// Flow table row, which pins a flow to an egress port. Key and row have 48 bytes; the paper (Sec. 4) counts 24.
    /// The key here is the whole five-tuple, and packets, bytes and decisions are counted for telemetry.
    pub struct FlowEntry as "flow_entry" {
        /// Time of the latest packet, precise to one tick of the kernel's timer; exact if the packet caused a
        /// decision.
        pub last_seen_ns: u64,
        /// Packets forwarded for the flow.
        pub packets: u64,
        /// Bytes forwarded for the flow, Ethernet headers included.
        pub bytes: u64,
        /// Index of the egress port in `SwitchTable::ports`.
        pub port: u16,
        /// 1-based row of `demands` that counts the flow's bytes; 0: not counted.
        pub demand: u16,
        /// Decisions made for the flow; more than 1 after a failover or flow ageing.
        pub decisions: u32,
    }
}

row! {
    /// Destination prefix, in the layout of `BPF_MAP_TYPE_LPM_TRIE` keys.
    pub struct PrefixKey as "prefix_key" {
        /// Prefix length in bits.
        pub bits: u32,
        /// Network address of the prefix, in network byte order.
        pub addr: u32,
    }
}

impl PrefixKey {
    /// Returns the key of `addr/bits`.
    #[must_use]
    pub const fn new(addr: Ipv4Addr, bits: u8) -> Self {
        Self {
            bits: bits as u32,
            addr: addr.to_bits().to_be(),
        }
    }
}

row! {
    /// Packets on one tunnel that arrive at a switch on its way; no two tunnels of a pair of datacenters share a link.
    pub struct TransitKey as "transit_key" {
        /// Network address of the source datacenter's prefix, in network byte order.
        pub src: u32,
        /// Network address of the destination datacenter's prefix, in network byte order.
        pub dst: u32,
        /// Index of the interface at which the packets arrive.
        pub ifindex: u32,
    }
}

row! {
    /// Candidate next hop of a destination.
    pub struct CandidateRow as "candidate" {
        /// Index of the egress port in `SwitchTable::ports`.
        pub port: u32,
        /// Number of the candidate's hash buckets, for the bucket mechanism.
        pub buckets: u16,
        /// Path cost C_path of the candidate, 0 to 255.
        pub path: u8,
        pub pad: u8,
    }
}

row! {
    /// Cheapest candidates of a flow that has sent a given number of bytes (flow ageing). The number is split in two
    /// because the kernel's prefix table aligns rows to only four bytes.
    pub struct SizeThresholdRow as "size_threshold" {
        /// Lower 32 bits of the number of bytes sent.
        pub from_low: u32,
        /// Upper 32 bits of the number of bytes sent.
        pub from_high: u32,
        /// Bit n is set if candidate n is one of the cheapest.
        pub cheapest: u16,
        pub pad: u16,
    }
}

impl SizeThresholdRow {
    /// Threshold that no flow reaches.
    pub const NEVER: Self = Self::new(u64::MAX, 0);

    /// Returns the row for flows that have sent at least `from` bytes, capped at [`MAX_SENT_BYTES`], with a bit set of
    /// the cheapest candidates.
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are meant")]
    const fn new(from: u64, cheapest: u16) -> Self {
        let from = if from > MAX_SENT_BYTES {
            MAX_SENT_BYTES
        } else {
            from
        };
        Self {
            from_low: from as u32,
            from_high: (from >> 32) as u32,
            cheapest,
            pad: 0,
        }
    }

    /// Returns the row for flows that have sent at least `from` bytes; `cheapest` has one flag per candidate, in the
    /// destination's order.
    #[must_use]
    pub fn of(from: u64, cheapest: impl IntoIterator<Item = bool>) -> Self {
        let bits = cheapest
            .into_iter()
            .zip(0u32..)
            .map(|(is_cheapest, place)| u16::from(is_cheapest) << place);
        Self::new(from, bits.sum())
    }

    /// Returns true if candidate `index` is one of the cheapest.
    #[must_use]
    pub const fn is_cheapest(&self, index: u32) -> bool {
        self.cheapest >> index & 1 == 1
    }

    /// Returns the number of sent bytes from which the row applies.
    #[must_use]
    pub const fn from(&self) -> u64 {
        (self.from_high as u64) << 32 | self.from_low as u64
    }
}

/// Largest byte count of a threshold: the program compares 63-bit numbers.
const MAX_SENT_BYTES: u64 = u64::MAX >> 1;

row! {
    /// Candidates of a destination, in order of increasing delay.
    pub struct DestinationRow as "destination" {
        /// Number of candidates in use.
        pub count: u32,
        /// 1-based row of `demands` that counts the bytes from this datacenter's hosts to the destination; 0: not
        /// counted.
        pub demand: u32,
        pub candidates: [CandidateRow; MAX_CANDIDATES],
        /// Size thresholds of flow ageing in increasing order; unused rows hold thresholds that no flow reaches.
        pub size_thresholds: [SizeThresholdRow; MAX_SIZE_THRESHOLDS],
    }
}

row! {
    /// Egress port of a switch: its state, its interface and its MAC addresses.
    pub struct PortRow as "port" {
        /// Congestion and liveness in one word, which is read and written as a whole: queue level Q in the low byte,
        /// then trend T, duration D and cost C_cong, and PORT_ALIVE in the top bit.
        pub state: u64,
        /// Index of the port's interface in the switch's network namespace.
        pub ifindex: u32,
        /// Source MAC address of frames sent through the port.
        pub src_mac: [u8; 6],
        /// Destination MAC address of frames sent through the port.
        pub dst_mac: [u8; 6],
    }
}

row! {
    /// Virtual queue of an egress port that marks packets: the bytes that would wait for a link at the port's rate,
    /// regardless of the bursts that the port's shaper lets through.
    pub struct PortQueueRow as "port_queue" {
        /// Time at which the virtual queue will be empty.
        pub busy_until_ns: u64,
        /// Packets that the port has marked so far.
        pub marks: u64,
        /// Serialisation time of one byte in ns, times 2^20; 0: the port does not mark packets.
        pub byte_time_q20: u64,
        /// Time in which a full queue drains, ns.
        pub max_wait_ns: u64,
        /// Marking thresholds as waiting times, in units of 2^WAIT_UNIT_BITS ns.
        pub congestion: CongestionPoint,
    }
}

row! {
    /// Decision parameters; weights and thresholds may change while the program runs.
    pub struct SwitchParams as "switch_params" {
        /// Maximum age of the congestion signals, ns; if they are older, LCMP hashes over all live candidates. 0: no
        /// limit.
        pub stale_after_ns: u64,
        /// Maximum age of the tables, ns; if they are older, every policy hashes over all live candidates. 0: no limit.
        pub max_table_age_ns: u64,
        /// Weight α of the path cost (Eq. 1).
        pub alpha: u32,
        /// Weight β of the congestion cost (Eq. 1).
        pub beta: u32,
        /// Seed of the flow hash, which is the switch's id.
        pub seed: u32,
        /// Mechanism of the policy: MECHANISM_BUCKETS or MECHANISM_LCMP.
        pub mechanism: u32,
        /// 1 for the preset `artifact`, 0 for `paper`.
        pub artifact: u32,
        /// Rule for the number of candidates kept: KEEP_HALF, KEEP_HALF_STRICT, KEEP_FLOOR or
        /// KEEP_FLOOR_OR_ALL.
        pub keep: u32,
        /// `paper`: C_cong from which a port counts as highly congested.
        pub congested_threshold: u32,
        /// `artifact`: cost from which a kept candidate is dropped.
        pub drop_threshold: u32,
        /// Network address of the datacenter's own hosts, in network byte order.
        pub local_addr: u32,
        /// Mask for `local_addr`, in network byte order.
        pub local_mask: u32,
        /// 1: flow ageing re-routes a flow past a size threshold if its next hop is no longer among the cheapest.
        pub flow_ageing: u32,
        /// 1: packets from other datacenters follow tunnels, for which there are rows in `transits`.
        pub tunnels: u32,
    }
}

row! {
    /// Parameters and ports of a switch in one value, so that the program needs one lookup.
    pub struct SwitchTable as "switch_table" {
        pub params: SwitchParams,
        /// Time of the latest congestion sample of the ports.
        pub sampled_at_ns: u64,
        /// Time at which the control plane last wrote or confirmed the destination rows; 0: never.
        pub tables_at_ns: u64,
        /// Idle flows that the agents' flow-cache garbage collection removed.
        pub expired: u64,
        /// Flows that the agents evicted because the flow table was full.
        pub evicted: u64,
        /// Inode of the ports' network namespace; 0: the kernel does not mark ports dead on its own.
        pub netns: u64,
        pub ports: [PortRow; MAX_PORTS],
        /// Virtual queues of the ports.
        pub queues: [PortQueueRow; MAX_PORTS],
    }
}

row! {
    // `received`, `passed` and `pauses` tell the program's tests which branch a frame took; no run's records need them.
    /// Packet and decision counters of a DCI switch: for one CPU in the switch program, summed over all CPUs in a
    /// report. The simulator's switches use the same counters.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct Counters as "counters" {
        pub received: u64,
        /// Packets forwarded through the port to which their flow was already pinned, without a decision.
        pub hits: u64,
        /// Decisions for packets of flows without a row in the flow table, usually a flow's first packet.
        pub new_flows: u64,
        /// Decisions for packets of flows whose pinned port is dead.
        pub failovers: u64,
        /// Decisions that flow ageing caused.
        pub aged: u64,
        /// Decisions by a fallback rule, because the policy's own rule could not decide.
        pub fallbacks: u64,
        /// Decisions by the fallback for stale tables or signals.
        pub stale: u64,
        /// Frames passed to the kernel: not IPv4, with IP options, or to an unknown destination.
        pub passed: u64,
        /// Packets passed to the kernel because their TTL expired.
        pub ttl_expired: u64,
        /// Packets dropped because no candidate of their destination, or the next link of their tunnel, was alive.
        pub no_destination: u64,
        /// Decisions after which the flow was not pinned because the flow table had no room; the flow's next packet
        /// needs another decision.
        pub not_pinned: u64,
        /// Decision records lost because the ring buffer was full.
        pub records_lost: u64,
        /// PFC pause frames sent to hosts.
        pub pauses: u64,
        /// Packets whose sender should have been paused but is not a host.
        pub not_paused: u64,
        /// Packets dropped because the shared buffer was full.
        pub buffer_drops: u64,
    }
}

impl Counters {
    /// Returns the number of decisions, whatever their cause.
    #[must_use]
    pub const fn decisions(&self) -> u64 {
        self.new_flows + self.failovers + self.aged
    }

    /// Counts a decision by `rule` because of `trigger`.
    pub const fn count(&mut self, trigger: Trigger, rule: Rule) {
        match trigger {
            Trigger::NewFlow => self.new_flows += 1,
            Trigger::Failover => self.failovers += 1,
            Trigger::FlowAgeing => self.aged += 1,
        }
        self.fallbacks += rule.is_fallback() as u64;
    }
}

row! {
    /// Candidate with the state that a decision was based on.
    pub struct ScoredCandidate as "scored_candidate" {
        /// Total cost C (Eq. 1); 0 if the rule does not compute it.
        pub cost: u32,
        /// Index of the egress port in `SwitchTable::ports`.
        pub port: u8,
        /// Path cost C_path of the candidate, 0 to 255.
        pub path: u8,
        /// Congestion cost C_cong of the egress port, 0 to 255.
        pub congestion: u8,
        /// Bit set of CANDIDATE_ALIVE and CANDIDATE_KEPT.
        pub flags: u8,
    }
}

row! {
    /// Record of a decision in the ring buffer.
    pub struct DecisionRecord as "decision_record" {
        pub time_ns: u64,
        /// Age of the ports' latest congestion sample at the time of the decision, ns.
        pub signal_age_ns: u64,
        /// Flow that the decision is for.
        pub flow: FlowKey,
        /// Flow hash that the decision used.
        pub hash: u32,
        /// Destination QP of the packet's base transport header, or NO_QP.
        pub dest_qp: u32,
        /// Packet sequence number of the packet's base transport header, or NO_QP.
        pub psn: u32,
        /// Index of the chosen port in `SwitchTable::ports`.
        pub port: u32,
        /// Cause of the decision, one of TRIGGER_*.
        pub trigger: u8,
        /// Rule of the decision, one of RULE_*.
        pub rule: u8,
        /// Number of candidates in use.
        pub count: u8,
        pub pad: u8,
        /// Under flow ageing, bit n is set if candidate n is one of the cheapest for the bytes that the flow has
        /// sent; otherwise 0.
        pub cheapest: u16,
        pub pad_end: u16,
        /// Candidates in the order of the destination's row.
        pub candidates: [ScoredCandidate; MAX_CANDIDATES],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_its_slot_is_the_one_in_slot_0() {
        for (addr, expected) in [
            ([10, 0, 16, 1], [10, 0, 16, 1]),
            ([10, 16, 16, 1], [10, 0, 16, 1]),
            ([10, 255, 255, 255], [10, 15, 255, 255]),
            ([9, 16, 16, 1], [9, 16, 16, 1]),
            ([11, 255, 0, 1], [11, 255, 0, 1]),
            ([172, 16, 0, 1], [172, 16, 0, 1]),
        ] {
            assert_eq!(without_slot(addr.into()), Ipv4Addr::from(expected));
        }
    }

    #[test]
    fn keys_hold_addresses_in_network_byte_order() {
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
