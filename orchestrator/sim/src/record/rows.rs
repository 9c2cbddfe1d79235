//! Notes of a simulation as rows: the simulator's numbers become the plan's ids.

use lab_plan::{Flow, LinkKind, Role};
use lab_recorder::{
    CandidateScore, Decision, FlowGenerator, FlowResult, LinkCounters, PortTotals, QueueLevels,
    RowMaker, SwitchCounters,
};
use lab_records::{
    DecisionRow, FlowRow, FlowStatus, LinkRow, PfcEvent, PfcRow, PortRow, QueueRow, StoryEvent,
    StoryRow, SwitchRow,
};
use lab_units::{BitsPerSec, Bytes, DcId, Nanos, PortId};

use super::paths::{FlowPaths, PathTrace};
use crate::{
    note::{DecisionNote, PfcNote, PortNote, QueueNote, StoryNote, SwitchNote},
    simulate::Scene,
    time::SimTime,
};

/// Maker of the rows of one run's notes.
pub struct NoteRows<'w> {
    scene: Scene<'w>,
    rows: RowMaker<'w>,
}

/// End of a flow.
#[derive(Clone, Debug)]
pub enum End {
    /// Time at which the sender had all ACKs.
    At(SimTime),
    /// The flow did not finish.
    Not {
        status: FlowStatus,
        /// Reason, for people.
        reason: String,
        has_started: bool,
    },
}

impl<'w> NoteRows<'w> {
    pub fn new(scene: Scene<'w>) -> Self {
        let plan = scene.job.plan;
        let generator = FlowGenerator {
            program: GENERATOR,
            congestion_control: plan.transport.cc.name(),
            semantics: Some(plan.transport.semantics),
        };
        let policy = &plan.policies[scene.job.policy].label;
        let rows = RowMaker::new(plan, policy, scene.job.repetition, generator);
        Self { scene, rows }
    }

    /// Returns a flow's paths before its first packet.
    pub fn no_paths(&self, flow: u32) -> FlowPaths {
        let flow = &self.scene.flows[flow as usize];
        FlowPaths {
            data: PathTrace::from(self.dc_of(flow.src)),
            ack: PathTrace::from(self.dc_of(flow.dst)),
        }
    }

    /// Returns the datacenters at the ends of a port's link, the port's own first.
    pub fn hop(&self, port: u32) -> (DcId, DcId) {
        let ports = &self.scene.network.ports;
        let facts = &ports[port as usize];
        let peer = &ports[facts.peer as usize];
        (self.dc_of(facts.node), self.dc_of(peer.node))
    }

    pub fn flow(&self, flow: u32, end: &End, paths: &FlowPaths) -> FlowRow {
        let simulated = &self.scene.flows[flow as usize];
        let planned: &Flow = &self.rows.plan.flows[simulated.plan.index()];
        let dc = |node: lab_units::NodeId| self.rows.plan.nodes[node.index()].dc;
        let path = |trace: &PathTrace, to| {
            let crossed = trace.to(to)?;
            Some(self.rows.path(crossed.iter().copied()))
        };
        let (fct, status, reason, has_started) = match end {
            End::At(at) => {
                let fct = (*at - simulated.start).nanos_trunc();
                (Some(fct), FlowStatus::Finished, String::new(), true)
            }
            End::Not {
                status,
                reason,
                has_started,
            } => (None, *status, reason.clone(), *has_started),
        };
        let result = FlowResult {
            start: planned.start_ns,
            fct,
            // Virtual time is counted in picoseconds, an FCT's are cut off.
            fct_resolution: fct.map(|_| Nanos::new(1)),
            lateness: has_started.then_some(Nanos::ZERO),
            status,
            reason,
            path: path(&paths.data, dc(planned.dst)),
            ack_path: path(&paths.ack, dc(planned.src)),
        };
        self.rows.flow(planned, result)
    }

    /// Returns the row of a decision; none for a candidate inside the datacenter, as for packets that
    /// a DCI switch spreads over its own spines.
    pub fn decision(&self, note: &DecisionNote) -> Option<DecisionRow> {
        let ports = || note.ports.iter().map(|&port| self.port_id(port));
        let links = &self.rows.plan.links;
        let is_inter_dc = |port: PortId| links[port.link().index()].kind == LinkKind::InterDc;
        if !ports().all(is_inter_dc) {
            return None;
        }
        let flow = &self.scene.flows[note.flow as usize];
        let tuple = if note.is_ack {
            &flow.who.ack
        } else {
            &flow.who.data
        };
        let decision = Decision {
            time: note.at.nanos_trunc(),
            dc: DcId(note.dc),
            flow: Some(flow.plan),
            src: tuple.src,
            dst: tuple.dst,
            sport: tuple.sport,
            trigger: note.trigger,
            rule: note.decision.rule,
            chosen: ports().nth(note.decision.chosen),
        };
        let scores = note.decision.candidates().iter();
        let scores = scores.map(|scored| CandidateScore {
            c_path: scored.candidate.path,
            c_cong: scored.candidate.congestion,
            cost: scored.cost,
            is_kept: scored.is_kept,
        });
        Some(self.rows.decision(&decision, ports(), scores))
    }

