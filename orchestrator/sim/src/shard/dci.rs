//! The DCI switch: the policy, the flow table, and what LCMP knows of its ports.

use lab_policy::{
    Candidate, Decision, LcmpConfig, Preset, Rule, ecmp, lcmp,
    lcmp::{Levels, PortProvision, PortState, PortThresholds},
};
use lab_units::Bytes;

use super::Shard;
use crate::{
    cc::CongestionControl,
    flow_table::FlowTable,
    note::{DecisionNote, HopNote, Note},
    packet::{Kind, Packet},
    physics::Physics,
    port::Port,
    time::SimTime,
    world::{RunPolicy, Way, World},
};

/// What a DCI switch's agent knows.
pub(super) struct Dci<'w> {
    /// Ways to each datacenter, by its number.
    pub ways: Vec<&'w [Way]>,
    pub table: FlowTable,
    /// By the switch's ports; empty unless the policy looks at queues.
    pub watched: Vec<Watched>,
}

/// A port as LCMP sees it.
pub(super) struct Watched {
    state: PortState,
    thresholds: PortThresholds,
    /// At the last sample.
    pub levels: Levels,
}

/// Rows of the flow table where the policy does not say: LCMP's default (Sec. 4).
const FLOW_TABLE_ROWS: u32 = 50_000;

impl<'w> Dci<'w> {
    pub fn new<P: Physics, C: CongestionControl>(world: &'w World<'_, P, C>, dc: u32) -> Self {
        let switch = &world.switches[dc as usize];
        let ways = switch.ways.iter().map(Vec::as_slice).collect();
        let ports = world.network.nodes[switch.node as usize].ports.clone();
        let RunPolicy::Lcmp(config) = &world.policy else {
            return Self {
                ways,
                table: FlowTable::new(FLOW_TABLE_ROWS),
                watched: Vec::new(),
            };
        };
        let watched = |port: u32| {
            let link = world.network.ports[port as usize].plan.link();
            let wire = &world.plan.links[link.index()].emu;
            Watched::new(world, wire, config)
        };
        Self {
            ways,
            table: FlowTable::new(config.flow_table_entries),
            watched: ports.map(watched).collect(),
        }
    }
}

impl Watched {
    fn new<P: Physics, C: CongestionControl>(
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
    pub fn provision<P: Physics, C: CongestionControl>(
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

impl<P: Physics, C: CongestionControl> Shard<'_, P, C> {
    /// The port by which `packet` leaves the DCI switch `node` towards the host `to`.
    #[inline]
    pub(super) fn choose(&mut self, node: u32, to: u32, packet: &Packet) -> Option<u32> {
        let world = self.world;
        let to_dc = world.network.nodes[to as usize].dc;
        let is_local = to_dc == self.dc;
        let switch = &world.switches[self.dc as usize];
        if is_local && (!P::TABLES_EVERYTHING || switch.is_legacy) {
            return self.hash_next_hop(node, to, packet);
        }
        let chosen = if is_local {
            let hops = world.network.next_hops(node, to);
            let ways: Vec<Way> = hops.iter().map(|&port| Way::alike(port)).collect();
            self.choose_way(node, &ways, packet)
        } else {
            self.choose_way(node, self.dci.ways[to_dc as usize], packet)
        };
        if !is_local {
            self.note_hop(packet, chosen);
        }
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
    fn choose_way(&mut self, node: u32, ways: &[Way], packet: &Packet) -> Option<u32> {
        let world = self.world;
        if world.switches[self.dc as usize].is_legacy {
            return self.hash_ways(node, ways, packet);
        }
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
        if let Some(port) = pinned.filter(|&port| self.is_up(port)) {
            return Some(port);
        }
        let (decision, ports) = self.decide(node, ways, packet)?;
        let port = ports[decision.chosen];
        self.dci.table.pin(key, port, self.now);
        self.notes.push(Note::Decided(Box::new(DecisionNote {
            at: self.now,
            dc: self.dc,
            flow: packet.flow,
            is_ack: packet.kind != Kind::Data,
            is_failover: pinned.is_some(),
            decision,
            ports,
        })));
        Some(port)
    }

    /// Plain ECMP over the ways that are up.
    fn hash_ways(&self, node: u32, ways: &[Way], packet: &Packet) -> Option<u32> {
        let hash = self.hash(node, packet) as usize;
        let up = ways.iter().filter(|way| self.is_up(way.port)).count();
        let mut alive = ways.iter().filter(|way| self.is_up(way.port));
        alive.nth(hash.checked_rem(up)?).map(|way| way.port)
    }

    /// A decision, and the ports of its candidates.
    fn decide(&mut self, node: u32, ways: &[Way], packet: &Packet) -> Option<(Decision, Vec<u32>)> {
        let hash = self.hash(node, packet);
        let ports = || ways.iter().map(|way| way.port).collect();
        let mut candidates: Vec<Candidate> = ways
            .iter()
            .map(|way| Candidate {
                path: way.c_path,
                congestion: 0,
                is_alive: self.is_up(way.port),
                buckets: way.buckets,
            })
            .collect();
        match &self.world.policy {
            RunPolicy::Buckets => Some((ecmp::decide(&candidates, hash)?, ports())),
            RunPolicy::Lcmp(config) => {
                self.judge(node, ways, &mut candidates, config);
                let decision = lcmp::decide(&candidates, hash, config)?;
                match (config.preset, decision.rule) {
                    // It falls back to all candidates in its table's order, but breaks ties of
                    // cost by port.
                    (Preset::Artifact, Rule::Scored) => by_port(ways, &candidates, hash, config),
                    _ => Some((decision, ports())),
                }
            }
        }
    }

    /// Puts each candidate's congestion in: of the last sample (`paper`), or by the artifact's
    /// monitor, which looks at every port of the switch once for each candidate.
    fn judge(
        &mut self,
        node: u32,
        ways: &[Way],
        candidates: &mut [Candidate],
        config: &LcmpConfig,
    ) {
        let first = self.world.network.nodes[node as usize].ports.start;
        let (now, base) = (self.now.nanos_trunc(), (first - self.first_port) as usize);
        for (way, candidate) in ways.iter().zip(candidates) {
            let place = (way.port - first) as usize;
            if config.preset == Preset::Artifact {
                for (watched, port) in self.dci.watched.iter_mut().zip(&self.ports[base..]) {
                    let queue = Bytes::new(port.total_bytes);
                    watched.state.observe(now, queue, config);
                }
                let watched = &mut self.dci.watched[place];
                watched.levels = watched.state.judge(&watched.thresholds, config);
            }
            candidate.congestion = self.dci.watched[place].levels.congestion;
        }
    }
}

/// The decision with the candidates in the order of their ports.
fn by_port(
    ways: &[Way],
    candidates: &[Candidate],
    hash: u32,
    config: &LcmpConfig,
) -> Option<(Decision, Vec<u32>)> {
    let mut order: Vec<usize> = (0..ways.len()).collect();
    order.sort_by_key(|&place| ways[place].port);
    let sorted: Vec<Candidate> = order.iter().map(|&place| candidates[place]).collect();
    let decision = lcmp::decide(&sorted, hash, config)?;
    Some((
        decision,
        order.iter().map(|&place| ways[place].port).collect(),
    ))
}

impl Way {
    /// A way like all others.
    const fn alike(port: u32) -> Self {
        Self {
            port,
            c_path: 0,
            buckets: 1,
        }
    }
}
