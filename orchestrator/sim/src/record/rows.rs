//! Conversion of trace events to rows, in which the plan's names replace the simulator's numbers.

use lab_plan::{Flow, LinkKind, Role};
use lab_recorder::{
    CandidateScore, FlowGenerator, FlowResult, Hops, LinkCounters, NumberedDecision, Packets,
    PortTotals, QueueLevels, ReachedDc, RowMaker, Split, SwitchCounters, SwitchDecision,
};
use lab_records::{
    DecisionRow, FlowRow, FlowStatus, LinkRow, PathRow, PfcEvent, PfcRow, PortRow, QueueRow,
    RateRow, SplitRow, StoryEvent, StoryRow, SwitchRow,
};
use lab_units::{BitsPerSec, Bytes, DcId, Nanos, PortId};

use crate::{
    simulate::RunContext,
    time::SimTime,
    trace::{
        DecisionEvent, FlowEvent, PfcSignal, PortSample, QueueSample, RateSample, SplitEvent,
        SwitchSample,
    },
};

/// Converter of one run's trace events to rows.
pub struct EventRows<'w> {
    context: RunContext<'w>,
    rows: RowMaker<'w>,
    /// Datacenters at the two ends of each port's link, the port's own first.
    hops: Vec<(DcId, ReachedDc)>,
}

/// Hops that a flow's data packets and its ACKs took.
#[derive(Clone, Debug, Default)]
pub struct FlowHops {
    pub data: Hops,
    pub ack: Hops,
}

/// End of a flow, as its row reports it.
#[derive(Clone, Debug)]
pub enum End {
    /// The flow finished: its sender had received all ACKs at this time.
    At(SimTime),
    /// The flow did not finish.
    Not {
        status: FlowStatus,
        /// Reason in words for the row.
        reason: String,
        has_started: bool,
    },
}

impl<'w> EventRows<'w> {
    pub fn new(context: RunContext<'w>) -> Self {
        let plan = context.job.plan;
        let generator = FlowGenerator {
            program: GENERATOR,
            congestion_control: plan.transport.cc.name(),
            semantics: Some(plan.transport.semantics),
        };
        let policy = &plan.policies[context.job.policy].label;
        let ports = context.network.ports.iter();
        let hops = ports.map(|port| {
            let from = context.network.nodes[port.node as usize].dc;
            (DcId(from), ReachedDc::through(plan, port.plan))
        });
        Self {
            context,
            rows: RowMaker::new(plan, policy, context.job.repetition, generator),
            hops: hops.collect(),
        }
    }

    /// Returns the datacenters at the two ends of a port's link, the port's own first.
    pub fn hop(&self, port: u32) -> (DcId, ReachedDc) {
        self.hops[port as usize]
    }

    pub fn flow(&self, flow: u32, end: &End, hops: &FlowHops) -> FlowRow {
        let simulated = &self.context.flows[flow as usize];
        let planned: &Flow = &self.rows.plan.flows[simulated.plan.index()];
        let dc = |node: lab_units::NodeId| self.rows.plan.nodes[node.index()].dc;
        let src = dc(planned.src);
        let dst = dc(planned.dst);
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
        // A switch without a recorded hop is crossed over its single candidate, if it has one. Its tables are those in
        // force when packets sent at the flow's start reach it.
        let path = |hops: &Hops, ends| {
            let path = hops.path(self.rows.plan, ends, planned.start_ns);
            path.filter(|_| has_started)
        };
        let result = FlowResult {
            start: planned.start_ns,
            fct,
            // Virtual time is in picoseconds; the FCT is cut to whole nanoseconds.
            fct_resolution: fct.map(|_| Nanos::new(1)),
            lateness: has_started.then_some(Nanos::ZERO),
            status,
            reason,
            path: path(&hops.data, [src, dst]),
            ack_path: path(&hops.ack, [dst, src]),
        };
        self.rows.flow(planned, result)
    }

