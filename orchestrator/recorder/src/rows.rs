//! Conversion of measurements to rows, which have names instead of the plan's ids, and paper units beside emulated
//! ones.
//!
//! All times in arguments are emulated and relative to the repetition's start.

use std::net::Ipv4Addr;

use lab_abi::{Rule, Trigger, dcqcn::ONE_Q30, rows::Counters};
use lab_plan::{
    PaperUnits,
    model::{Flow, Link, Plan},
};
use lab_records::{
    DcPath, DecisionRow, FlowRow, FlowStatus, LinkRow, PathRow, PfcEvent, PfcRow, PortRow,
    QueueRow, RateRow, RecordsError, RunWriter, SplitRow, StoryEvent, StoryRow, SwitchRow,
};
use lab_units::{BitsPerSec, Bytes, DcId, FlowId, Nanos, NodeId, PortId, Semantics};

use crate::{
    decision::{CandidateScore, NumberedDecision},
    facts::paper_rate,
    hops::PathRange,
};

/// Rows that have not been written yet, by table.
#[derive(Debug, Default)]
pub struct RowBatch {
    pub decisions: Vec<DecisionRow>,
    /// Decisions for evidence, which needs no rows of them.
    pub numbered: Vec<NumberedDecision>,
    pub flows: Vec<FlowRow>,
    pub links: Vec<LinkRow>,
    pub paths: Vec<PathRow>,
    pub pfc: Vec<PfcRow>,
    pub ports: Vec<PortRow>,
    pub queues: Vec<QueueRow>,
    pub rates: Vec<RateRow>,
    pub splits: Vec<SplitRow>,
    pub story: Vec<StoryRow>,
    pub switches: Vec<SwitchRow>,
}

impl RowBatch {
    /// Appends all rows to their tables in the run directory.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn write(&self, writer: &mut RunWriter) -> Result<(), RecordsError> {
        writer.append(&self.decisions)?;
        writer.append(&self.pfc)?;
        writer.append(&self.queues)?;
        writer.append(&self.rates)?;
        writer.append(&self.splits)?;
        writer.append(&self.story)?;
        writer.append(&self.switches)?;
        self.write_flows(writer)
    }

    /// Appends the rows of flows and their paths, and the counters of links and ports, to their tables in the run
    /// directory.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn write_flows(&self, writer: &mut RunWriter) -> Result<(), RecordsError> {
        writer.append(&self.links)?;
        writer.append(&self.ports)?;
        writer.append_paths(&self.paths)?;
        writer.append_flows(&self.flows)
    }
}

/// Converter of measurements to rows, for one policy and repetition.
#[derive(Debug)]
pub struct RowMaker<'a> {
    pub plan: &'a Plan,
    /// Factors that convert emulated values to the paper's scale (before scaling).
    pub paper: PaperUnits,
    policy: &'a str,
    /// Index of the policy in the plan.
    policy_index: usize,
    repetition: u32,
    generator: FlowGenerator<'a>,
    /// Emulated interval between queue samples; `None` if the policy does not sample queues.
    sample_interval: Option<Nanos>,
    /// Name of the next hop through each port, see [`Plan::next_hop`].
    next_hops: Vec<String>,
    /// Time of each switch's latest row, at the paper's scale, and the switch's number of decisions until then.
    switches: Vec<(Nanos, u64)>,
}

/// Program that generated the flows of a run, and its transport.
#[derive(Clone, Copy, Debug)]
pub struct FlowGenerator<'a> {
    /// Name of the program, as in the column `generator`.
    pub program: &'a str,
    /// Name of the congestion control, as in the column `cc`.
    pub congestion_control: &'a str,
    /// Semantics of the simulated network; `None` for the kernel engine.
    pub semantics: Option<Semantics>,
}

/// Measured result of a flow; times are emulated (after scaling).
#[derive(Clone, Debug)]
pub struct FlowResult {
    /// Measured start; the planned start if the flow never started.
    pub start: Nanos,
    /// Measured FCT; `None` if the flow did not finish.
    pub fct: Option<Nanos>,
    /// Maximum error of the FCT; `None` if unknown.
    pub fct_resolution: Option<Nanos>,
    /// Measured start minus planned start; `None` if the flow never started.
    pub lateness: Option<Nanos>,
    pub status: FlowStatus,
    /// Reason why the flow did not finish; empty if it did.
    pub reason: String,
    /// Initial path of the flow's data; `None` if unknown.
    pub path: Option<DcPath>,
    /// Initial path of the flow's ACKs; `None` if unknown.
    pub ack_path: Option<DcPath>,
}

