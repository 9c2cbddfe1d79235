//! Notes as rows: names for numbers, paper units for the plan's.

use lab_plan::{Flow, LinkKind, Plan, Role};
use lab_records::{
    DcPath, DecisionRow, FlowRow, FlowStatus, LinkRow, PfcEvent, PfcRow, PortRow, QueueRow,
    StoryEvent, StoryRow, SwitchRow,
};
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use super::ways::Way;
use crate::{
    network::PortFacts,
    note::{DecisionNote, PfcNote, PortNote, QueueNote, StoryNote, SwitchNote},
    simulate::Scene,
    time::SimTime,
};

/// What makes rows of one scene's notes.
pub struct RowMaker<'w> {
    scene: Scene<'w>,
    plan: &'w Plan,
    policy: &'w str,
    paper_per_emu_time: Ratio,
    paper_per_emu_size: Ratio,
    paper_per_emu_rate: Ratio,
    /// By datacenter: when its switch was last told of, and how much it had decided.
    switches: Vec<(Nanos, u64)>,
}

/// How a flow ended.
#[derive(Clone, Debug)]
pub enum End {
    /// With all its ACKs, at this time.
    At(SimTime),
    /// Otherwise, and why.
    Not {
        /// In a word.
        status: FlowStatus,
        /// In a sentence.
        reason: String,
        /// Whether it had started.
        has_started: bool,
    },
}

/// The ways of a flow's data and of its ACKs.
#[derive(Clone, Debug)]
pub struct Ways {
    pub data: Way,
    pub ack: Way,
}

impl<'w> RowMaker<'w> {
    pub fn new(scene: Scene<'w>) -> Self {
        let plan = scene.job.plan;
        let inverse = |ratio: Ratio| ratio.inverse().unwrap_or(Ratio::ONE);
        Self {
            scene,
            plan,
            policy: &plan.policies[scene.job.policy].label,
            paper_per_emu_time: inverse(plan.scale.time),
            paper_per_emu_size: inverse(plan.scale.size),
            paper_per_emu_rate: inverse(plan.scale.rate),
            switches: vec![(Nanos::ZERO, 0); plan.dcs.len()],
        }
    }

    /// A flow's ways before its first packet.
    pub fn no_ways(&self, flow: u32) -> Ways {
        let flow = &self.scene.flows[flow as usize];
        Ways {
            data: Way::from(self.dc_of(flow.src)),
            ack: Way::from(self.dc_of(flow.dst)),
        }
    }

    /// The datacenters at the ends of a port's link, this one first.
    pub fn hop(&self, port: u32) -> (u32, u32) {
        let ports = &self.scene.network.ports;
        let facts = &ports[port as usize];
        let peer = &ports[facts.peer as usize];
        (self.dc_of(facts.node), self.dc_of(peer.node))
    }

    /// The row of a flow that ended, or will not.
    pub fn flow(&self, flow: u32, end: &End, ways: &Ways) -> FlowRow {
        let simulated = &self.scene.flows[flow as usize];
        let planned = self.planned(flow);
        let (src, dst) = (
            &self.plan.nodes[planned.src.index()],
            &self.plan.nodes[planned.dst.index()],
        );
        let fct = match end {
            End::At(at) => Some((*at - simulated.start).nanos_trunc()),
            End::Not { .. } => None,
        };
        let (status, reason, has_started) = match end {
            End::At(_) => (FlowStatus::Finished, String::new(), true),
            End::Not {
                status,
                reason,
                has_started,
            } => (*status, reason.clone(), *has_started),
        };
        FlowRow {
            repetition: self.scene.job.repetition,
            flow_id: planned.id,
            policy: self.policy.to_owned(),
            cc: self.plan.transport.cc.name().to_owned(),
            semantics: Some(self.plan.transport.semantics),
            src_host: src.name.clone(),
            dst_host: dst.name.clone(),
            src_dc: self.dc_name(src.dc.0).to_owned(),
            dst_dc: self.dc_name(dst.dc.0).to_owned(),
            size_bytes: self.paper_size(planned.size_bytes),
            start_ns: self.paper_span(planned.start_ns),
            fct_ns: fct.map(|fct| self.paper_span(fct)),
            ideal_fct_ns: self.paper_span(planned.ideal_fct_ns),
            slowdown: fct.and_then(|fct| FlowRow::slowdown_of(fct, planned.ideal_fct_ns)),
            path: self.path(&ways.data, dst.dc.0),
            ack_path: self.path(&ways.ack, src.dc.0),
            status,
            reason,
            generator: GENERATOR.to_owned(),
            launch_lateness_ns: has_started.then_some(Nanos::ZERO),
            emu_size_bytes: planned.size_bytes,
            emu_start_ns: planned.start_ns,
            emu_fct_ns: fct,
            emu_ideal_fct_ns: planned.ideal_fct_ns,
            // Virtual time is counted in picoseconds, an FCT's are cut off.
            emu_fct_resolution_ns: fct.map(|_| Nanos::new(1)),
        }
    }

