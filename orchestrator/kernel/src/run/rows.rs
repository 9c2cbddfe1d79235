//! Conversion of the reports from agents and flows to rows.

use std::collections::BTreeMap;

use lab_abi::{
    dcqcn::{DcqcnParams, PacedQp, QpKey},
    pfc::{PFC_PRIORITY, PauseRecord},
    wire::{
        AgentCommand, BucketRow, DecisionReport, LinkReport, LinkReports, QueueReport, Queues,
        Stats,
    },
};
use lab_dcqcn::reaction;
use lab_generators::contract::{FlowOutcome, MonotonicTime, QpAddress, Status, Tool};
use lab_plan::model::{Destination, Flow, Plan};
use lab_recorder::{
    AgentCounts, CandidateScore, FlowGenerator, FlowResult, LinkCounters, QpRate, QueueLevels,
    RowMaker, Split, SwitchCounters, SwitchDecision,
};
use lab_records::{
    DecisionRow, FlowRow, FlowStatus, LinkRow, PathRow, PfcEvent, PfcRow, QueueRow, RateRow,
    SplitRow, SwitchRow,
};
use lab_units::{BitsPerSec, Bytes, DcId, FlowId, Nanos, PortId};

use super::paths::{FlowPaths, FlowTime, PinnedPaths};

/// Converter of one repetition's reports to rows.
#[derive(Debug)]
pub(super) struct ReportRows<'a> {
    rows: RowMaker<'a>,
    /// Start of the repetition's clock; `u64::MAX` ns until the start is known.
    start: MonotonicTime,
    paths: PinnedPaths<'a>,
    /// Keys of the sending QPs whose rates are recorded, by running flow.
    sampled: BTreeMap<FlowId, QpKey>,
    /// Counters of each port at the repetition's start.
    baseline: BTreeMap<PortId, LinkReport>,
    /// Number of times that each switch's agent was restarted.
    restarts: BTreeMap<DcId, u64>,
    samples: BTreeMap<DcId, SwitchSamples>,
    /// Number of packets that each switch has dropped because no candidate was alive.
    unreachable: BTreeMap<DcId, u64>,
}

/// Counts of a switch's queue samples since the repetition's start. After a restart, the switch's agent counts from 0
/// again.
#[derive(Clone, Copy, Debug, Default)]
struct SwitchSamples {
    /// Counts in the agent's latest report.
    latest: SampleCounts,
    since_start: SampleCounts,
}

#[derive(Clone, Copy, Debug, Default)]
struct SampleCounts {
    taken: u64,
    late: u64,
}

impl SwitchSamples {
    /// Adds the counts of an agent's new report. Samples from before the repetition's start are not counted.
    fn update(&mut self, now: SampleCounts, is_started: bool) {
        let before = std::mem::replace(&mut self.latest, now);
        if is_started {
            self.since_start.taken += now.taken.saturating_sub(before.taken);
            self.since_start.late += now.late.saturating_sub(before.late);
        }
    }
}

impl<'a> ReportRows<'a> {
    /// Creates the converter for a repetition whose clock has not started.
    pub(super) fn new(plan: &'a Plan, policy: &'a str, repetition: u32, tool: Tool) -> Self {
        let generator = FlowGenerator {
            program: tool.name(),
            congestion_control: congestion_control(plan),
            semantics: None,
        };
        Self {
            rows: RowMaker::new(plan, policy, repetition, generator),
            start: MonotonicTime::from_nanos(u64::MAX),
            paths: PinnedPaths::new(plan, tool),
            sampled: BTreeMap::new(),
            baseline: BTreeMap::new(),
            restarts: BTreeMap::new(),
            samples: BTreeMap::new(),
            unreachable: BTreeMap::new(),
        }
    }

    /// Sets the start of the repetition's clock.
    pub(super) const fn start_at(&mut self, start: MonotonicTime) {
        self.start = start;
    }

