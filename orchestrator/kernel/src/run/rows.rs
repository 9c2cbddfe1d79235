//! What agents and flows said, as rows: emulated to paper units, decisions joined to flows.

use std::{collections::BTreeMap, net::Ipv4Addr};

use lab_abi::{
    Rule, Trigger,
    wire::{DecisionReport, Queues},
};
use lab_perftest::{FlowOutcome, QpAddress, Side, Status, Tool};
use lab_plan::model::{Flow, Plan};
use lab_records::{DcPath, DecisionRow, FlowRow, FlowStatus, LinkRow, QueueRow};
use lab_units::{Bytes, DcId, Nanos, PortId, Ratio};

/// Turns what one policy's repetition reports into rows.
pub struct RowMaker<'a> {
    plan: &'a Plan,
    policy: &'a str,
    repetition: u32,
    tool: Tool,
    /// `CLOCK_MONOTONIC` at the repetition's start.
    start_ns: u64,
    paper_per_emu_time: Ratio,
    paper_per_emu_size: Ratio,
    /// The port each DCI switch pinned a direction of a flow to, at its first decision.
    pins: BTreeMap<Direction, BTreeMap<DcId, PortId>>,
    /// The flow each direction belongs to, once its QPs are known.
    flows: BTreeMap<Direction, lab_units::FlowId>,
    /// What each port had sent when the repetition started.
    sent_before: BTreeMap<PortId, (u64, u64)>,
}

/// One direction of a flow, as every switch on its way sees it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Direction {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    dest_qp: u32,
}

impl<'a> RowMaker<'a> {
    /// For the repetition that starts at `start_ns` of `CLOCK_MONOTONIC`.
    #[must_use]
    pub fn new(
        plan: &'a Plan,
        policy: &'a str,
        repetition: u32,
        tool: Tool,
        start_ns: u64,
    ) -> Self {
        let inverse = |ratio: Ratio| ratio.inverse().unwrap_or(Ratio::ONE);
        Self {
            plan,
            policy,
            repetition,
            tool,
            start_ns,
            paper_per_emu_time: inverse(plan.scale.time),
            paper_per_emu_size: inverse(plan.scale.size),
            pins: BTreeMap::new(),
            flows: BTreeMap::new(),
            sent_before: BTreeMap::new(),
        }
    }

    /// Learns the QPs of a flow, by which its decisions are known.
    pub fn connect(&mut self, flow: &Flow, client_qp: QpAddress, server_qp: QpAddress) {
        let (data, ack) = self.directions(flow, client_qp, server_qp);
        self.flows.insert(data, flow.id);
        self.flows.insert(ack, flow.id);
    }

