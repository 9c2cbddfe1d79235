//! What agents and flows said, as rows: emulated to paper units, decisions joined to flows.

use std::collections::BTreeMap;

use lab_abi::wire::{DecisionReport, LinkReport, Links, QueueReport, Queues, Stats};
use lab_perftest::{FlowOutcome, MonotonicTime, QpAddress, Status, Tool};
use lab_plan::model::{Flow, Plan};
use lab_records::{DecisionRow, FlowRow, FlowStatus, LinkRow, QueueRow, SwitchRow};
use lab_units::{Bytes, DcId, Nanos, PortId, Ratio};

use super::pins::{Pins, Ways, next_dc};

/// Turns what one policy's repetition reports into rows.
#[derive(Debug)]
pub(super) struct RowMaker<'a> {
    plan: &'a Plan,
    policy: &'a str,
    repetition: u32,
    tool: Tool,
    /// When the repetition's time starts, once that is known.
    start: MonotonicTime,
    paper_per_emu_time: Ratio,
    paper_per_emu_size: Ratio,
    pins: Pins<'a>,
    /// What each port had sent when the repetition started.
    before: BTreeMap<PortId, LinkReport>,
    /// The row of each switch before, and how often its agent was started again.
    switches: BTreeMap<DcId, SwitchBefore>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SwitchBefore {
    time: Nanos,
    decisions: u64,
    restarts: u64,
}

impl<'a> RowMaker<'a> {
    /// For a repetition that has not started.
    pub(super) fn new(plan: &'a Plan, policy: &'a str, repetition: u32, tool: Tool) -> Self {
        let inverse = |ratio: Ratio| ratio.inverse().unwrap_or(Ratio::ONE);
        Self {
            plan,
            policy,
            repetition,
            tool,
            start: MonotonicTime::from_nanos(u64::MAX),
            paper_per_emu_time: inverse(plan.scale.time),
            paper_per_emu_size: inverse(plan.scale.size),
            pins: Pins::new(plan, tool),
            before: BTreeMap::new(),
            switches: BTreeMap::new(),
        }
    }

    /// The repetition's time starts at `start`.
    pub(super) const fn start_at(&mut self, start: MonotonicTime) {
        self.start = start;
    }

    /// Learns the QPs of a flow, by which its decisions are known.
    pub(super) fn connect(&mut self, flow: &Flow, client_qp: QpAddress, server_qp: QpAddress) {
        self.pins.connect(flow, client_qp, server_qp);
    }