    /// Returns the time at the paper's scale between the repetition's start and `at`; zero if `at` is before the start.
    pub(super) fn paper_time(&self, at: MonotonicTime) -> Nanos {
        self.rows.paper.time(at.since(self.start))
    }

    /// Registers the QPs of a flow, so that decisions can be assigned to the flow.
    pub(super) fn connect(&mut self, flow: &Flow, client_qp: QpAddress, server_qp: QpAddress) {
        self.paths.connect(flow, client_qp, server_qp);
    }

    /// Begins to record the rate of a flow's sending QP.
    pub(super) fn sample(&mut self, flow: &Flow, client_qp: QpAddress, server_qp: QpAddress) {
        let qp = self.paths.sending_qp(client_qp, server_qp);
        self.sampled.insert(flow.id, qp);
    }

    /// Stops recording the rate of a flow's sending QP.
    pub(super) fn end_sampling(&mut self, flow: FlowId) {
        self.sampled.remove(&flow);
    }

    /// Returns the keys of the sending QPs whose rates are recorded, by running flow.
    pub(super) const fn sampled(&self) -> &BTreeMap<FlowId, QpKey> {
        &self.sampled
    }

    /// Returns the row for a sending QP at `now`, after the rate increases and decays that are due by then.
    pub(super) fn rate(
        &self,
        now: MonotonicTime,
        flow: FlowId,
        (mut qp, law): (PacedQp, &DcqcnParams),
    ) -> Option<RateRow> {
        let now_ns = now.as_nanos();
        reaction::on_timer(&mut qp.point, now_ns, law);
        let rate = QpRate {
            rate: BitsPerSec::new(qp.point.rate_bps)?,
            target: BitsPerSec::new(qp.point.target_bps)?,
            alpha_q30: reaction::alpha(&qp.point, now_ns, law),
            cnps: qp.cnps,
        };
        Some(self.rows.rate(self.time(now_ns), flow, &rate))
    }

    /// Returns the rows for the beginning and the end of a PFC pause on a host's NIC.
    pub(super) fn pause(&self, nic: PortId, pause: &PauseRecord) -> [PfcRow; 2] {
        let row = |at, event| {
            let priority = u8::try_from(PFC_PRIORITY).unwrap_or(u8::MAX);
            self.rows.pfc(self.time(at), nic, priority, event)
        };
        [
            row(pause.from_ns, PfcEvent::Pause),
            row(pause.until_ns, PfcEvent::Resume),
        ]
    }

    /// Returns the row for a decision, and stores the chosen port, from which the flow's path follows.
    pub(super) fn decision(&mut self, dc: DcId, report: &DecisionReport) -> DecisionRow {
        let decision = SwitchDecision {
            time: self.time(report.time_ns),
            dc,
            flow: self.paths.decide(dc, report),
            src: report.src_ip,
            dst: report.dst_ip,
            sport: report.sport,
            trigger: report.trigger,
            rule: report.rule,
            signal_age: Nanos::new(report.signal_age_ns),
            chosen: Some(report.port),
        };
        let candidates = report.candidates.iter().map(|candidate| CandidateScore {
            port: candidate.port,
            c_path: candidate.c_path,
            c_cong: candidate.c_cong,
            cost: candidate.cost,
            is_kept: candidate.is_kept,
        });
        self.rows
            .decision(&self.rows.numbered(&decision, candidates))
    }

    /// Returns the rows for a report about a switch's queues; empty if the report is from before the repetition's
    /// start.
    pub(super) fn queues(&self, report: &Queues) -> Vec<QueueRow> {
        if report.time_ns < self.start.as_nanos() {
            return Vec::new();
        }
        let row = |port: &QueueReport| {
            let levels = QueueLevels {
                queue: port.q,
                trend: port.t,
                duration: port.d,
                congestion: port.c_cong,
            };
            let backlog = Bytes::new(port.backlog_bytes);
            self.rows
                .queue(self.time(report.time_ns), port.port, backlog, levels)
        };
        report.ports.iter().map(row).collect()
    }