/// Decision of a DCI switch about a packet; times are emulated (after scaling).
#[derive(Clone, Copy, Debug)]
pub struct SwitchDecision {
    /// Time of the decision.
    pub time: Nanos,
    /// Datacenter of the switch.
    pub dc: DcId,
    /// Flow to which the packet belongs; `None` if it belongs to no scheduled flow.
    pub flow: Option<FlowId>,
    /// Source address of the packet.
    pub src: Ipv4Addr,
    /// Destination address of the packet.
    pub dst: Ipv4Addr,
    /// UDP source port of the packet.
    pub sport: u16,
    /// Reason why a decision was needed.
    pub trigger: Trigger,
    /// Rule by which the candidate was chosen.
    pub rule: Rule,
    /// Age of the queue sample from which C_cong was computed.
    pub signal_age: Nanos,
    /// Chosen egress port; `None` if the decision chose no port.
    pub chosen: Option<PortId>,
}

/// Congestion-control state of a sending QP.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QpRate {
    /// Current rate R_C.
    pub rate: BitsPerSec,
    /// Target rate R_T.
    pub target: BitsPerSec,
    /// Congestion estimate α, with 30 fractional bits.
    pub alpha_q30: u32,
    /// Number of CNPs received since the flow's start.
    pub cnps: u64,
}

/// Split that the traffic engineering controller installs at one switch for one destination.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// Time of the controller's tick, at which the split is installed, in emulated time (after scaling).
    pub time: Nanos,
    /// Datacenter of the switch.
    pub dc: DcId,
    /// Destination datacenter.
    pub to_dc: DcId,
}

/// Counters of one direction of a link since the repetition's start.
#[derive(Clone, Copy, Debug)]
pub struct LinkCounters {
    /// Number of bytes sent.
    pub tx_bytes: Bytes,
    /// Number of packets sent.
    pub tx_packets: u64,
    /// Number of packets dropped.
    pub drops: u64,
    /// Number of packets marked with ECN; `None` if the engine does not count marks.
    pub marks: Option<u64>,
}

/// Totals of a port at the end of a repetition.
#[derive(Clone, Copy, Debug)]
pub struct PortTotals {
    /// Number of bytes sent.
    pub tx_bytes: Bytes,
    /// Number of packets sent.
    pub tx_packets: u64,
    /// Number of packets marked with ECN.
    pub marks: u64,
    /// Number of packets dropped.
    pub drops: u64,
    /// Maximum length of the egress queue in bytes.
    pub peak_queue: Bytes,
    /// Number of times that priority flow control paused the port.
    pub pauses: u64,
    /// Total time for which the port was paused.
    pub paused: Nanos,
}

/// LCMP's levels of an egress queue, 0 to 255; all are 0 under other policies.
#[derive(Clone, Copy, Debug)]
pub struct QueueLevels {
    /// Queue level Q, from the queue length.
    pub queue: u8,
    /// Trend level T, from the queue's growth.
    pub trend: u8,
    /// Duration level D, from the time for which the queue has been above its high-water mark.
    pub duration: u8,
    /// Congestion cost C_cong.
    pub congestion: u8,
}

/// Counters of a DCI switch since the repetition's start.
#[derive(Clone, Copy, Debug, Default)]
pub struct SwitchCounters {
    /// Numbers of packets and decisions.
    pub counters: Counters,
    /// Number of flows in the flow table.
    pub occupancy: u64,
    /// Number of flows evicted because the flow table was full.
    pub evicted: u64,
    /// Number of idle flows that flow-cache garbage collection removed.
    pub expired: u64,
    /// Counts of the switch's agent; `None` in the simulator, whose agents never restart and whose samples are never
    /// late.
    pub agent: Option<AgentCounts>,
}