    /// Returns the rows of a re-routed flow's paths; empty for a flow that was never re-routed. `row` is the flow's row.
    pub fn paths(&self, flow: u32, row: &FlowRow, hops: &FlowHops) -> Vec<PathRow> {
        if !hops.data.are_rerouted() {
            return Vec::new();
        }
        let simulated = &self.context.flows[flow as usize];
        let planned: &Flow = &self.rows.plan.flows[simulated.plan.index()];
        let dc = |node: lab_units::NodeId| self.rows.plan.nodes[node.index()].dc;
        let ends = [dc(planned.src), dc(planned.dst)];
        let packets = Packets {
            messages: u64::from(simulated.packets / simulated.message_packets.max(1)),
            of_message: simulated.message_packets.into(),
            message_bytes: simulated.message_bytes,
            payload: self.rows.plan.transport.payload_bytes.into(),
        };
        let ranges = hops
            .data
            .ranges(self.rows.plan, ends, planned.start_ns, packets);
        self.rows.paths(row, &ranges)
    }

    /// Returns a decision. Returns `None` if the port leads to the datacenter's own spines, over which a DCI switch may
    /// also spread flows.
    pub fn numbered(&self, event: &DecisionEvent) -> Option<NumberedDecision> {
        let ports = || event.ports.iter().map(|&port| self.port_id(port));
        let links = &self.rows.plan.links;
        let is_inter_dc = |port: PortId| links[port.link().index()].kind == LinkKind::InterDc;
        if !ports().all(is_inter_dc) {
            return None;
        }
        let flow = &self.context.flows[event.flow as usize];
        let tuple = if event.is_ack {
            &flow.identity.ack
        } else {
            &flow.identity.data
        };
        let decision = SwitchDecision {
            time: event.at.nanos_trunc(),
            dc: DcId(event.dc),
            flow: Some(flow.plan),
            src: tuple.src,
            dst: tuple.dst,
            sport: tuple.sport,
            trigger: event.trigger,
            rule: event.decision.rule,
            signal_age: event.signal_age,
            chosen: ports().nth(event.decision.chosen),
        };
        let scored = event.decision.candidates().iter();
        let candidates = ports().zip(scored).map(|(port, scored)| CandidateScore {
            port,
            c_path: scored.candidate.path,
            c_cong: scored.candidate.congestion,
            cost: scored.cost,
            is_kept: scored.is_kept,
        });
        Some(self.rows.numbered(&decision, candidates))
    }

    /// Returns the row of a decision.
    pub fn decision(&self, decision: &NumberedDecision) -> DecisionRow {
        self.rows.decision(decision)
    }

    /// Returns a decision as a row of the flow's story (the trace of the flow's events).
    pub fn decided(&self, event: &DecisionEvent, chosen: Option<PortId>) -> StoryRow {
        let node = self.rows.dc(DcId(event.dc));
        StoryRow {
            peer: chosen.map(|port| self.rows.next_hop(port)),
            ..self.event(event.flow, event.at, StoryEvent::Decided, node)
        }
    }

    pub fn split(&self, event: &SplitEvent) -> SplitRow {
        let split = Split {
            time: event.at.nanos_trunc(),
            dc: DcId(event.dc),
            to_dc: DcId(event.to_dc),
        };
        let buckets = event
            .buckets
            .iter()
            .map(|&(port, buckets)| (self.port_id(port), buckets));
        self.rows.split(split, &buckets.collect::<Vec<_>>())
    }

    pub fn link(&self, sample: &PortSample) -> LinkRow {
        let counters = LinkCounters {
            tx_bytes: Bytes::new(sample.counts.tx_bytes),
            tx_packets: sample.counts.tx_packets,
            drops: sample.counts.drops,
            marks: Some(sample.counts.marks),
        };
        let time = sample.at.nanos_trunc();
        self.rows
            .link(time, self.port_id(sample.port), sample.rate, counters)
    }