    /// Returns the rows for the port counters in a switch's `report`. A report from before the repetition's start gives
    /// no rows, but serves as the baseline for later reports.
    pub(super) fn links(&mut self, report: &LinkReports) -> Vec<LinkRow> {
        if report.time_ns < self.start.as_nanos() {
            let ports = report.ports.iter().map(|port| (port.port, *port));
            self.baseline.extend(ports);
            return Vec::new();
        }
        let row = |port: &LinkReport| self.link(report.time_ns, port);
        report.ports.iter().map(row).collect()
    }

    /// Returns the rows for the traffic splits that `commands` install after a report at `time_ns`.
    pub(super) fn splits(&self, time_ns: u64, commands: &[(DcId, AgentCommand)]) -> Vec<SplitRow> {
        let time = self.time(time_ns);
        let tables = commands.iter().filter_map(|(dc, command)| match command {
            AgentCommand::SetBuckets(rows) => Some((*dc, rows)),
            _ => None,
        });
        let rows = tables.flat_map(|(dc, rows)| rows.iter().map(move |row| (dc, row)));
        rows.filter_map(|(dc, row)| self.split(time, dc, row))
            .collect()
    }

    fn split(&self, time: Nanos, dc: DcId, row: &BucketRow) -> Option<SplitRow> {
        let plan = self.rows.plan;
        let is_row = |destination: &&Destination| {
            let prefix = plan.dcs[destination.dc.index()].prefix;
            (prefix.addr, prefix.len) == (row.addr, row.prefix_len)
        };
        let destinations = &plan.switches.get(dc.index())?.destinations;
        let destination = destinations.iter().find(is_row)?;
        let ports = destination
            .candidates
            .iter()
            .map(|candidate| candidate.port);
        let buckets: Vec<_> = ports.zip(row.buckets.iter().copied()).collect();
        let to_dc = destination.dc;
        Some(self.rows.split(Split { time, dc, to_dc }, &buckets))
    }

    /// Counts a restart of a switch's agent.
    pub(super) fn restart(&mut self, dc: DcId) {
        *self.restarts.entry(dc).or_default() += 1;
        self.samples.entry(dc).or_default().latest = SampleCounts::default();
    }

    /// Returns the row for a switch's counters; `None` if the counters are from before the repetition's start.
    pub(super) fn switch(&mut self, dc: DcId, stats: &Stats) -> Option<SwitchRow> {
        let is_started = stats.time_ns >= self.start.as_nanos();
        let samples = self.samples.entry(dc).or_default();
        let counts = SampleCounts {
            taken: stats.samples,
            late: stats.late_samples,
        };
        samples.update(counts, is_started);
        if !is_started {
            return None;
        }
        let samples = samples.since_start;
        self.unreachable.insert(dc, stats.counters.no_destination);
        let counters = SwitchCounters {
            counters: stats.counters,
            occupancy: stats.occupancy,
            evicted: stats.evicted,
            expired: stats.expired,
            agent: Some(AgentCounts {
                restarts: self.restarts.get(&dc).copied().unwrap_or(0),
                samples: samples.taken,
                late_samples: samples.late,
            }),
        };
        let time = self.time(stats.time_ns);
        Some(self.rows.switch(time, dc, counters))
    }

    /// Returns the row of a flow that has ended; its path follows from the decisions so far.
    pub(super) fn flow(&self, flow: &Flow, outcome: &FlowOutcome) -> FlowRow {
        let time = self.flow_time(flow, outcome);
        let FlowPaths { data, ack } = qps(outcome)
            .map(|qps| self.paths.of(flow, time, qps))
            .unwrap_or_default();
        let start = outcome.start.as_ref();
        let fct = outcome.status.fct();
        let result = FlowResult {
            start: time.start,
            fct,
            fct_resolution: match &outcome.status {
                Status::Finished(fct) => Some(fct.resolution),
                _ => None,
            },
            lateness: start.map(|start| start.lateness),
            status: status(&outcome.status),
            reason: fct.map_or_else(
                || outcome.status.to_string() + &self.unreachable_reason(flow),
                |_| String::new(),
            ),
            path: data,
            ack_path: ack,
        };
        self.rows.flow(flow, result)
    }