    /// A decision's row, remembered for the path of its flow.
    pub(super) fn decision(&mut self, dc: DcId, report: &DecisionReport) -> DecisionRow {
        let flow_id = self.pins.decide(dc, report);
        let candidates = || report.candidates.iter();
        DecisionRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: self.paper_time(report.time_ns),
            switch: self.dc_name(dc).to_owned(),
            flow_id,
            src: report.src_ip,
            dst: report.dst_ip,
            sport: report.sport,
            reason: report.trigger.reason(report.rule).to_owned(),
            candidates: candidates().map(|c| self.to_dc(c.port)).collect(),
            c_path: candidates().map(|c| c.c_path).collect(),
            c_cong: candidates().map(|c| c.c_cong).collect(),
            cost: candidates().map(|c| c.cost).collect(),
            kept: candidates().map(|c| u8::from(c.is_kept)).collect(),
            chosen: Some(self.to_dc(report.port)),
        }
    }

    /// The rows of a report about a switch's queues; none for one from before the start.
    pub(super) fn queues(&self, dc: DcId, report: &Queues) -> Vec<QueueRow> {
        if report.time_ns < self.start.as_nanos() {
            return Vec::new();
        }
        let row = |port: &QueueReport| QueueRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: self.paper_time(report.time_ns),
            switch: self.dc_name(dc).to_owned(),
            port: self.plan.ports[port.port.index()].interface.clone(),
            to_dc: self.to_dc(port.port),
            backlog_bytes: self.paper_size(Bytes::new(port.backlog_bytes)),
            emu_backlog_bytes: Bytes::new(port.backlog_bytes),
            queue_level: port.q,
            trend_level: port.t,
            duration_level: port.d,
            congestion_cost: port.c_cong,
        };
        report.ports.iter().map(row).collect()
    }

    /// The rows of a report about what a switch's ports sent; none for one from before the start,
    /// which only says what they had sent until then.
    pub(super) fn links(&mut self, dc: DcId, report: &Links) -> Vec<LinkRow> {
        if report.time_ns < self.start.as_nanos() {
            self.before
                .extend(report.ports.iter().map(|port| (port.port, *port)));
            return Vec::new();
        }
        let row = |port: &LinkReport| self.link(dc, report.time_ns, port);
        report.ports.iter().map(row).collect()
    }

    /// A switch's agent is started again.
    pub(super) fn restart(&mut self, dc: DcId) {
        self.switches.entry(dc).or_default().restarts += 1;
    }

    /// The row of a switch's counters; none for what it says before the start.
    pub(super) fn switch(&mut self, dc: DcId, stats: &Stats) -> Option<SwitchRow> {
        if stats.time_ns < self.start.as_nanos() {
            return None;
        }
        let time = self.paper_time(stats.time_ns);
        let decisions = stats.new_flows + stats.failovers + stats.outgrown;
        let before = self.switches.entry(dc).or_default();
        let restarts = before.restarts;
        let more = decisions.saturating_sub(before.decisions);
        let span = time.saturating_sub(before.time);
        *before = SwitchBefore {
            time,
            decisions,
            restarts,
        };
        Some(SwitchRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: time,
            switch: self.dc_name(dc).to_owned(),
            occupancy: stats.occupancy,
            decisions,
            decisions_per_s: SwitchRow::pace_of(more, span),
            failovers: stats.failovers,
            fallbacks: stats.fallbacks,
            stale: stats.stale,
            evicted: stats.evicted,
            expired: stats.expired,
            hits: stats.hits,
            restarts,
        })
    }

    fn link(&self, dc: DcId, time_ns: u64, now: &LinkReport) -> LinkRow {
        let link = &self.plan.links[now.port.link().index()];
        let since_start = |count: fn(&LinkReport) -> u64| {
            let before = self.before.get(&now.port).map_or(0, count);
            count(now).saturating_sub(before)
        };
        let sent = Bytes::new(since_start(|port| port.tx_bytes));
        LinkRow {
            policy: self.policy.to_owned(),
            repetition: self.repetition,
            time_ns: self.paper_time(time_ns),
            link: link.name.clone(),
            from_dc: self.dc_name(dc).to_owned(),
            to_dc: self.to_dc(now.port),
            tx_bytes: self.paper_size(sent),
            emu_tx_bytes: sent,
            rate_bps: link.paper.rate_bps,
            drops: since_start(|port| port.drops),
            tx_packets: Some(since_start(|port| port.tx_packets)),
            marks: None,
        }
    }

    /// The row of a flow that ended, with the path its decisions say.
    pub(super) fn flow(&self, flow: &Flow, outcome: &FlowOutcome) -> FlowRow {
        let fct = outcome.status.fct();
        let ways = match (outcome.client_qp, outcome.server_qp) {
            (Some(client), Some(server)) => self.pins.ways(flow, client, server),
            _ => Ways::default(),
        };
        let node = |node: lab_units::NodeId| &self.plan.nodes[node.index()];
        let (src, dst) = (node(flow.src), node(flow.dst));
        let released = outcome.release.as_ref();
        let emu_start = released.map_or(flow.start_ns, |release| release.at.since(self.start));
        FlowRow {
            repetition: self.repetition,
            flow_id: flow.id,
            policy: self.policy.to_owned(),
            cc: CONGESTION_CONTROL.to_owned(),
            semantics: None,
            src_host: src.name.clone(),
            dst_host: dst.name.clone(),
            src_dc: self.dc_name(src.dc).to_owned(),
            dst_dc: self.dc_name(dst.dc).to_owned(),
            size_bytes: self.paper_size(flow.size_bytes),
            start_ns: self.paper_span(emu_start),
            fct_ns: fct.map(|fct| self.paper_span(fct)),
            ideal_fct_ns: self.paper_span(flow.ideal_fct_ns),
            slowdown: fct.and_then(|fct| FlowRow::slowdown_of(fct, flow.ideal_fct_ns)),
            path: ways.data,
            ack_path: ways.ack,
            status: status(&outcome.status),
            reason: fct.map_or_else(|| outcome.status.to_string(), |_| String::new()),
            generator: self.tool.name().to_owned(),
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

    fn to_dc(&self, port: PortId) -> String {
        self.dc_name(next_dc(self.plan, port)).to_owned()
    }

    fn dc_name(&self, dc: DcId) -> &str {
        &self.plan.dcs[dc.index()].name
    }

    fn paper_time(&self, monotonic_ns: u64) -> Nanos {
        self.paper_span(MonotonicTime::from_nanos(monotonic_ns).since(self.start))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::{CLIENT, SERVER, decision, finished, flow, links, plan, queues};

    const START: u64 = 5_000_000_000;

    /// Started at [`START`].
    fn rows(plan: &Plan) -> RowMaker<'_> {
        let mut rows = RowMaker::new(plan, "lcmp", 2, Tool::SendBw);
        rows.start_at(MonotonicTime::from_nanos(START));
        rows
    }

    #[test]
    fn what_was_sent_before_the_start_is_not_counted() {
        let plan = plan();
        let mut rows = RowMaker::new(&plan, "lcmp", 2, Tool::SendBw);
        let port = PortId(0);
        assert!(
            rows.links(DcId(0), &links(4_000_000_000, port, 1_000, 1))
                .is_empty()
        );
        rows.start_at(MonotonicTime::from_nanos(START));
        assert!(
            rows.links(DcId(0), &links(4_900_000_000, port, 1_500, 2))
                .is_empty()
        );
        let row = rows
            .links(DcId(0), &links(START + 20_000_000, port, 9_500, 5))
            .remove(0);
        assert_eq!(row.emu_tx_bytes, Bytes::new(8_000));
        assert_eq!((row.tx_packets, row.drops), (Some(3), 3));
        // A size of 1/200, a time of 10.
        assert_eq!(row.tx_bytes, Bytes::new(1_600_000));
        assert_eq!(row.time_ns, Nanos::from_millis(2));
        assert_eq!(
            (&*row.link, &*row.from_dc, &*row.to_dc),
            ("dc1-dc2", "dc1", "dc2")
        );
        assert_eq!((&*row.policy, row.repetition), ("lcmp", 2));
    }

    #[test]
    fn a_switch_is_told_of_with_its_pace_since_the_row_before() {
        let plan = plan();
        let mut rows = rows(&plan);
        let stats = |emulated_ms: u64, new_flows| Stats {
            time_ns: START + emulated_ms * 1_000_000,
            new_flows,
            failovers: 2,
            stale: 1,
            occupancy: 7,
            ..Stats::default()
        };
        let early = Stats {
            time_ns: START - 1,
            ..stats(0, 9)
        };
        assert_eq!(rows.switch(DcId(0), &early), None);
        // A time of 10: 100 emulated ms are 10 ms.
        let row = rows.switch(DcId(0), &stats(100, 8)).unwrap();
        assert_eq!((row.decisions, row.decisions_per_s), (10, 1_000));
        assert_eq!((row.stale, row.occupancy, row.restarts), (1, 7, 0));
        rows.restart(DcId(0));
        let row = rows.switch(DcId(0), &stats(200, 13)).unwrap();
        assert_eq!((row.decisions, row.decisions_per_s), (15, 500));
        assert_eq!((&*row.switch, row.restarts), ("dc1", 1));
    }

    #[test]
    fn queue_rows_are_the_queues_since_the_start() {
        let plan = plan();
        let rows = rows(&plan);
        assert!(
            rows.queues(DcId(0), &queues(START - 1, PortId(2), 400))
                .is_empty()
        );
        let row = rows
            .queues(DcId(0), &queues(START, PortId(2), 400))
            .remove(0);
        assert_eq!(row.time_ns, Nanos::ZERO);
        assert_eq!((&*row.switch, &*row.to_dc), ("dc1", "dc3"));
        assert_eq!(row.emu_backlog_bytes, Bytes::new(400));
        assert_eq!(row.backlog_bytes, Bytes::new(80_000));
        assert_eq!((row.queue_level, row.congestion_cost), (51, 7));
    }

    #[test]
    fn a_decision_says_what_each_way_would_have_cost_and_whose_it_was() {
        let plan = plan();
        let mut rows = rows(&plan);
        rows.connect(&flow(), CLIENT, SERVER);
        let row = rows.decision(DcId(0), &decision(&plan, 0, SERVER, 1));
        assert_eq!(row.candidates.0, ["dc2", "dc3"]);
        assert_eq!(row.chosen.as_deref(), Some("dc3"));
        assert_eq!((row.flow_id, &*row.reason), (Some(flow().id), "scored"));
    }

    #[test]
    fn a_finished_flow_has_its_fct_in_both_times_and_its_paths() {
        let plan = plan();
        let mut rows = rows(&plan);
        rows.decision(DcId(0), &decision(&plan, 0, SERVER, 1));
        rows.decision(DcId(3), &decision(&plan, 3, CLIENT, 0));
        let at = MonotonicTime::from_nanos(START).after(Nanos::from_millis(40));
        let row = rows.flow(&flow(), &finished(at, Nanos::from_millis(300)));
        assert_eq!(row.emu_fct_ns, Some(Nanos::from_millis(300)));
        assert_eq!(row.fct_ns, Some(Nanos::from_millis(30)));
        assert_eq!(row.start_ns, Nanos::from_millis(4));
        // Alone it would have taken 200 ms.
        assert_eq!(row.slowdown, Some(1.5));
        assert_eq!(row.path.unwrap().to_string(), "dc1-dc3-dc4");
        assert_eq!(row.ack_path.unwrap().to_string(), "dc4-dc2-dc1");
        assert_eq!((row.status, &*row.reason), (FlowStatus::Finished, ""));
    }

    #[test]
    fn a_flow_given_up_at_its_deadline_is_a_row_with_a_reason() {
        let plan = plan();
        let at = MonotonicTime::from_nanos(START);
        let outcome = FlowOutcome {
            status: Status::TimedOut {
                after: Nanos::from_millis(9_000),
            },
            ..finished(at, Nanos::ZERO)
        };
        let row = rows(&plan).flow(&flow(), &outcome);
        assert_eq!(row.status, FlowStatus::TimedOut);
        assert_eq!(row.reason, "not finished after 9 s");
        assert_eq!(
            (row.fct_ns, row.slowdown, row.emu_fct_resolution_ns),
            (None, None, None)
        );
    }

    #[test]
    fn a_flow_that_never_started_has_the_start_it_was_to_have() {
        let plan = plan();
        let outcome = FlowOutcome {
            status: Status::Aborted,
            release: None,
            client_qp: None,
            server_qp: None,
            ..finished(MonotonicTime::from_nanos(START), Nanos::ZERO)
        };
        let row = rows(&plan).flow(&flow(), &outcome);
        assert_eq!(row.emu_start_ns, flow().start_ns);
        assert_eq!((row.launch_lateness_ns, row.path), (None, None));
        assert_eq!(row.status, FlowStatus::Aborted);
    }
}