    pub fn port(&self, sample: &PortSample) -> PortRow {
        let counts = &sample.counts;
        let totals = PortTotals {
            tx_bytes: Bytes::new(counts.tx_bytes),
            tx_packets: counts.tx_packets,
            marks: counts.marks,
            drops: counts.drops,
            peak_queue: Bytes::new(counts.peak_bytes),
            pauses: counts.pauses,
            paused: counts.paused.nanos_trunc(),
        };
        let time = sample.at.nanos_trunc();
        self.rows
            .port(time, self.port_id(sample.port), sample.rate, totals)
    }

    pub fn queue(&self, sample: &QueueSample) -> QueueRow {
        let levels = QueueLevels {
            queue: sample.levels.queue,
            trend: sample.levels.trend,
            duration: sample.levels.duration,
            congestion: sample.levels.congestion,
        };
        let time = sample.at.nanos_trunc();
        let backlog = Bytes::new(sample.bytes);
        self.rows
            .queue(time, self.port_id(sample.port), backlog, levels)
    }

    pub fn switch(&mut self, sample: &SwitchSample) -> SwitchRow {
        let counters = SwitchCounters {
            counters: sample.counters,
            occupancy: sample.flows,
            evicted: sample.evicted,
            expired: sample.expired,
            agent: None,
        };
        let time = sample.at.nanos_trunc();
        self.rows.switch(time, DcId(sample.dc), counters)
    }

    pub fn rate(&self, sample: &RateSample) -> RateRow {
        let flow = self.context.flows[sample.flow as usize].plan;
        self.rows.rate(sample.at.nanos_trunc(), flow, &sample.qp)
    }

    pub fn pfc(&self, signal: &PfcSignal) -> PfcRow {
        let event = if signal.is_pause {
            PfcEvent::Pause
        } else {
            PfcEvent::Resume
        };
        let time = signal.at.nanos_trunc();
        self.rows
            .pfc(time, self.port_id(signal.port), signal.class, event)
    }

    pub fn story(&self, event: &FlowEvent) -> StoryRow {
        let node = &self.context.network.nodes[event.node as usize];
        let is_pause = matches!(event.event, StoryEvent::Paused | StoryEvent::Resumed);
        // A host has one port, so its peer is the node that paused it.
        let port = &self.context.network.ports[node.ports.start as usize];
        let pauser = || self.node_name(self.context.network.ports[port.peer as usize].node);
        let payload = u64::from(self.rows.plan.transport.payload_bytes);
        let offset = |packet: u32| {
            let bytes = Bytes::new(u64::from(packet) * payload);
            self.rows.paper.size(bytes)
        };
        let rate = event.rate.and_then(BitsPerSec::new);
        StoryRow {
            peer: (is_pause && node.role == Role::Host).then(pauser),
            rate_bps: rate.map(|rate| self.rows.paper.rate(rate)),
            offset_bytes: event.packet.map(offset),
            ..self.event(
                event.flow,
                event.at,
                event.event,
                self.node_name(event.node),
            )
        }
    }

    /// Converts a virtual time to the paper's scale (before scaling for emulation).
    pub fn paper_time(&self, at: SimTime) -> Nanos {
        self.rows.paper.time(at.nanos_trunc())
    }

    fn event(&self, flow: u32, at: SimTime, event: StoryEvent, node: String) -> StoryRow {
        let flow = self.context.flows[flow as usize].plan;
        self.rows.story(at.nanos_trunc(), flow, event, node)
    }

    fn port_id(&self, port: u32) -> PortId {
        self.context.network.ports[port as usize].plan
    }

    fn node_name(&self, node: u32) -> String {
        let node = self.context.network.nodes[node as usize].plan;
        self.rows.plan.nodes[node.index()].name.clone()
    }
}

/// Value of the column `generator` of `flows.csv` for simulated flows.
const GENERATOR: &str = "sim";