    /// Returns the path rows of a flow, which follow from the decisions so far; empty if all data took the path in `row`, the
    /// flow's row.
    pub(super) fn flow_paths(
        &self,
        flow: &Flow,
        outcome: &FlowOutcome,
        row: &FlowRow,
    ) -> Vec<PathRow> {
        let Some(qps) = qps(outcome) else {
            return Vec::new();
        };
        let time = self.flow_time(flow, outcome);
        let ranges = self.paths.ranges(flow, time, qps);
        self.rows.paths(row, &ranges)
    }

    /// Returns the start and end of a flow. The planned start replaces a start that was not reported.
    fn flow_time(&self, flow: &Flow, outcome: &FlowOutcome) -> FlowTime {
        let reported = outcome.start.as_ref();
        let start = reported.map_or(flow.start_ns, |start| start.at.since(self.start));
        let fct = outcome.status.fct();
        FlowTime {
            start,
            end: fct.map(|fct| start.saturating_add(fct)),
        }
    }

    /// Returns the number of packets that the switches at a flow's ends have dropped because no candidate was alive;
    /// switches without such drops are left out. The two switches route the flow's data and its acknowledgements.
    pub(super) fn unreachable_at(&self, flow: &Flow) -> BTreeMap<DcId, u64> {
        let dcs = [flow.src, flow.dst]
            .into_iter()
            .map(|node| self.rows.plan.nodes[node.index()].dc);
        let dropped = |dc| Some((dc, *self.unreachable.get(&dc).filter(|count| **count > 0)?));
        dcs.filter_map(dropped).collect()
    }

    fn unreachable_reason(&self, flow: &Flow) -> String {
        let said = |(dc, count): (DcId, u64)| {
            let name = &self.rows.plan.dcs[dc.index()].name;
            format!("; no live candidate at {name}, which dropped {count} packets")
        };
        self.unreachable_at(flow).into_iter().map(said).collect()
    }

    fn link(&self, time_ns: u64, now: &LinkReport) -> LinkRow {
        let since_start = |count: fn(&LinkReport) -> u64| {
            let before = self.baseline.get(&now.port).map_or(0, count);
            count(now).saturating_sub(before)
        };
        let counters = LinkCounters {
            tx_bytes: Bytes::new(since_start(|port| port.tx_bytes)),
            tx_packets: since_start(|port| port.tx_packets),
            drops: since_start(|port| port.drops),
            marks: now
                .marks
                .map(|_| since_start(|port| port.marks.unwrap_or(0))),
        };
        let time = self.time(time_ns);
        self.rows
            .link(time, now.port, self.rate_at(now.port, time), counters)
    }

    /// Returns the emulated rate of the link at `port` at `time`, computed from the plan and its faults.
    fn rate_at(&self, port: PortId, time: Nanos) -> BitsPerSec {
        let wires = self.rows.plan.wires();
        wires
            .after(port.link(), |fault| fault.at_ns <= time)
            .rate_bps
    }

    /// Converts an instant of the monotonic clock to the time since the repetition's start.
    pub(super) fn time(&self, monotonic_ns: u64) -> Nanos {
        MonotonicTime::from_nanos(monotonic_ns).since(self.start)
    }
}

/// Returns the name of the hosts' congestion control. SoftRoCE itself has no congestion control; it reacts only to
/// loss.
fn congestion_control(plan: &Plan) -> &'static str {
    match plan.transport.cc.in_lab() {
        Some(_) => plan.transport.cc.name(),
        None => "none",
    }
}