/// Counts of a switch's agent since the repetition's start.
#[derive(Clone, Copy, Debug, Default)]
pub struct AgentCounts {
    /// Number of restarts after the agent was killed.
    pub restarts: u64,
    /// Number of queue samples taken.
    pub samples: u64,
    /// Number of queue samples that were taken only after the next one was due.
    pub late_samples: u64,
}

impl<'a> RowMaker<'a> {
    /// Creates the converter for one repetition of the policy labelled `policy`.
    ///
    /// # Panics
    /// If the plan has no such policy.
    #[must_use]
    pub fn new(
        plan: &'a Plan,
        policy: &'a str,
        repetition: u32,
        generator: FlowGenerator<'a>,
    ) -> Self {
        let ports = (0..plan.ports.len()).filter_map(PortId::from_index);
        let index = plan.policies.iter().position(|run| run.label == policy);
        let policy_index = index.expect("the plan has the policy");
        let lcmp = plan.policies[policy_index].policy.lcmp();
        Self {
            plan,
            paper: PaperUnits::new(&plan.scale),
            policy,
            policy_index,
            repetition,
            generator,
            sample_interval: lcmp.map(|lcmp| lcmp.sample_interval_ns),
            next_hops: ports.map(|port| plan.next_hop(port)).collect(),
            switches: vec![(Nanos::ZERO, 0); plan.dcs.len()],
        }
    }

    /// Returns the row of `flow` with its measured result.
    #[must_use]
    pub fn flow(&self, flow: &Flow, result: FlowResult) -> FlowRow {
        let node = |node: NodeId| &self.plan.nodes[node.index()];
        let src = node(flow.src);
        let dst = node(flow.dst);
        let ideal = flow.ideal_fct_ns;
        FlowRow {
            repetition: self.repetition,
            flow_id: flow.id,
            policy: self.policy.to_owned(),
            cc: self.generator.congestion_control.to_owned(),
            semantics: self.generator.semantics,
            src_host: src.name.clone(),
            dst_host: dst.name.clone(),
            src_dc: self.dc(src.dc),
            dst_dc: self.dc(dst.dc),
            size_bytes: self.paper.size(flow.size_bytes),
            start_ns: self.paper.time(result.start),
            fct_ns: result.fct.map(|fct| self.paper.time(fct)),
            ideal_fct_ns: self.paper.time(ideal),
            slowdown: result.fct.and_then(|fct| FlowRow::slowdown_of(fct, ideal)),
            path: result.path,
            ack_path: result.ack_path,
            status: result.status,
            reason: result.reason,
            generator: self.generator.program.to_owned(),
            launch_lateness_ns: result.lateness,
            emu_size_bytes: flow.size_bytes,
            emu_start_ns: result.start,
            emu_fct_ns: result.fct,
            emu_ideal_fct_ns: ideal,
            emu_fct_resolution_ns: result.fct_resolution,
        }
    }

    /// Returns a row for each path of a re-routed flow, in the order of the flow's bytes; empty if all data took the path in
    /// `flow`, the flow's row.
    #[must_use]
    pub fn paths(&self, flow: &FlowRow, ranges: &[PathRange]) -> Vec<PathRow> {
        let mut rows: Vec<PathRow> = Vec::new();
        for PathRange { path, start, end } in ranges {
            let [from, to] = [start, end].map(|&byte| self.paper.size(Bytes::new(byte)));
            let paper = to.get() - from.get();
            let emulated = end - start;
            let at = rows
                .iter()
                .position(|row| row.path == *path)
                .unwrap_or_else(|| {
                    rows.push(PathRow {
                        policy: self.policy.to_owned(),
                        repetition: self.repetition,
                        flow_id: flow.flow_id,
                        path: path.clone(),
                        sent_bytes: Bytes::ZERO,
                        emu_sent_bytes: Bytes::ZERO,
                    });
                    rows.len() - 1
                });
            let row = &mut rows[at];
            row.sent_bytes = Bytes::new(row.sent_bytes.get() + paper);
            row.emu_sent_bytes = Bytes::new(row.emu_sent_bytes.get() + emulated);
        }
        rows.retain(|row| row.emu_sent_bytes > Bytes::ZERO);
        match &rows[..] {
            [only] if flow.path.as_ref().is_none_or(|path| *path == only.path) => Vec::new(),
            _ => rows,
        }
    }

