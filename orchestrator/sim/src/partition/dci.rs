//! Forwarding at a DCI switch: its tables, and the choice of each packet's egress port.

use lab_abi::rows::Counters;
use lab_plan::Role;
use lab_policy::{
    LcmpConfig, Path, Preset, Rule, Trigger,
    lcmp::{Levels, PortProvision, PortState, PortThresholds},
    legacy,
};
use lab_units::{BitsPerSec, Bytes, Nanos};
use rustc_hash::FxHashMap;

use super::{
    Partition, agent::WithoutAgent, flow_ageing::FlowAgeing, flow_table::FlowTable,
    te_weights::TeWeights,
};
use crate::{
    cc::CongestionControl,
    packet::{Kind, Packet},
    port::Port,
    semantics::SemanticsRules,
    time::SimTime,
    trace::{DecisionEvent, Hop, TraceEvent},
    world::{PortCandidate, RunPolicy, Transits, World},
};

/// State of the agent at a DCI switch.
pub(super) struct Dci<'w> {
    /// Candidates by destination datacenter.
    pub candidates: Vec<&'w [PortCandidate]>,
    /// Transit rows; `None` without tunnels.
    pub transits: Option<&'w Transits>,
    pub table: FlowTable,
    pub counters: Counters,
    /// Monitors of all ports of the switch, in port order; empty under policies other than LCMP.
    pub monitored: Vec<MonitoredPort>,
    /// Flow sizes counted so far; `None` unless the policy is UCMP with flow ageing.
    pub flow_ageing: Option<FlowAgeing>,
    /// Time without the switch's agent; `None` while the agent runs.
    pub without_agent: Option<WithoutAgent>,
    /// TE weights; `None` unless the policy is traffic engineering and the switch has an agent.
    pub te_weights: Option<TeWeights>,
    /// Egress port of each flow's latest data packet; `None` if a flow moves to another port only by a decision.
    pub latest_ports: Option<FxHashMap<u32, u32>>,
}

/// LCMP's monitor of one port's queue (Sec. 3.3).
pub(super) struct MonitoredPort {
    pub state: PortState,
    pub thresholds: PortThresholds,
    pub levels: Levels,
}

impl<'w> Dci<'w> {
    pub fn new<S: SemanticsRules, C: CongestionControl>(
        world: &'w World<'_, S, C>,
        dc: u32,
    ) -> Self {
        let switch = &world.switches[dc as usize];
        let candidates: Vec<&[PortCandidate]> =
            switch.candidates.iter().map(Vec::as_slice).collect();
        let ports = world.network.nodes[switch.node as usize].ports.clone();
        let monitor = |config| {
            let monitored = |port: u32| {
                let link = world.network.ports[port as usize].plan.link();
                let wire = &world.plan.links[link.index()].emu;
                MonitoredPort::new(world, wire, config)
            };
            ports.map(monitored).collect()
        };
        let (monitored, flow_ageing) = match &world.policy {
            RunPolicy::Buckets | RunPolicy::Own(_) => (Vec::new(), None),
            RunPolicy::FlowAgeing(config) => {
                let ageing = FlowAgeing::new(*config, world.paper, &candidates);
                (Vec::new(), Some(ageing))
            }
            RunPolicy::Lcmp(config) => (monitor(config), None),
        };
        Self {
            candidates,
            transits: world.transits.first().map(|(_, rows)| &rows[dc as usize]),
            table: FlowTable::new(world.flow_table.entries),
            counters: Counters::default(),
            monitored,
            flow_ageing,
            without_agent: None,
            te_weights: TeWeights::new(world, dc),
            latest_ports: {
                let is_hashed = S::PINS_EVERYTHING && world.is_plain_ecmp;
                let pins = !switch.is_legacy && !is_hashed;
                let can_move = !pins && !world.plan.faults.is_empty();
                // A single candidate is taken without a decision, even if it has replaced another one.
                (can_move || world.reconverges).then(FxHashMap::default)
            },
        }
    }