/// Returns the QPs of a flow's client and server; `None` if the flow has not reported them.
fn qps(outcome: &FlowOutcome) -> Option<[QpAddress; 2]> {
    Some([outcome.client_qp?, outcome.server_qp?])
}

fn status(status: &Status) -> FlowStatus {
    match status {
        Status::Finished(_) => FlowStatus::Finished,
        Status::TimedOut { .. } => FlowStatus::TimedOut,
        Status::Failed { .. } | Status::WorkRequest { .. } => FlowStatus::Failed,
        Status::Unparsable { .. } | Status::NoReport { .. } => FlowStatus::Unparsable,
        Status::NotReady { .. } | Status::NotStarted { .. } => FlowStatus::NotReady,
        Status::Aborted => FlowStatus::Aborted,
    }
}

#[cfg(test)]
mod tests {
    use lab_abi::rows::Counters;
    use lab_plan::model::{FaultChange, FaultPlan};
    use lab_units::LinkId;

    use super::*;
    use crate::run::testing::{CLIENT, SERVER, decision, finished, flow, links, plan, queues};

    const START: u64 = 5_000_000_000;

    /// Returns the converter for a repetition that started at [`START`].
    fn rows(plan: &Plan) -> ReportRows<'_> {
        let mut rows = ReportRows::new(plan, "lcmp", 2, Tool::SendBw);
        rows.start_at(MonotonicTime::from_nanos(START));
        rows
    }

    #[test]
    fn bytes_sent_before_the_start_are_not_counted() {
        let plan = plan();
        let mut rows = ReportRows::new(&plan, "lcmp", 2, Tool::SendBw);
        let port = PortId(0);
        let early = rows.links(&links(4_000_000_000, port, 1_000, 1));
        assert!(early.is_empty());
        rows.start_at(MonotonicTime::from_nanos(START));
        let early = rows.links(&links(4_900_000_000, port, 1_500, 2));
        assert!(early.is_empty());
        let later = START + 20_000_000;
        let row = rows.links(&links(later, port, 9_500, 5)).remove(0);
        assert_eq!(row.emu_tx_bytes, Bytes::new(8_000));
        assert_eq!((row.tx_packets, row.drops), (Some(3), 3));
        // Emulated sizes are 1/200 of paper sizes, and emulated times are 10 times paper times.
        assert_eq!(row.tx_bytes, Bytes::new(1_600_000));
        assert_eq!(row.time_ns, Nanos::from_millis(2));
        let names = (&*row.link, &*row.from_dc, &*row.to_dc);
        assert_eq!(names, ("dc1-dc2", "dc1", "dc2"));
        assert_eq!((&*row.policy, row.repetition), ("lcmp", 2));
    }

    /// At a rate scale of 1/2,000, a fault that sets a link to 10 Mbit/s sets it to 20 Gbit/s at the paper's scale, in
    /// both directions. A later cut and its repair do not change this rate. Before the fault, and on another link, the
    /// rate is the plan's rate at the paper's scale, 100 Mbit/s.
    #[test]
    fn a_links_rate_is_the_one_in_force() {
        let mut plan = plan();
        let slower = crate::testing::wire("10 Mbit", "25 ms", "620 kB");
        let changes = [
            FaultChange::Wire(slower),
            FaultChange::Down,
            FaultChange::Up,
        ];
        let faults = changes.into_iter().zip([20, 40, 60]);
        let fault = |(change, at)| FaultPlan {
            at_ns: Nanos::from_millis(at),
            paper_at_ns: Nanos::from_millis(at / 10),
            link: LinkId(0),
            change,
            path_cost_updates: Vec::new(),
        };
        plan.faults = faults.map(fault).collect();
        let mut rows = rows(&plan);
        let mut rate = |port, millis: u64| {
            let report = links(START + millis * 1_000_000, PortId(port), 0, 0);
            rows.links(&report).remove(0).rate_bps.to_string()
        };
        assert_eq!([rate(0, 19), rate(1, 19)], ["100 Mbit"; 2]);
        let after = [rate(0, 20), rate(1, 30), rate(0, 50), rate(1, 70)];
        assert_eq!(after, ["20 Gbit"; 4]);
        assert_eq!(rate(2, 70), "100 Mbit");
    }

    #[test]
    fn a_split_names_the_destination_and_its_next_hops() {
        let plan = plan();
        let rows = rows(&plan);
        let destination = &plan.switches[0].destinations[0];
        let prefix = plan.dcs[destination.dc.index()].prefix;
        let buckets = vec![7; destination.candidates.len()];
        let command = |addr| {
            let row = BucketRow {
                addr,
                prefix_len: prefix.len,
                buckets: buckets.clone(),
            };
            (DcId(0), AgentCommand::SetBuckets(vec![row]))
        };
        let unknown = command("192.0.2.0".parse().unwrap());
        let found = rows.splits(START + 20_000_000, &[command(prefix.addr), unknown]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].time_ns, Nanos::from_millis(2));
        assert_eq!((&*found[0].switch, &*found[0].to_dc), ("dc1", "dc4"));
        assert_eq!(*found[0].next_dcs, ["dc2", "dc3"]);
        assert_eq!(*found[0].buckets, [7, 7]);
    }

    #[test]
    fn decisions_per_second_are_those_since_the_row_before() {
        let plan = plan();
        let mut rows = rows(&plan);
        let stats = |time_ns: u64, new_flows| Stats {
            time_ns,
            counters: Counters {
                new_flows,
                failovers: 2,
                stale: 1,
                ..Counters::default()
            },
            occupancy: 7,
            ..Stats::default()
        };
        assert_eq!(rows.switch(DcId(0), &stats(START - 1, 9)), None);
        // The time scale is 10, so 100 emulated ms are 10 ms of paper time.
        let row = rows
            .switch(DcId(0), &stats(START + 100_000_000, 8))
            .unwrap();
        assert_eq!((row.decisions, row.decisions_per_s), (10, 1_000));
        assert_eq!((row.stale, row.occupancy, row.restarts), (1, 7, 0));
        rows.restart(DcId(0));
        let row = rows
            .switch(DcId(0), &stats(START + 200_000_000, 13))
            .unwrap();
        assert_eq!((row.decisions, row.decisions_per_s), (15, 500));
        assert_eq!((&*row.switch, row.restarts), ("dc1", 1));
    }

    #[test]
    fn samples_are_those_since_the_start_of_every_agent_of_the_switch() {
        let plan = plan();
        let mut rows = rows(&plan);
        let report = |rows: &mut ReportRows<'_>, time_ns, samples, late_samples| {
            let row = rows.switch(
                DcId(0),
                &Stats {
                    time_ns,
                    samples,
                    late_samples,
                    ..Stats::default()
                },
            );
            row.map(|row| (row.samples, row.late_samples))
        };
        assert_eq!(report(&mut rows, START - 1, 40, 3), None);
        let first = report(&mut rows, START + 100_000_000, 50, 4);
        assert_eq!(first, Some((Some(10), Some(1))));
        rows.restart(DcId(0));
        let second = report(&mut rows, START + 200_000_000, 7, 2);
        assert_eq!(second, Some((Some(17), Some(3))));
    }

    #[test]
    fn a_decision_by_signals_older_than_an_interval_says_so() {
        let plan = plan();
        let interval = plan.policies[1]
            .policy
            .lcmp()
            .expect("LCMP")
            .sample_interval_ns
            .get();
        let mut report = decision(&plan, 0, SERVER, 1);
        for (age, stale) in [(interval, 0), (interval + 1, 1)] {
            report.signal_age_ns = age;
            let row = rows(&plan).decision(DcId(0), &report);
            // The time scale is 10.
            assert_eq!(row.signal_age_ns, Some(Nanos::new(age / 10)));
            assert_eq!(row.stale_signals, Some(stale));
        }
        let mut ecmp = ReportRows::new(&plan, &plan.policies[0].label, 2, Tool::SendBw);
        let row = ecmp.decision(DcId(0), &report);
        assert_eq!((row.signal_age_ns, row.stale_signals), (None, None));
    }

    #[test]
    fn queues_before_the_start_have_no_row() {
        let plan = plan();
        let rows = rows(&plan);
        assert!(rows.queues(&queues(START - 1, PortId(2), 400)).is_empty());
        let row = rows.queues(&queues(START, PortId(2), 400)).remove(0);
        assert_eq!(row.time_ns, Nanos::ZERO);
        assert_eq!((&*row.switch, &*row.to_dc), ("dc1", "dc3"));
        assert_eq!(row.emu_backlog_bytes, Bytes::new(400));
        assert_eq!(row.backlog_bytes, Bytes::new(80_000));
        assert_eq!((row.queue_level, row.congestion_cost), (51, 7));
    }

    #[test]
    fn a_decision_has_its_flow_and_the_cost_of_each_candidate() {
        let plan = plan();
        let mut rows = rows(&plan);
        rows.connect(&flow(), CLIENT, SERVER);
        let row = rows.decision(DcId(0), &decision(&plan, 0, SERVER, 1));
        assert_eq!(row.candidates.0, ["dc2", "dc3"]);
        assert_eq!((&row.c_path.0, &row.cost.0), (&vec![10; 2], &vec![30; 2]));
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
        // Without other flows, the flow would have taken 200 ms.
        assert_eq!(row.slowdown, Some(1.5));
        assert_eq!(row.path.unwrap().to_string(), "dc1-dc3-dc4");
        assert_eq!(row.ack_path.unwrap().to_string(), "dc4-dc2-dc1");
        assert_eq!((row.status, &*row.reason), (FlowStatus::Finished, ""));
    }

    #[test]
    fn an_unfinished_flow_names_the_switch_of_its_ends_without_a_live_candidate() {
        let plan = plan();
        let mut rows = rows(&plan);
        let dropped = |count| Stats {
            time_ns: START + 1,
            counters: Counters {
                no_destination: count,
                ..Counters::default()
            },
            ..Stats::default()
        };
        for (dc, count) in [(0, 7), (1, 5), (3, 0)] {
            rows.switch(DcId(dc), &dropped(count));
        }
        let at = MonotonicTime::from_nanos(START);
        let timed_out = FlowOutcome {
            status: Status::TimedOut {
                after: Nanos::from_millis(9_000),
            },
            ..finished(at, Nanos::ZERO)
        };
        assert_eq!(
            rows.flow(&flow(), &timed_out).reason,
            "not finished after 9 s; no live candidate at dc1, which dropped 7 packets"
        );
        let finished = finished(at, Nanos::from_millis(300));
        assert_eq!(rows.flow(&flow(), &finished).reason, "");
    }

    #[test]
    fn an_unfinished_flow_has_a_reason_and_one_that_never_started_its_planned_start() {
        let plan = plan();
        let at = MonotonicTime::from_nanos(START);
        let timed_out = FlowOutcome {
            status: Status::TimedOut {
                after: Nanos::from_millis(9_000),
            },
            ..finished(at, Nanos::ZERO)
        };
        let row = rows(&plan).flow(&flow(), &timed_out);
        assert_eq!(row.status, FlowStatus::TimedOut);
        assert_eq!(row.reason, "not finished after 9 s");
        let times = (row.fct_ns, row.slowdown, row.emu_fct_resolution_ns);
        assert_eq!(times, (None, None, None));
        let aborted = FlowOutcome {
            status: Status::Aborted,
            start: None,
            client_qp: None,
            server_qp: None,
            ..timed_out
        };
        let row = rows(&plan).flow(&flow(), &aborted);
        assert_eq!(row.emu_start_ns, flow().start_ns);
        assert_eq!((row.launch_lateness_ns, row.path), (None, None));
        assert_eq!(row.status, FlowStatus::Aborted);
    }
}
