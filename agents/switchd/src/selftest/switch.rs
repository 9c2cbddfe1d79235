//! Random tables, and the reference's decision for a flow.

use std::net::Ipv4Addr;

use lab_abi::{
    Preset, Trigger,
    rows::{
        CANDIDATE_ALIVE, CANDIDATE_KEPT, CandidateRow, DecisionRecord, DestinationRow, FlowKey,
        MECHANISM_BUCKETS, MECHANISM_LCMP, PORT_ALIVE, PrefixKey, ScoredCandidate,
        SizeThresholdRow, SwitchParams, SwitchTable, keep_word,
    },
};
use lab_policy::{
    Candidate, Decision, FlowTuple, LcmpConfig, ecmp, flow_hash,
    lcmp::{self, Keep},
};
use lab_units::{BitsPerSec, Nanos};

use super::random::{Buckets, PortStates, Random, random_destination, random_port};

/// Model of a switch: its tables, as they were written to the program.
pub(super) struct ModelSwitch {
    pub(super) table: SwitchTable,
    destinations: Vec<(u8, Ipv4Addr, DestinationRow)>,
    lcmp: LcmpConfig,
    buckets: Buckets,
    is_stale: bool,
}

impl ModelSwitch {
    /// Returns destinations that have no candidates yet; their prefixes have several lengths, some prefixes are nested,
    /// and together they cover all lab slots.
    pub(super) fn new() -> Self {
        let addr = |net: u8, third, fourth| Ipv4Addr::new(10, NET_STEP * net, third, fourth);
        let wide = (0..24).map(|net| (16, addr(net, 0, 0)));
        let inner = (0..12).map(|net| (24, addr(net, 128, 0)));
        let hosts = (0..6).map(|net| (32, addr(net, 128, 7)));
        let prefixes = wide.chain(inner).chain(hosts);
        let empty = |(bits, addr)| (bits, addr, DestinationRow::default());
        let rate = BitsPerSec::new(200_000_000_000).expect("not zero");
        Self {
            table: SwitchTable::default(),
            destinations: prefixes.map(empty).collect(),
            lcmp: LcmpConfig::paper(rate),
            buckets: Buckets::Policy(&ecmp::POLICY),
            is_stale: false,
        }
    }

    /// Returns the rows of all destinations, with their prefixes.
    pub(super) fn destinations(&self) -> impl Iterator<Item = (PrefixKey, &DestinationRow)> {
        self.destinations
            .iter()
            .map(|(bits, addr, row)| (PrefixKey::new(*addr, *bits), row))
    }

    /// Replaces the parameters, the ports and one destination row; returns the row's prefix and index.
    pub(super) fn shuffle(&mut self, random: &mut Random, now: Nanos) -> (PrefixKey, usize) {
        self.shuffle_params(random, now);
        let states = PortStates::any(random);
        for (slot, port) in self.table.ports.iter_mut().enumerate() {
            *port = random_port(slot, states, random);
        }
        let count = u32::try_from(self.destinations.len()).unwrap_or(1);
        let index = usize::try_from(random.below(count)).unwrap_or(0);
        let (bits, addr, row) = &mut self.destinations[index];
        self.buckets = Buckets::any(random);
        let is_by_buckets = self.table.params.mechanism == MECHANISM_BUCKETS;
        let has_flow_ageing = is_by_buckets && self.buckets == Buckets::FlowAgeing;
        self.table.params.flow_ageing = u32::from(has_flow_ageing);
        *row = random_destination(self.buckets, random);
        (PrefixKey::new(*addr, *bits), index)
    }

    /// Replaces the buckets of a destination; returns the destination's prefix.
    pub(super) fn rewrite(&mut self, index: usize, random: &mut Random) -> PrefixKey {
        self.buckets = Buckets::any(random);
        let (bits, addr, row) = &mut self.destinations[index];
        self.buckets.fill(row, random);
        PrefixKey::new(*addr, *bits)
    }