    /// A decision's row, remembered for the path of its flow.
    pub fn decision(&mut self, dc: DcId, report: &DecisionReport) -> DecisionRow {
        let direction = report.dest_qp.map(|dest_qp| Direction {
            src: report.src_ip,
            dst: report.dst_ip,
            dest_qp,
        });
        if let Some(direction) = direction {
            self.pins
                .entry(direction)
                .or_default()
                .entry(dc)
                .or_insert(report.port);
        }
        let candidates = || report.candidates.iter();
        DecisionRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: self.paper_time(report.time_ns),
            switch: self.dc_name(dc).to_owned(),
            flow_id: direction.and_then(|direction| self.flows.get(&direction).copied()),
            src: report.src_ip,
            dst: report.dst_ip,
            sport: report.sport,
            reason: reason(report.trigger, report.rule).to_owned(),
            candidates: candidates()
                .map(|c| self.next_dc_name(c.port).to_owned())
                .collect(),
            c_path: candidates().map(|c| c.c_path).collect(),
            c_cong: candidates().map(|c| c.c_cong).collect(),
            cost: candidates().map(|c| c.cost).collect(),
            kept: candidates().map(|c| u8::from(c.is_kept)).collect(),
            chosen: Some(self.next_dc_name(report.port).to_owned()),
        }
    }

    /// The rows of a report about a switch's queues; none for one from before the start, which
    /// only says what the ports had sent until then.
    pub fn queues(&mut self, dc: DcId, report: &Queues) -> (Vec<QueueRow>, Vec<LinkRow>) {
        let mut rows = (Vec::new(), Vec::new());
        for port in &report.ports {
            let now = (port.tx_bytes, port.drops);
            if report.time_ns < self.start_ns {
                self.sent_before.insert(port.port, now);
                continue;
            }
            let (sent_before, drops_before) = *self.sent_before.entry(port.port).or_insert(now);
            let time_ns = self.paper_time(report.time_ns);
            let to_dc = self.next_dc_name(port.port).to_owned();
            let link = &self.plan.links[port.port.link().index()];
            let sent = Bytes::new(port.tx_bytes.saturating_sub(sent_before));
            rows.0.push(QueueRow {
                policy: self.policy.to_owned(),
                repetition: self.repetition,
                time_ns,
                switch: self.dc_name(dc).to_owned(),
                port: self.plan.ports[port.port.index()].interface.clone(),
                to_dc: to_dc.clone(),
                backlog_bytes: self.paper_size(Bytes::new(port.backlog_bytes)),
                emu_backlog_bytes: Bytes::new(port.backlog_bytes),
                queue_level: port.q,
                trend_level: port.t,
                duration_level: port.d,
                congestion_cost: port.c_cong,
            });
            rows.1.push(LinkRow {
                policy: self.policy.to_owned(),
                repetition: self.repetition,
                time_ns,
                link: link.name.clone(),
                from_dc: self.dc_name(dc).to_owned(),
                to_dc,
                tx_bytes: self.paper_size(sent),
                emu_tx_bytes: sent,
                rate_bps: link.paper.rate_bps,
                drops: port.drops.saturating_sub(drops_before),
                tx_packets: None,
                marks: None,
            });
        }
        rows
    }

    /// The row of a flow that ended, with the path its decisions say.
    #[must_use]
    pub fn flow(&self, flow: &Flow, outcome: &FlowOutcome) -> FlowRow {
        let fct = outcome.status.fct();
        let (path, ack_path) = match (outcome.client_qp, outcome.server_qp) {
            (Some(client), Some(server)) => {
                let (data, ack) = self.directions(flow, client, server);
                let (from, to) = (self.dc_of(flow.src), self.dc_of(flow.dst));
                (self.path(data, from, to), self.path(ack, to, from))
            }
            _ => (None, None),
        };
        let released = outcome.release.as_ref();
        let emu_start = released.map_or(flow.start_ns, |release| {
            Nanos::new(release.at.as_nanos().saturating_sub(self.start_ns))
        });
        FlowRow {
            repetition: self.repetition,
            flow_id: flow.id,
            policy: self.policy.to_owned(),
            cc: CONGESTION_CONTROL.to_owned(),
            physics: None,
            src_host: self.plan.nodes[flow.src.index()].name.clone(),
            dst_host: self.plan.nodes[flow.dst.index()].name.clone(),
            src_dc: self.dc_name(self.dc_of(flow.src)).to_owned(),
            dst_dc: self.dc_name(self.dc_of(flow.dst)).to_owned(),
            size_bytes: self.paper_size(flow.size_bytes),
            start_ns: self.paper_span(emu_start),
            fct_ns: fct.map(|fct| self.paper_span(fct)),
            ideal_fct_ns: self.paper_span(flow.ideal_fct_ns),
            slowdown: fct.and_then(|fct| FlowRow::slowdown_of(fct, flow.ideal_fct_ns)),
            path,
            ack_path,
            status: status(&outcome.status),
            reason: fct.map_or_else(|| outcome.status.to_string(), |_| String::new()),
            generator: self.tool.program().to_owned(),
            launch_lateness_ns: released.map(|release| release.lateness),
            emu_size_bytes: flow.size_bytes,
            emu_start_ns: emu_start,
            emu_fct_ns: fct,
            emu_ideal_fct_ns: flow.ideal_fct_ns,
            emu_fct_resolution_ns: match &outcome.status {
                Status::Finished(fct) => Some(fct.resolution),
                _ => None,
            },
        }
    }

    fn directions(
        &self,
        flow: &Flow,
        client_qp: QpAddress,
        server_qp: QpAddress,
    ) -> (Direction, Direction) {
        let (src, dst) = (
            self.plan.nodes[flow.src.index()].addr,
            self.plan.nodes[flow.dst.index()].addr,
        );
        let (data_qp, ack_qp) = match self.tool.data_destination() {
            Side::Server => (server_qp.qp.0, client_qp.qp.0),
            Side::Client => (client_qp.qp.0, server_qp.qp.0),
        };
        (
            Direction {
                src,
                dst,
                dest_qp: data_qp,
            },
            Direction {
                src: dst,
                dst: src,
                dest_qp: ack_qp,
            },
        )
    }

    /// The DCs a direction crosses; `None` where a switch on the way said nothing and had a choice.
    fn path(&self, direction: Direction, from: DcId, to: DcId) -> Option<DcPath> {
        let pins = self.pins.get(&direction);
        let mut crossed = vec![from];
        while let Some(&at) = crossed.last().filter(|at| **at != to) {
            let pinned = pins.and_then(|pins| pins.get(&at)).copied();
            let next = self.next_dc(pinned.or_else(|| self.only_way(at, to))?);
            if crossed.contains(&next) {
                return None;
            }
            crossed.push(next);
        }
        Some(DcPath::new(crossed.into_iter().map(|dc| self.dc_name(dc))))
    }

    fn only_way(&self, at: DcId, to: DcId) -> Option<PortId> {
        let destinations = &self.plan.switches.get(at.index())?.destinations;
        let destination = destinations
            .iter()
            .find(|destination| destination.dc == to)?;
        match destination.candidates.as_slice() {
            [only] => Some(only.port),
            _ => None,
        }
    }

    fn next_dc(&self, port: PortId) -> DcId {
        self.dc_of(self.plan.ports[port.peer().index()].node)
    }

    fn next_dc_name(&self, port: PortId) -> &str {
        self.dc_name(self.next_dc(port))
    }

    fn dc_of(&self, node: lab_units::NodeId) -> DcId {
        self.plan.nodes[node.index()].dc
    }

    fn dc_name(&self, dc: DcId) -> &str {
        &self.plan.dcs[dc.index()].name
    }

    fn paper_time(&self, monotonic_ns: u64) -> Nanos {
        self.paper_span(Nanos::new(monotonic_ns.saturating_sub(self.start_ns)))
    }

    fn paper_span(&self, span: Nanos) -> Nanos {
        Nanos::new(self.paper_per_emu_time.scale_nearest(span.get()))
    }

    fn paper_size(&self, size: Bytes) -> Bytes {
        Bytes::new(self.paper_per_emu_size.scale_nearest(size.get()))
    }
}

/// SoftRoCE has none: it marks nothing and reacts to nothing but loss.
const CONGESTION_CONTROL: &str = "none";

fn reason(trigger: Trigger, rule: Rule) -> &'static str {
    match (trigger, rule) {
        (Trigger::Failover, _) => "failover",
        (Trigger::NewFlow, Rule::Hash) => "hash",
        (Trigger::NewFlow, Rule::Scored) => "scored",
        (Trigger::NewFlow, Rule::LeastCost) => "least-cost-fallback",
        (Trigger::NewFlow, Rule::HashAll) => "hash-all-fallback",
        (Trigger::NewFlow, Rule::Stale) => "stale-fallback",
    }
}

fn status(status: &Status) -> FlowStatus {
    match status {
        Status::Finished(_) => FlowStatus::Finished,
        Status::TimedOut { .. } => FlowStatus::TimedOut,
        Status::Failed { .. } => FlowStatus::Failed,
        Status::Unparsable { .. } | Status::NoReport { .. } => FlowStatus::Unparsable,
        Status::NotReady { .. } | Status::NotReleased { .. } => FlowStatus::NotReady,
        Status::Aborted => FlowStatus::Aborted,
    }
}