    /// The row of a decision; none where the candidates are not ways to another datacenter, as for
    /// packets that a DCI switch spreads over its own spines.
    pub fn decision(&self, note: &DecisionNote) -> Option<DecisionRow> {
        if !note.ports.iter().all(|&port| self.is_inter_dc(port)) {
            return None;
        }
        let simulated = &self.scene.flows[note.flow as usize];
        let tuple = if note.is_ack {
            &simulated.who.ack
        } else {
            &simulated.who.data
        };
        let scored = || note.decision.candidates().iter();
        let behind = |port: &u32| self.dc_name(self.hop(*port).1).to_owned();
        Some(DecisionRow {
            policy: self.policy.to_owned(),
            repetition: self.scene.job.repetition,
            time_ns: self.paper_time(note.at),
            switch: self.dc_name(note.dc).to_owned(),
            flow_id: Some(simulated.plan),
            src: tuple.src,
            dst: tuple.dst,
            sport: tuple.sport,
            reason: note.trigger.reason(note.decision.rule).to_owned(),
            candidates: note.ports.iter().map(behind).collect(),
            c_path: scored().map(|scored| scored.candidate.path).collect(),
            c_cong: scored().map(|scored| scored.candidate.congestion).collect(),
            cost: scored().map(|scored| scored.cost).collect(),
            kept: scored().map(|scored| u8::from(scored.is_kept)).collect(),
            chosen: note.ports.get(note.decision.chosen).map(behind),
        })
    }

    /// A decision as part of its flow's story.
    pub fn decided(&self, note: &DecisionNote, chosen: Option<String>) -> StoryRow {
        StoryRow {
            peer: chosen,
            ..self.event(
                note.flow,
                note.at,
                StoryEvent::Decided,
                self.dc_name(note.dc),
            )
        }
    }

    /// The row of a link's counters.
    pub fn link(&self, note: &PortNote) -> LinkRow {
        let port = &self.scene.network.ports[note.port as usize];
        let link = &self.plan.links[port.plan.link().index()];
        let sent = Bytes::new(note.counts.tx_bytes);
        let (from, to) = self.hop(note.port);
        LinkRow {
            policy: self.policy.to_owned(),
            repetition: self.scene.job.repetition,
            time_ns: self.paper_time(note.at),
            link: link.name.clone(),
            from_dc: self.dc_name(from).to_owned(),
            to_dc: self.dc_name(to).to_owned(),
            tx_bytes: self.paper_size(sent),
            emu_tx_bytes: sent,
            rate_bps: self.paper_rate(note.rate, link),
            drops: note.counts.drops,
            tx_packets: Some(note.counts.tx_packets),
            marks: Some(note.counts.marks),
        }
    }

    /// The row of a port's totals.
    pub fn port(&self, note: &PortNote) -> PortRow {
        let port = &self.scene.network.ports[note.port as usize];
        let link = &self.plan.links[port.plan.link().index()];
        let counts = &note.counts;
        let sent = Bytes::new(counts.tx_bytes);
        PortRow {
            policy: self.policy.to_owned(),
            repetition: self.scene.job.repetition,
            time_ns: self.paper_time(note.at),
            node: self.node_name(port.node).to_owned(),
            port: self.interface(note.port).to_owned(),
            peer: self.node_name(self.peer_of(port)).to_owned(),
            rate_bps: self.paper_rate(note.rate, link),
            tx_bytes: self.paper_size(sent),
            emu_tx_bytes: sent,
            tx_packets: counts.tx_packets,
            marks: counts.marks,
            drops: counts.drops,
            peak_queue_bytes: self.paper_size(Bytes::new(counts.peak_bytes)),
            pauses: counts.pauses,
            paused_ns: self.paper_span(counts.paused.nanos_trunc()),
        }
    }

    /// The row of an egress queue.
    pub fn queue(&self, note: &QueueNote) -> QueueRow {
        let (from, to) = self.hop(note.port);
        let backlog = Bytes::new(note.bytes);
        QueueRow {
            policy: self.policy.to_owned(),
            repetition: self.scene.job.repetition,
            time_ns: self.paper_time(note.at),
            switch: self.dc_name(from).to_owned(),
            port: self.interface(note.port).to_owned(),
            to_dc: self.dc_name(to).to_owned(),
            backlog_bytes: self.paper_size(backlog),
            emu_backlog_bytes: backlog,
            queue_level: note.levels.queue,
            trend_level: note.levels.trend,
            duration_level: note.levels.duration,
            congestion_cost: note.levels.congestion,
        }
    }

