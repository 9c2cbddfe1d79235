//! The DCI switch: its tables, and the way of each packet.

use lab_policy::{
    LcmpConfig, Trigger,
    lcmp::{Levels, PortProvision, PortState, PortThresholds},
    legacy,
};
use lab_units::{BitsPerSec, Bytes, Nanos};

use super::{Shard, ageing::Ageing, engineering::Engineered};
use crate::{
    cc::CongestionControl,
    flow_table::FlowTable,
    note::{DecisionNote, HopNote, Note, Tally},
    packet::{Kind, Packet},
    port::Port,
    semantics::Semantics,
    time::SimTime,
    world::{RunPolicy, Way, World},
};

/// What a DCI switch's agent knows.
pub(super) struct Dci<'w> {
    /// Ways to each datacenter, by its number.
    pub ways: Vec<&'w [Way]>,
    pub table: FlowTable,
    pub tally: Tally,
    /// By the switch's ports; empty unless the policy looks at queues.
    pub watched: Vec<Watched>,
    /// Only where flows that have grown are moved.
    pub ageing: Option<Ageing>,
    /// Only under traffic engineering, at a switch with an agent.
    pub engineered: Option<Engineered>,
}

/// A port as LCMP sees it.
pub(super) struct Watched {
    pub state: PortState,
    pub thresholds: PortThresholds,
    /// At the last sample.
    pub levels: Levels,
}

/// Rows of the flow table where the policy does not say: LCMP's default (Sec. 4).
const FLOW_TABLE_ROWS: u32 = 50_000;

impl<'w> Dci<'w> {
    pub fn new<P: Semantics, C: CongestionControl>(world: &'w World<'_, P, C>, dc: u32) -> Self {
        let switch = &world.switches[dc as usize];
        let ways: Vec<&[Way]> = switch.ways.iter().map(Vec::as_slice).collect();
        let ports = world.network.nodes[switch.node as usize].ports.clone();
        let watch = |config| {
            let watched = |port: u32| {
                let link = world.network.ports[port as usize].plan.link();
                let wire = &world.plan.links[link.index()].emu;
                Watched::new(world, wire, config)
            };
            ports.map(watched).collect()
        };
        let (rows, watched, ageing) = match &world.policy {
            RunPolicy::Buckets | RunPolicy::Own(_) => (FLOW_TABLE_ROWS, Vec::new(), None),
            RunPolicy::Ageing(config) => {
                let ageing = Ageing::new(*config, world.paper_size, &ways);
                (FLOW_TABLE_ROWS, Vec::new(), Some(ageing))
            }
            RunPolicy::Lcmp(config) => (config.flow_table_entries, watch(config), None),
        };
        Self {
            ways,
            table: FlowTable::new(rows),
            tally: Tally::default(),
            watched,
            ageing,
            engineered: Engineered::new(world, dc),
        }
    }

    /// Takes what the control plane has for the ways to a datacenter.
    pub fn provision(&mut self, to_dc: u32, ways: &'w [Way]) {
        self.ways[to_dc as usize] = ways;
        if let Some(ageing) = &mut self.ageing {
            ageing.provision(to_dc, ways);
        }
    }
}

impl Watched {
    fn new<P: Semantics, C: CongestionControl>(
        world: &World<'_, P, C>,
        wire: &lab_plan::WirePlan,
        config: &LcmpConfig,
    ) -> Self {
        let scale = &world.plan.scale;
        let port =
            PortProvision::emulated(wire.rate_bps, wire.buffer_bytes, scale.time, scale.size);
        Self {
            state: PortState::new(SimTime::ZERO.nanos_trunc()),
            thresholds: PortThresholds::new(&port, config),
            levels: Levels::default(),
        }
    }

    /// Takes the thresholds of a new rate or buffer.
    pub fn provision<P: Semantics, C: CongestionControl>(
        &mut self,
        world: &World<'_, P, C>,
        wire: &lab_plan::WirePlan,
    ) {
        if let RunPolicy::Lcmp(config) = &world.policy {
            self.thresholds = Self::new(world, wire, config).thresholds;
        }
    }