    /// Returns the name of the policy that the current tables implement.
    pub(super) fn policy(&self) -> &'static str {
        match (self.table.params.mechanism, self.lcmp.preset) {
            (MECHANISM_LCMP, Preset::Paper) => "lcmp",
            (MECHANISM_LCMP, Preset::Artifact) => "lcmp artifact",
            _ => self.buckets.policy(),
        }
    }

    /// Returns the row of a destination.
    pub(super) fn destination(&self, index: usize) -> &DestinationRow {
        &self.destinations[index].2
    }

    /// Returns a random address in a destination's prefix; a longer prefix may also contain the address.
    pub(super) fn address_in(&self, index: usize, random: &mut Random) -> Ipv4Addr {
        let (bits, addr, _) = self.destinations[index];
        let free = u32::MAX.checked_shr(u32::from(bits)).unwrap_or(0);
        Ipv4Addr::from_bits(addr.to_bits() | (random.word32() & free))
    }

    /// Returns the port of the only candidate for `flow`, which then needs neither a decision nor an entry; `None` if
    /// there are several candidates or none.
    pub(super) fn only_candidate(&self, flow: FlowKey) -> Option<u32> {
        let row = self.lookup(flow.destination())?;
        (row.count == 1).then_some(row.candidates[0].port)
    }

    /// Returns the reference's decision for a packet with which `flow` has sent `sent` bytes in total; `None` if the
    /// packet is left to the kernel.
    pub(super) fn decide(&self, flow: FlowKey, sent: u64) -> Option<PacketDecision> {
        let row = self.lookup(flow.destination())?;
        let threshold = self.size_threshold(row, sent);
        let rows = &row.candidates[..usize::try_from(row.count).unwrap_or(0)];
        let candidates: Vec<_> = rows
            .iter()
            .zip(0u32..)
            .map(|(row, index)| {
                let mut candidate = self.candidate(row);
                if let Some(threshold) = threshold {
                    candidate.buckets = u16::from(threshold.is_cheapest(index));
                }
                candidate
            })
            .collect();
        let tuple = FlowTuple {
            src: flow.source(),
            dst: flow.destination(),
            sport: flow.source_port(),
            dport: flow.destination_port(),
        };
        let hash = flow_hash(tuple, self.table.params.seed);
        let decision = match (self.table.params.mechanism, self.is_stale) {
            (MECHANISM_LCMP, false) => lcmp::decide(&candidates, hash, &self.lcmp),
            (_, true) => lcmp::decide_stale(&candidates, hash),
            _ => ecmp::decide(&candidates, hash),
        };
        Some(match decision {
            Some(decision) => PacketDecision::Pin(DecisionRecord {
                cheapest: threshold.map_or(0, |threshold| threshold.cheapest),
                ..record(flow, hash, row, &decision)
            }),
            None => PacketDecision::Unreachable,
        })
    }

    /// Returns true if flow ageing is on.
    pub(super) const fn has_flow_ageing(&self) -> bool {
        self.table.params.flow_ageing == 1
    }

    /// Returns true if a flow pinned to `port` reaches a size threshold between `before` and `after` sent bytes, and
    /// its port is no longer among the cheapest from that threshold on.
    pub(super) fn must_reroute(&self, flow: FlowKey, port: u16, before: u64, after: u64) -> bool {
        let Some(row) = self.lookup(flow.destination()) else {
            return false;
        };
        let old = self.size_threshold(row, before);
        let new = self.size_threshold(row, after);
        let mut own = row
            .candidates
            .iter()
            .zip(0u32..)
            .filter(|(candidate, _)| candidate.port == u32::from(port));
        old != new && new.is_some_and(|row| !own.any(|(_, index)| row.is_cheapest(index)))
    }

    /// Returns the highest size threshold that `sent` bytes reach; `None` if flow ageing is off.
    fn size_threshold<'a>(
        &self,
        row: &'a DestinationRow,
        sent: u64,
    ) -> Option<&'a SizeThresholdRow> {
        let reached = row.size_thresholds.iter().rfind(|row| row.from() <= sent);
        reached.filter(|row| self.has_flow_ageing() && row.cheapest != 0)
    }

    fn lookup(&self, address: Ipv4Addr) -> Option<&DestinationRow> {
        let covers = |bits: u8, addr: Ipv4Addr| {
            let free = u32::MAX.checked_shr(u32::from(bits)).unwrap_or(0);
            address.to_bits() & !free == addr.to_bits()
        };
        let covering = self
            .destinations
            .iter()
            .filter(|&&(bits, addr, _)| covers(bits, addr));
        covering
            .max_by_key(|&&(bits, ..)| bits)
            .map(|(_, _, row)| row)
    }

    fn candidate(&self, row: &CandidateRow) -> Candidate {
        let port = &self.table.ports[usize::try_from(row.port).unwrap_or(0)];
        let [_, _, _, congestion, ..] = port.state.to_le_bytes();
        Candidate {
            path: row.path,
            congestion,
            is_alive: port.state & PORT_ALIVE != 0,
            buckets: row.buckets,
        }
    }

    fn shuffle_params(&mut self, random: &mut Random, now: Nanos) {
        let default = if random.once_in(3) {
            LcmpConfig::artifact()
        } else {
            LcmpConfig::paper(self.lcmp.max_capacity_bps)
        };
        // Half of the time the preset's weights and thresholds are used, otherwise random ones.
        self.lcmp = if random.once_in(2) {
            default
        } else {
            LcmpConfig {
                alpha: random.byte(),
                beta: random.byte(),
                congested_threshold: random.byte(),
                drop_threshold: random.byte(),
                keep: Keep::ALL[usize::try_from(random.below(4)).unwrap_or(0)],
                ..default
            }
        };
        // The tables or samples are an hour old or fresh, with and without a limit on their age.
        let mut age = || match random.below(6) {
            0 => (0, 1),
            1 => (0, 0),
            2 | 3 => (now.get(), HOUR_NS),
            _ => (now.get(), 0),
        };
        let (sampled_at_ns, stale_after_ns) = age();
        let (tables_at_ns, max_table_age_ns) = age();
        let mechanism = if random.once_in(2) {
            MECHANISM_BUCKETS
        } else {
            MECHANISM_LCMP
        };
        let is_old = |at, max| at == 0 && max != 0;
        self.is_stale = is_old(tables_at_ns, max_table_age_ns)
            || mechanism == MECHANISM_LCMP && is_old(sampled_at_ns, stale_after_ns);
        self.table.sampled_at_ns = sampled_at_ns;
        self.table.tables_at_ns = tables_at_ns;
        self.table.params = SwitchParams {
            stale_after_ns,
            max_table_age_ns,
            seed: random.word32(),
            mechanism,
            artifact: match self.lcmp.preset {
                Preset::Paper => 0,
                Preset::Artifact => 1,
            },
            keep: keep_word(self.lcmp.keep_rule()),
            alpha: u32::from(self.lcmp.alpha),
            beta: u32::from(self.lcmp.beta),
            congested_threshold: u32::from(self.lcmp.congested_threshold),
            drop_threshold: u32::from(self.lcmp.drop_threshold),
            ..SwitchParams::default()
        };
    }
}