    /// Returns a decision among `candidates`, whose order is kept, in the plan's numbers.
    #[must_use]
    pub fn numbered(
        &self,
        decision: &SwitchDecision,
        candidates: impl Iterator<Item = CandidateScore>,
    ) -> NumberedDecision {
        let age = self.sample_interval.map(|_| decision.signal_age);
        NumberedDecision {
            policy: self.policy_index,
            repetition: self.repetition,
            time: self.paper.time(decision.time),
            dc: decision.dc,
            flow: decision.flow,
            src: decision.src,
            dst: decision.dst,
            sport: decision.sport,
            reason: decision.trigger.reason(decision.rule),
            signal_age: age.map(|age| self.paper.time(age)),
            is_stale: age > self.sample_interval,
            candidates: candidates.collect(),
            chosen: decision.chosen,
        }
    }

    /// Returns the row of a decision.
    #[must_use]
    pub fn decision(&self, decision: &NumberedDecision) -> DecisionRow {
        let candidates = decision.candidates.iter();
        DecisionRow {
            policy: self.plan.policies[decision.policy].label.clone(),
            repetition: decision.repetition,
            time_ns: decision.time,
            switch: self.dc(decision.dc),
            flow_id: decision.flow,
            src: decision.src,
            dst: decision.dst,
            sport: decision.sport,
            reason: decision.reason.to_owned(),
            signal_age_ns: decision.signal_age,
            stale_signals: decision.signal_age.map(|_| u8::from(decision.is_stale)),
            c_path: candidates.clone().map(|it| it.c_path).collect(),
            c_cong: candidates.clone().map(|it| it.c_cong).collect(),
            cost: candidates.clone().map(|it| it.cost).collect(),
            kept: candidates.clone().map(|it| u8::from(it.is_kept)).collect(),
            candidates: candidates.map(|it| self.next_hop(it.port)).collect(),
            chosen: decision.chosen.map(|port| self.next_hop(port)),
        }
    }