    /// One sample of a periodic series.
    pub fn sample(&mut self, now: SimTime, port: &Port, config: &LcmpConfig) {
        let queue = Bytes::new(port.total_bytes);
        self.levels = self
            .state
            .sample(now.nanos_trunc(), queue, &self.thresholds, config);
    }
}

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    /// The port by which `packet` leaves the DCI switch `node`.
    #[inline]
    pub(super) fn choose(&mut self, node: u32, packet: &Packet) -> Option<u32> {
        let world = self.world;
        let to_dc = world.network.host_dcs[usize::from(packet.to)];
        let is_local = to_dc == self.dc;
        let is_legacy = world.switches[self.dc as usize].is_legacy;
        if is_local {
            if !P::TABLES_EVERYTHING || is_legacy {
                return self.hash_next_hop(node, packet);
            }
            let hops = world.network.next_hops_to(node, packet.to);
            let ways: Vec<Way> = hops.iter().map(|&port| Way::alike(port)).collect();
            return self.choose_way(node, to_dc, &ways, packet);
        }
        let ways = self.dci.ways[to_dc as usize];
        let chosen = if is_legacy {
            self.hash_threshold(node, ways, packet)
        } else {
            self.count_demand(to_dc, packet);
            self.choose_way(node, to_dc, ways, packet)
        };
        self.note_hop(packet, chosen);
        chosen
    }

    /// A flow's first data packet, and its first ACK, show the way of all.
    #[inline]
    fn note_hop(&mut self, packet: &Packet, chosen: Option<u32>) {
        let is_ack = packet.kind != Kind::Data;
        let is_first = packet.seq == u32::from(is_ack) && packet.kind != Kind::Cnp;
        if let Some(port) = chosen.filter(|_| is_first) {
            self.notes.push(Note::Hop(HopNote {
                at: self.now,
                flow: packet.flow,
                is_ack,
                port,
            }));
        }
    }

    #[inline]
    fn choose_way(&mut self, node: u32, to_dc: u32, ways: &[Way], packet: &Packet) -> Option<u32> {
        let world = self.world;
        if !P::TABLES_EVERYTHING {
            if let [only] = ways {
                return self.is_up(only.port).then_some(only.port);
            }
        } else if world.is_plain_ecmp {
            return self.hash_ways(node, ways, packet);
        }
        let who = &world.flows[packet.flow as usize].who;
        let key = if packet.kind == Kind::Data {
            who.data_key
        } else {
            who.ack_key
        };
        let pinned = self.dci.table.touch(key, self.now);
        let has_aged = self.grow(key, to_dc, packet, pinned.is_some());
        let trigger = match pinned {
            Some(port) if !self.is_up(port) => Trigger::Failover,
            Some(port) if !has_aged || self.is_still_cheap(key, to_dc, ways, port) => {
                self.dci.tally.hits += 1;
                return Some(port);
            }
            Some(_) => Trigger::FlowAgeing,
            None => Trigger::NewFlow,
        };
        let (decision, ports) = self.decide(node, to_dc, ways, key, packet)?;
        let port = ports[decision.chosen];
        self.dci.table.pin(key, port, self.now);
        self.dci.tally.decided(trigger, decision.rule);
        self.notes.push(Note::Decided(Box::new(DecisionNote {
            at: self.now,
            dc: self.dc,
            flow: packet.flow,
            is_ack: packet.kind != Kind::Data,
            trigger,
            decision,
            ports,
        })));
        Some(port)
    }

    /// Counts what a flow has sent; whether it begins another age with this packet.
    #[inline]
    fn grow(&mut self, key: u64, to_dc: u32, packet: &Packet, is_pinned: bool) -> bool {
        let Some(ageing) = &mut self.dci.ageing else {
            return false;
        };
        if !is_pinned {
            ageing.forget(key);
        }
        ageing.grow(key, to_dc, packet.bytes.into()) && is_pinned
    }

    /// Whether a flow's port is still among the cheapest for what it has sent.
    fn is_still_cheap(&self, key: u64, to_dc: u32, ways: &[Way], port: u32) -> bool {
        let place = ways.iter().position(|way| way.port == port);
        place
            .zip(self.dci.ageing.as_ref())
            .is_some_and(|(place, ageing)| ageing.buckets_of(key, to_dc, place) > 0)
    }

    /// Plain ECMP over the ways that are up, as the authors' code has it.
    fn hash_ways(&self, node: u32, ways: &[Way], packet: &Packet) -> Option<u32> {
        let hash = self.hash(node, packet) as usize;
        let up = ways.iter().filter(|way| self.is_up(way.port)).count();
        let mut alive = ways.iter().filter(|way| self.is_up(way.port));
        alive.nth(hash.checked_rem(up)?).map(|way| way.port)
    }

    /// Plain ECMP over the ways that are up, as the kernel's routing table has it.
    fn hash_threshold(&self, node: u32, ways: &[Way], packet: &Packet) -> Option<u32> {
        let up = ways.iter().filter(|way| self.is_up(way.port)).count();
        let place = legacy::hash_threshold(up, self.hash(node, packet))?;
        let mut alive = ways.iter().filter(|way| self.is_up(way.port));
        alive.nth(place).map(|way| way.port)
    }
}

/// The capacity of ways that are not told apart.
const ANY_RATE: BitsPerSec = BitsPerSec::new(1).expect("it is not zero");

impl Way {
    /// A way like all others.
    const fn alike(port: u32) -> Self {
        Self {
            port,
            c_path: 0,
            buckets: 1,
            delay: Nanos::ZERO,
            capacity: ANY_RATE,
            hops: 0,
        }
    }
}