/// Reference's decision that the model expects for a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum PacketDecision {
    /// The flow is pinned. The record's time and QP are not known here, so they are 0.
    Pin(DecisionRecord),
    /// The packet is dropped because no candidate is alive.
    Unreachable,
}

fn record(flow: FlowKey, hash: u32, row: &DestinationRow, decision: &Decision) -> DecisionRecord {
    let mut record = DecisionRecord {
        flow,
        hash,
        port: row.candidates[decision.chosen].port,
        trigger: Trigger::NewFlow.to_byte(),
        rule: decision.rule.to_byte(),
        count: u8::try_from(decision.candidates().len()).unwrap_or(u8::MAX),
        ..DecisionRecord::default()
    };
    let rows = record.candidates.iter_mut().zip(&row.candidates);
    for ((slot, row), scored) in rows.zip(decision.candidates()) {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        *slot = ScoredCandidate {
            cost: scored.cost,
            port: u8::try_from(row.port).unwrap_or(u8::MAX),
            path: scored.candidate.path,
            congestion: scored.candidate.congestion,
            flags: flag(scored.candidate.is_alive, CANDIDATE_ALIVE)
                | flag(scored.is_kept, CANDIDATE_KEPT),
        };
    }
    record
}

const HOUR_NS: u64 = 3_600_000_000_000;

/// Step of the second address byte from one destination to the next. A lab slot spans 16 values of that byte, so 24
/// destinations at a smaller step reach all slots.
const NET_STEP: u8 = 11;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lab_abi::rows::SLOT_BITS;

    use super::*;

    #[test]
    fn the_longest_prefix_is_taken() {
        let mut switch = ModelSwitch::new();
        for (bits, _, row) in &mut switch.destinations {
            row.count = u32::from(*bits);
        }
        let count = |addr| switch.lookup(addr).map(|row| row.count);
        assert_eq!(count(Ipv4Addr::new(10, 33, 128, 7)), Some(32));
        assert_eq!(count(Ipv4Addr::new(10, 33, 128, 8)), Some(24));
        assert_eq!(count(Ipv4Addr::new(10, 33, 129, 7)), Some(16));
        assert_eq!(count(Ipv4Addr::new(10, 100, 0, 1)), None);
    }

    #[test]
    fn destinations_are_in_all_slots() {
        let addresses = ModelSwitch::new().destinations;
        let slots: BTreeSet<u32> = addresses
            .iter()
            .map(|(_, addr, _)| (addr.to_bits() & SLOT_BITS) >> SLOT_BITS.trailing_zeros())
            .collect();
        assert!(slots.into_iter().eq(0..16));
    }
}