    /// Returns a decision as an event of its flow's story.
    pub fn decided(&self, note: &DecisionNote, chosen: Option<String>) -> StoryRow {
        let node = self.rows.dc(DcId(note.dc));
        StoryRow {
            peer: chosen,
            ..self.event(note.flow, note.at, StoryEvent::Decided, node)
        }
    }

    pub fn link(&self, note: &PortNote) -> LinkRow {
        let counters = LinkCounters {
            tx_bytes: Bytes::new(note.counts.tx_bytes),
            tx_packets: note.counts.tx_packets,
            drops: note.counts.drops,
            marks: Some(note.counts.marks),
        };
        let time = note.at.nanos_trunc();
        self.rows
            .link(time, self.port_id(note.port), note.rate, counters)
    }

    pub fn port(&self, note: &PortNote) -> PortRow {
        let counts = &note.counts;
        let totals = PortTotals {
            tx_bytes: Bytes::new(counts.tx_bytes),
            tx_packets: counts.tx_packets,
            marks: counts.marks,
            drops: counts.drops,
            peak_queue: Bytes::new(counts.peak_bytes),
            pauses: counts.pauses,
            paused: counts.paused.nanos_trunc(),
        };
        let time = note.at.nanos_trunc();
        self.rows
            .port(time, self.port_id(note.port), note.rate, totals)
    }

    pub fn queue(&self, note: &QueueNote) -> QueueRow {
        let levels = QueueLevels {
            queue: note.levels.queue,
            trend: note.levels.trend,
            duration: note.levels.duration,
            congestion: note.levels.congestion,
        };
        let (time, backlog) = (note.at.nanos_trunc(), Bytes::new(note.bytes));
        self.rows
            .queue(time, self.port_id(note.port), backlog, levels)
    }

    pub fn switch(&mut self, note: &SwitchNote) -> SwitchRow {
        let counters = SwitchCounters {
            occupancy: note.flows,
            decisions: note.tally.decisions,
            failovers: note.tally.failovers,
            fallbacks: note.tally.fallbacks,
            evicted: note.evicted,
            expired: note.expired,
            hits: note.tally.hits,
            // Tables are right at every moment, and nothing kills an agent.
            stale: 0,
            restarts: 0,
        };
        let time = note.at.nanos_trunc();
        self.rows.switch(time, DcId(note.dc), counters)
    }

    pub fn pfc(&self, note: &PfcNote) -> PfcRow {
        let event = if note.is_pause {
            PfcEvent::Pause
        } else {
            PfcEvent::Resume
        };
        let time = note.at.nanos_trunc();
        self.rows
            .pfc(time, self.port_id(note.port), note.class, event)
    }

    pub fn story(&self, note: &StoryNote) -> StoryRow {
        let node = &self.scene.network.nodes[note.node as usize];
        let is_pause = matches!(note.event, StoryEvent::Paused | StoryEvent::Resumed);
        // A host has one port, so the node that paused it is at the other end of that port.
        let port = &self.scene.network.ports[node.ports.start as usize];
        let pauser = || self.node_name(self.scene.network.ports[port.peer as usize].node);
        let payload = u64::from(self.rows.plan.transport.payload_bytes);
        let offset = |packet: u32| {
            let bytes = Bytes::new(u64::from(packet) * payload);
            self.rows.paper.size(bytes)
        };
        let rate = note.rate.and_then(BitsPerSec::new);
        StoryRow {
            peer: (is_pause && node.role == Role::Host).then(pauser),
            rate_bps: rate.map(|rate| self.rows.paper.rate(rate)),
            offset_bytes: note.packet.map(offset),
            ..self.event(note.flow, note.at, note.event, self.node_name(note.node))
        }
    }

    /// Converts a time to paper units.
    pub fn paper_time(&self, at: SimTime) -> Nanos {
        self.rows.paper.time(at.nanos_trunc())
    }

    fn event(&self, flow: u32, at: SimTime, event: StoryEvent, node: String) -> StoryRow {
        let flow = self.scene.flows[flow as usize].plan;
        self.rows.story(at.nanos_trunc(), flow, event, node)
    }

    fn port_id(&self, port: u32) -> PortId {
        self.scene.network.ports[port as usize].plan
    }

    fn node_name(&self, node: u32) -> String {
        let node = self.scene.network.nodes[node as usize].plan;
        self.rows.plan.nodes[node.index()].name.clone()
    }

    fn dc_of(&self, node: u32) -> DcId {
        DcId(self.scene.network.nodes[node as usize].dc)
    }
}

/// Name of the simulator in the column `generator` of `flows.csv`.
const GENERATOR: &str = "sim";