    /// The row of a DCI switch; its pace is that since the row before.
    pub fn switch(&mut self, note: &SwitchNote) -> SwitchRow {
        let (time, tally) = (self.paper_time(note.at), note.tally);
        let now = (time, tally.decisions);
        let before = std::mem::replace(&mut self.switches[note.dc as usize], now);
        let span = time.saturating_sub(before.0);
        SwitchRow {
            policy: self.policy.to_owned(),
            repetition: self.scene.job.repetition,
            time_ns: time,
            switch: self.dc_name(note.dc).to_owned(),
            occupancy: note.flows,
            decisions: tally.decisions,
            decisions_per_s: SwitchRow::pace_of(tally.decisions - before.1, span),
            failovers: tally.failovers,
            fallbacks: tally.fallbacks,
            // Its tables are right at every moment, and nothing kills its agent.
            stale: 0,
            restarts: 0,
            evicted: note.evicted,
            expired: note.expired,
            hits: tally.hits,
        }
    }

    /// The row of a pause or resume.
    pub fn pfc(&self, note: &PfcNote) -> PfcRow {
        let port = &self.scene.network.ports[note.port as usize];
        PfcRow {
            policy: self.policy.to_owned(),
            repetition: self.scene.job.repetition,
            time_ns: self.paper_time(note.at),
            node: self.node_name(port.node).to_owned(),
            port: self.interface(note.port).to_owned(),
            peer: self.node_name(self.peer_of(port)).to_owned(),
            priority: note.class,
            event: if note.is_pause {
                PfcEvent::Pause
            } else {
                PfcEvent::Resume
            },
        }
    }

    /// The row of something that happened to a flow.
    pub fn story(&self, note: &StoryNote) -> StoryRow {
        let node = &self.scene.network.nodes[note.node as usize];
        let is_pause = matches!(note.event, StoryEvent::Paused | StoryEvent::Resumed);
        // A host has one port, so the node that paused it is at the other end of that.
        let port = &self.scene.network.ports[node.ports.start as usize];
        let pauser = || self.node_name(self.scene.network.ports[port.peer as usize].node);
        let payload = u64::from(self.plan.transport.payload_bytes);
        let offset = |packet: u32| self.paper_size(Bytes::new(u64::from(packet) * payload));
        let rate = note.rate.and_then(BitsPerSec::new);
        StoryRow {
            peer: (is_pause && node.role == Role::Host).then(|| pauser().to_owned()),
            rate_bps: rate.map(|rate| self.scaled_rate(rate)),
            offset_bytes: note.packet.map(offset),
            ..self.event(note.flow, note.at, note.event, self.node_name(note.node))
        }
    }

    fn event(&self, flow: u32, at: SimTime, event: StoryEvent, node: &str) -> StoryRow {
        StoryRow {
            policy: self.policy.to_owned(),
            repetition: self.scene.job.repetition,
            flow_id: self.scene.flows[flow as usize].plan,
            time_ns: self.paper_time(at),
            event,
            count: 1,
            node: node.to_owned(),
            peer: None,
            rate_bps: None,
            offset_bytes: None,
        }
    }

    /// The flow in the plan.
    fn planned(&self, flow: u32) -> &'w Flow {
        &self.plan.flows[self.scene.flows[flow as usize].plan.index()]
    }

    fn path(&self, way: &Way, to: u32) -> Option<DcPath> {
        let crossed = way.to(to)?;
        Some(DcPath::new(crossed.iter().map(|&dc| self.dc_name(dc))))
    }

    fn is_inter_dc(&self, port: u32) -> bool {
        let link = self.scene.network.ports[port as usize].plan.link();
        self.plan.links[link.index()].kind == LinkKind::InterDc
    }

    fn interface(&self, port: u32) -> &str {
        let port = self.scene.network.ports[port as usize].plan;
        &self.plan.ports[port.index()].interface
    }

    fn node_name(&self, node: u32) -> &str {
        let node = self.scene.network.nodes[node as usize].plan;
        &self.plan.nodes[node.index()].name
    }

    /// The node at the other end of a port.
    fn peer_of(&self, port: &PortFacts) -> u32 {
        self.scene.network.ports[port.peer as usize].node
    }

    fn dc_of(&self, node: u32) -> u32 {
        self.scene.network.nodes[node as usize].dc
    }

    fn dc_name(&self, dc: u32) -> &str {
        &self.plan.dcs[dc as usize].name
    }

    /// A point in paper time.
    pub fn paper_time(&self, at: SimTime) -> Nanos {
        self.paper_span(at.nanos_trunc())
    }

    fn paper_span(&self, span: Nanos) -> Nanos {
        Nanos::new(self.paper_per_emu_time.scale_nearest(span.get()))
    }

    fn paper_size(&self, size: Bytes) -> Bytes {
        Bytes::new(self.paper_per_emu_size.scale_nearest(size.get()))
    }

    /// A link's rate; as the scenario has it unless a fault changed it.
    fn paper_rate(&self, rate: BitsPerSec, link: &lab_plan::Link) -> BitsPerSec {
        if rate == link.emu.rate_bps {
            link.paper.rate_bps
        } else {
            self.scaled_rate(rate)
        }
    }

    fn scaled_rate(&self, rate: BitsPerSec) -> BitsPerSec {
        BitsPerSec::new(self.paper_per_emu_rate.scale_nearest(rate.get())).unwrap_or(rate)
    }
}

/// What `flows.csv` calls the program that made the flows.
const GENERATOR: &str = "sim";