    /// Installs new candidates for the datacenter `to_dc`, from the control plane.
    pub fn provision(&mut self, to_dc: u32, candidates: &'w [PortCandidate]) {
        self.candidates[to_dc as usize] = candidates;
        if let Some(ageing) = &mut self.flow_ageing {
            ageing.provision(to_dc, candidates);
        }
        if let Some(te_weights) = &mut self.te_weights {
            te_weights.provision(to_dc);
        }
    }
}

impl MonitoredPort {
    fn new<S: SemanticsRules, C: CongestionControl>(
        world: &World<'_, S, C>,
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

    /// Computes and installs LCMP's thresholds for the port's current rate and buffer.
    pub fn provision<S: SemanticsRules, C: CongestionControl>(
        &mut self,
        world: &World<'_, S, C>,
        wire: &lab_plan::WirePlan,
    ) {
        if let RunPolicy::Lcmp(config) = &world.policy {
            self.thresholds = Self::new(world, wire, config).thresholds;
        }
    }

    /// Resets the monitor to the port's queue at `now`, as a newly started agent does.
    pub fn restart(&mut self, now: SimTime, port: &Port, config: &LcmpConfig) {
        self.state = PortState::holding(now.nanos_trunc(), Bytes::new(port.total_bytes));
        if config.preset == Preset::Paper {
            self.sample(now, port, config);
        }
    }

    /// Takes the periodic sample of the port's queue.
    pub fn sample(&mut self, now: SimTime, port: &Port, config: &LcmpConfig) {
        let queue = Bytes::new(port.total_bytes);
        self.levels = self
            .state
            .sample(now.nanos_trunc(), queue, &self.thresholds, config);
    }
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Returns the egress port of `packet` at the DCI switch `node`; `None` if no candidate is up.
    #[inline]
    pub(super) fn dci_egress(&mut self, node: u32, ingress: u32, packet: &Packet) -> Option<u32> {
        let world = self.world;
        let to_dc = world.network.host_dcs[usize::from(packet.to)];
        let is_local = to_dc == self.dc;
        let is_legacy = world.switches[self.dc as usize].is_legacy;
        if is_local {
            if !S::PINS_EVERYTHING || is_legacy {
                return self.hash_next_hop(node, packet);
            }
            let hops = world.network.next_hops_to(node, packet.to);
            let candidates: Vec<PortCandidate> = hops
                .iter()
                .map(|&port| PortCandidate::uniform(port))
                .collect();
            return self.pinned_egress(node, to_dc, &candidates, packet);
        }
        if let Some(row) = self.transit(ingress, packet) {
            return row.filter(|port| self.is_up(*port));
        }
        let candidates = self.dci.candidates[to_dc as usize];
        let decisions = self.dci.counters.decisions();
        let chosen = if is_legacy {
            self.hash_threshold(node, candidates, packet)
        } else {
            self.count_demand(to_dc, packet);
            self.pinned_egress(node, to_dc, candidates, packet)
        };
        if let Some(port) = chosen {
            let is_decided = self.dci.counters.decisions() != decisions;
            self.trace_hop(packet, port, is_decided);
        }
        chosen
    }

    /// Returns the egress port, up or down, of a packet whose tunnel another datacenter's switch has chosen;
    /// `Some(None)` if this switch has no row for it. `None` if this switch chooses, or there are no tunnels.
    #[inline]
    fn transit(&self, ingress: u32, packet: &Packet) -> Option<Option<u32>> {
        let transits = self.dci.transits?;
        let network = &self.world.network;
        let flow = &self.world.flows[packet.flow as usize];
        let from = if packet.kind() == Kind::Data {
            flow.src
        } else {
            flow.dst
        };
        let from_dc = network.nodes[from as usize].dc;
        let to_dc = network.host_dcs[usize::from(packet.to)];
        let row = || transits.get(&(from_dc, to_dc, ingress)).copied();
        (from_dc != self.dc).then(row)
    }

    /// Returns the port at which a packet without a next hop is counted as dropped: the dead port of its tunnel, or to
    /// which its flow is pinned, else the first candidate's port. A packet is counted at `ingress` if the switch is not
    /// a DCI switch, or is in the destination datacenter.
    #[cold]
    pub(super) fn dead_end(&mut self, ingress: u32, packet: &Packet) -> u32 {
        let to_dc = self.world.network.host_dcs[usize::from(packet.to)];
        if self.port(ingress).role != Role::DciSwitch || to_dc == self.dc {
            return ingress;
        }
        if let Some(row) = self.transit(ingress, packet) {
            return row.unwrap_or(ingress);
        }
        let key = self.key_of(packet);
        let pinned = self.dci.table.touch(key, self.now);
        let first = self.dci.candidates[to_dc as usize].first();
        pinned
            .or(first.map(|candidate| candidate.port))
            .unwrap_or(ingress)
    }

    /// Returns the key of the packet's flow in the flow table.
    #[inline]
    fn key_of(&self, packet: &Packet) -> u64 {
        let identity = &self.world.flows[packet.flow as usize].identity;
        if packet.kind() == Kind::Data {
            identity.data_key
        } else {
            identity.ack_key
        }
    }

    /// Traces the port through which a flow's packets leave: for its first data packet, for data packets with a
    /// decision, and for the first ACK. With SoftRoCE, every ACK is traced, because it sends few ACKs and the first one
    /// has no fixed number. A flow moves without a decision if it is not pinned and a port goes down or up, or if a
    /// reconvergence replaces its single candidate.
    #[inline]
    fn trace_hop(&mut self, packet: &Packet, port: u32, is_decided: bool) {
        let is_ack = packet.kind() != Kind::Data;
        let first = if is_ack { 1 + packet.followers() } else { 0 };
        let is_numbered_first = u64::from(packet.seq) == first && packet.kind() != Kind::Cnp;
        let is_first = is_numbered_first || (S::IS_RXE && is_ack);
        let is_moved = !is_ack && (is_decided || self.is_moved(packet.flow, port));
        if is_first || is_moved {
            self.trace.push(TraceEvent::Hop(Hop {
                at: self.now,
                flow: packet.flow,
                is_ack,
                packet: packet.seq,
                port,
            }));
        }
    }

    /// Records the port of a flow that can move without a decision; returns true if it differs from the flow's previous
    /// port.
    #[inline]
    fn is_moved(&mut self, flow: u32, port: u32) -> bool {
        self.dci
            .latest_ports
            .as_mut()
            .is_some_and(|ports| ports.insert(flow, port) != Some(port))
    }

    /// Returns the port to which the packet's flow is pinned, after making a decision if one is due.
    #[inline]
    fn pinned_egress(
        &mut self,
        node: u32,
        to_dc: u32,
        candidates: &[PortCandidate],
        packet: &Packet,
    ) -> Option<u32> {
        let world = self.world;
        if !S::PINS_EVERYTHING {
            if let [only] = candidates {
                return self.is_up(only.port).then_some(only.port);
            }
        } else if world.is_plain_ecmp {
            return self.hash_modulo(node, candidates, packet);
        }
        let key = self.key_of(packet);
        let seen = self.dci.table.touch(key, self.now);
        let pinned = self.still_candidate(key, seen, candidates);
        let crosses_threshold = self.count_flow_bytes(key, to_dc, packet, pinned.is_some());
        let trigger = self.failover(pinned, || {
            let port = pinned.filter(|_| crosses_threshold);
            port.is_some_and(|port| !self.is_still_cheapest(key, to_dc, candidates, port))
        });
        let Some(trigger) = trigger else {
            self.dci.counters.hits += 1;
            return pinned;
        };
        let (decision, ports) = self.decide(node, to_dc, candidates, key, packet)?;
        let port = ports[decision.chosen];
        self.pin(key, port);
        self.dci.counters.count(trigger, decision.rule);
        self.dci.counters.stale += u64::from(decision.rule == Rule::Stale);
        self.work.reroutes += u64::from(trigger != Trigger::NewFlow);
        self.trace
            .push(TraceEvent::Decision(Box::new(DecisionEvent {
                at: self.now,
                dc: self.dc,
                flow: packet.flow,
                is_ack: packet.kind() != Kind::Data,
                trigger,
                signal_age: self.signal_age(),
                decision,
                ports,
            })));
        Some(port)
    }

    /// Returns the port to which flow `key` is pinned if it is still a candidate, and unpins the flow otherwise.
    ///
    /// After a reconvergence, a flow keeps its next hop only as a candidate: elsewhere, the next switch could send its
    /// packets back.
    #[inline]
    fn still_candidate(
        &mut self,
        key: u64,
        pinned: Option<u32>,
        candidates: &[PortCandidate],
    ) -> Option<u32> {
        let port = pinned?;
        let is_candidate = || candidates.iter().any(|candidate| candidate.port == port);
        if !self.world.reconverges || is_candidate() {
            return Some(port);
        }
        self.dci.table.unpin(key);
        None
    }

    /// Counts a packet's bytes for flow ageing; returns true if its flow is pinned and has crossed a size threshold.
    #[inline]
    fn count_flow_bytes(&mut self, key: u64, to_dc: u32, packet: &Packet, is_pinned: bool) -> bool {
        let bytes = self.size_of(packet);
        let Some(ageing) = &mut self.dci.flow_ageing else {
            return false;
        };
        if !is_pinned {
            ageing.forget(key);
        }
        ageing.count(key, to_dc, bytes) && is_pinned
    }

    /// Returns true if `port` is still among the cheapest candidates for the flow's current size.
    fn is_still_cheapest(
        &self,
        key: u64,
        to_dc: u32,
        candidates: &[PortCandidate],
        port: u32,
    ) -> bool {
        let index = candidates
            .iter()
            .position(|candidate| candidate.port == port);
        index
            .zip(self.dci.flow_ageing.as_ref())
            .is_some_and(|(index, ageing)| ageing.buckets_of(key, to_dc, index) > 0)
    }

    /// Chooses a port as the artifact's plain ECMP does: index = flow hash modulo the number of live candidates.
    fn hash_modulo(&self, node: u32, candidates: &[PortCandidate], packet: &Packet) -> Option<u32> {
        let hash = self.hash(node, packet) as usize;
        let index = hash.checked_rem(self.live(candidates).count())?;
        self.live(candidates).nth(index)
    }

    /// Chooses a port as ECMP routes of the kernel do: live candidates share the range of hashes, divided by
    /// thresholds.
    fn hash_threshold(
        &self,
        node: u32,
        candidates: &[PortCandidate],
        packet: &Packet,
    ) -> Option<u32> {
        let live = self.live(candidates).count();
        let index = legacy::hash_threshold(live, self.hash(node, packet))?;
        self.live(candidates).nth(index)
    }

    /// Returns the ports of those candidates that are up.
    fn live(&self, candidates: &[PortCandidate]) -> impl Iterator<Item = u32> {
        let ports = candidates.iter().map(|candidate| candidate.port);
        ports.filter(|&port| self.is_up(port))
    }
}

impl PortCandidate {
    /// Returns a candidate with constant attributes, for ports that are all equally good.
    const fn uniform(port: u32) -> Self {
        let rate = BitsPerSec::new(1).expect("it is not zero");
        Self {
            port,
            c_path: 0,
            buckets: 1,
            path: Path {
                delay: Nanos::ZERO,
                capacity: rate,
                link_rate: rate,
                hops: 0,
            },
        }
    }
}