    /// Returns the row of a split; `buckets` has each candidate's port with its number of hash buckets.
    #[must_use]
    pub fn split(&self, split: Split, buckets: &[(PortId, u16)]) -> SplitRow {
        SplitRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: self.paper.time(split.time),
            switch: self.dc(split.dc),
            to_dc: self.dc(split.to_dc),
            next_dcs: buckets
                .iter()
                .map(|&(port, _)| self.next_hop(port))
                .collect(),
            buckets: buckets.iter().map(|&(_, buckets)| buckets).collect(),
        }
    }

    /// Returns the row of the link direction that starts at `port`; `rate` is the link's current rate.
    #[must_use]
    pub fn link(
        &self,
        time: Nanos,
        port: PortId,
        rate: BitsPerSec,
        counters: LinkCounters,
    ) -> LinkRow {
        let link = self.link_of(port);
        LinkRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: self.paper.time(time),
            link: link.name.clone(),
            from_dc: self.dc(self.dc_of(port)),
            to_dc: self.next_hop(port),
            tx_bytes: self.paper.size(counters.tx_bytes),
            emu_tx_bytes: counters.tx_bytes,
            rate_bps: paper_rate(&self.paper, rate, link),
            drops: counters.drops,
            tx_packets: Some(counters.tx_packets),
            marks: counters.marks,
        }
    }

    /// Returns the row of a port's totals; `rate` is the port's current rate.
    #[must_use]
    pub fn port(&self, time: Nanos, port: PortId, rate: BitsPerSec, totals: PortTotals) -> PortRow {
        PortRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: self.paper.time(time),
            node: self.node(port),
            port: self.interface(port),
            peer: self.peer(port),
            rate_bps: paper_rate(&self.paper, rate, self.link_of(port)),
            tx_bytes: self.paper.size(totals.tx_bytes),
            emu_tx_bytes: totals.tx_bytes,
            tx_packets: totals.tx_packets,
            marks: totals.marks,
            drops: totals.drops,
            peak_queue_bytes: self.paper.size(totals.peak_queue),
            pauses: totals.pauses,
            paused_ns: self.paper.time(totals.paused),
        }
    }

    /// Returns the row of the egress queue of `port`.
    #[must_use]
    pub fn queue(
        &self,
        time: Nanos,
        port: PortId,
        backlog: Bytes,
        levels: QueueLevels,
    ) -> QueueRow {
        QueueRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: self.paper.time(time),
            switch: self.dc(self.dc_of(port)),
            port: self.interface(port),
            to_dc: self.next_hop(port),
            backlog_bytes: self.paper.size(backlog),
            emu_backlog_bytes: backlog,
            queue_level: levels.queue,
            trend_level: levels.trend,
            duration_level: levels.duration,
            congestion_cost: levels.congestion,
        }
    }

    /// Returns the row of a sending QP's congestion control.
    #[must_use]
    pub fn rate(&self, time: Nanos, flow: FlowId, qp: &QpRate) -> RateRow {
        RateRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: self.paper.time(time),
            flow_id: flow,
            rate_bps: self.paper.rate(qp.rate),
            emu_rate_bps: qp.rate,
            target_bps: self.paper.rate(qp.target),
            alpha: f64::from(qp.alpha_q30) / f64::from(ONE_Q30),
            cnps: qp.cnps,
        }
    }

    /// Returns the row of a DCI switch; the row's decisions per second are a mean since the switch's previous row.
    pub fn switch(&mut self, time: Nanos, dc: DcId, counts: SwitchCounters) -> SwitchRow {
        let SwitchCounters {
            counters, agent, ..
        } = counts;
        let time = self.paper.time(time);
        let decisions = counters.decisions();
        let before = std::mem::replace(&mut self.switches[dc.index()], (time, decisions));
        let decided = decisions.saturating_sub(before.1);
        SwitchRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: time,
            switch: self.dc(dc),
            occupancy: counts.occupancy,
            decisions,
            decisions_per_s: SwitchRow::pace_of(decided, time.saturating_sub(before.0)),
            failovers: counters.failovers,
            fallbacks: counters.fallbacks,
            stale: counters.stale,
            evicted: counts.evicted,
            expired: counts.expired,
            hits: counters.hits,
            restarts: agent.map_or(0, |it| it.restarts),
            samples: agent.map(|it| it.samples),
            late_samples: agent.map(|it| it.late_samples),
        }
    }

    /// Returns the row of a PFC frame that reached `port`.
    #[must_use]
    pub fn pfc(&self, time: Nanos, port: PortId, priority: u8, event: PfcEvent) -> PfcRow {
        PfcRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: self.paper.time(time),
            node: self.node(port),
            port: self.interface(port),
            peer: self.peer(port),
            priority,
            event,
        }
    }

    /// Returns the row of a flow's event at `node`; the caller sets peer, rate and offset.
    #[must_use]
    pub fn story(&self, time: Nanos, flow: FlowId, event: StoryEvent, node: String) -> StoryRow {
        StoryRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            flow_id: flow,
            time_ns: self.paper.time(time),
            event,
            count: 1,
            node,
            peer: None,
            rate_bps: None,
            offset_bytes: None,
        }
    }

    /// Returns the name of a datacenter.
    #[must_use]
    pub fn dc(&self, dc: DcId) -> String {
        self.plan.dcs[dc.index()].name.clone()
    }

    /// Returns the name of the next hop through a port, see [`Plan::next_hop`].
    #[must_use]
    pub fn next_hop(&self, port: PortId) -> String {
        self.next_hops[port.index()].clone()
    }

    fn dc_of(&self, port: PortId) -> DcId {
        self.plan.nodes[self.plan.ports[port.index()].node.index()].dc
    }

    fn node(&self, port: PortId) -> String {
        let node = self.plan.ports[port.index()].node;
        self.plan.nodes[node.index()].name.clone()
    }

    /// Returns the name of the node at the other end of a port's link, and the link's place among parallel links.
    fn peer(&self, port: PortId) -> String {
        format!("{}{}", self.node(port.peer()), self.link_of(port).twin())
    }

    fn interface(&self, port: PortId) -> String {
        self.plan.ports[port.index()].interface.clone()
    }

    fn link_of(&self, port: PortId) -> &'a Link {
        &self.plan.links[port.link().index()]
    }
}
