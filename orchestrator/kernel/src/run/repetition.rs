//! State of a repetition of one policy, which turns inputs into effects without I/O.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use lab_abi::{
    dcqcn::QpKey,
    pfc::PauseRecord,
    wire::{AgentCommand, AgentMessage},
};
use lab_generators::contract::{Event, FlowOutcome, MonotonicTime, Status, Tool};
use lab_plan::{
    SampledRates,
    model::{AgentCrashPlan, FaultChange, FaultPlan, Flow, Plan, PolicyRun, Reconvergence},
};
use lab_recorder::RowBatch;
use lab_records::{ChangeKind, FlowRow, LiveChange, PathRow, PfcRow, RateRow};
use lab_units::{DcId, FlowId, Nanos, PortId, show::about_time};

use super::{
    AgentError, RunError, RunReport,
    agents::{self, AgentEvent},
    commands::Past,
    input::{Ending, Input, RateSample},
    rows::ReportRows,
    te::TeController,
    transits::TransitRows,
    watch,
};

/// Identity of a repetition, the directory in which the maps of its switches are pinned, and the switches' transit rows.
#[derive(Clone, Copy)]
pub(super) struct RepetitionSetup<'a> {
    /// Index of the policy in `plan.policies`.
    pub policy: usize,
    /// Number of the repetition, from 0.
    pub number: u32,
    /// Directory on a bpffs mount in which maps are pinned.
    pub pin_dir: &'a Path,
    pub transits: &'a TransitRows,
}

/// State of a repetition, which each input updates.
#[derive(Debug)]
pub(super) struct Repetition<'a> {
    plan: &'a Plan,
    policy: &'a PolicyRun,
    number: u32,
    /// Flows that belong to the repetition.
    pub flows: Vec<&'a Flow>,
    rows: ReportRows<'a>,
    /// TE controller; `None` if the policy is not traffic engineering.
    te: Option<TeController<'a>>,
    /// Number of the plan's faults that have been injected so far.
    injected: usize,
    /// Number of the plan's reconvergences that have taken effect so far.
    reconverged: usize,
    /// Number of the plan's crashes of agents that have taken place so far.
    crashed: usize,
    /// Agents that are down, by datacenter.
    down: BTreeMap<DcId, DownAgent>,
    /// Selection of flows whose rates are recorded; `None` without congestion control.
    sampled_rates: Option<SampledRates>,
    /// Outcomes of flows that have ended but have no row yet, because routing decisions for these flows are still
    /// missing.
    waiting: BTreeMap<FlowId, FlowOutcome>,
    agents: usize,
    ready_agents: usize,
    /// Datacenters whose agents have closed their sockets and are not started again.
    closed_agents: BTreeSet<DcId>,
    /// Datacenters whose agents have sent all their reports, as the agents' farewell messages confirm.
    complete_agents: BTreeSet<DcId>,
    /// Datacenters whose switches learn of cuts only from their agents.
    late_cuts: BTreeSet<DcId>,
    /// True once the agents were asked to end.
    is_ending: bool,
    /// Datacenters whose switches dropped packets without a live candidate, as the rows of unfinished flows report.
    unreachable: BTreeSet<DcId>,
}

/// Effects of one input, which the caller applies.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub rows: RowBatch,
    /// Descriptions of steps that are complete, for the progress display. A flow's step is complete once the flow has
    /// its row.
    pub steps: Vec<String>,
    /// Commands to send, each with the datacenter of its agent.
    pub commands: Vec<(DcId, AgentCommand)>,
    /// Commands that agents have given themselves; restarted agents start from the result.
    pub applied: Vec<(DcId, AgentCommand)>,
    /// True if the input reported that all data of a flow was delivered.
    pub is_delivery: bool,
    /// Datacenter whose agent ended unexpectedly; `None` if no agent did.
    pub lost: Option<DcId>,
}

/// Planned change while flows run. Changes at one instant are made in the order of these variants.
#[derive(Clone, Copy, Debug)]
pub(super) enum PlannedChange<'a> {
    AgentCrash(&'a AgentCrashPlan),
    Fault(&'a FaultPlan),
    Reconvergence(&'a Reconvergence),
    AgentRestart { at: Nanos, dc: DcId },
}

/// Agent that the run has killed, as planned.
#[derive(Clone, Copy, Debug)]
struct DownAgent {
    /// Time of the restart relative to the repetition's start; `None` if the plan has none.
    restart: Option<Nanos>,
    /// True once all messages of the killed process have been handled.
    is_closed: bool,
}

impl PlannedChange<'_> {
    /// Returns the time of the change relative to the repetition's start.
    pub(super) const fn at(self) -> Nanos {
        match self {
            Self::AgentCrash(crash) => crash.at_ns,
            Self::Fault(fault) => fault.at_ns,
            Self::Reconvergence(change) => change.at_ns,
            Self::AgentRestart { at, .. } => at,
        }
    }
}

impl Effects {
    /// Adds the effects of a flow's end: its row, the rows of its paths, and the progress step.
    fn end(&mut self, row: FlowRow, paths: Vec<PathRow>, outcome: &FlowOutcome) {
        self.rows.flows.push(row);
        self.rows.paths.extend(paths);
        self.steps.push(ended(outcome));
    }
}

impl<'a> Repetition<'a> {
    /// Creates the state of a repetition whose agents have not started.
    pub(super) fn new(plan: &'a Plan, policy: &'a PolicyRun, number: u32, tool: Tool) -> Self {
        let flows = plan.flows.iter();
        Self {
            plan,
            policy,
            number,
            flows: flows.filter(|flow| flow.repetition == number).collect(),
            rows: ReportRows::new(plan, &policy.label, number, tool),
            te: TeController::new(plan, policy),
            injected: 0,
            reconverged: 0,
            crashed: 0,
            down: BTreeMap::new(),
            sampled_rates: SampledRates::of(plan, number),
            waiting: BTreeMap::new(),
            agents: agents::switches(plan).count(),
            ready_agents: 0,
            closed_agents: BTreeSet::new(),
            complete_agents: BTreeSet::new(),
            late_cuts: BTreeSet::new(),
            is_ending: false,
            unreachable: BTreeSet::new(),
        }
    }

    /// Returns the title of a phase for the progress display.
    pub(super) fn title(&self, phase: &str) -> String {
        format!("{} {phase}", self.label())
    }

    /// Returns the policy's label; if there are several repetitions, followed by the number of this repetition.
    pub(super) fn label(&self) -> String {
        match self.plan.repetitions {
            1 => self.policy.label.clone(),
            _ => format!("{} #{}", self.policy.label, self.number + 1),
        }
    }

    /// Returns true once all agents have reported that they are ready.
    pub(super) const fn is_ready(&self) -> bool {
        self.ready_agents >= self.agents
    }

    /// Returns true once all agents have closed their sockets.
    pub(super) fn is_over(&self) -> bool {
        self.closed_agents.len() >= self.agents
    }

    /// Returns true if the agent of `dc` has ended and is not started again.
    pub(super) fn is_closed(&self, dc: DcId) -> bool {
        self.closed_agents.contains(&dc)
    }

    /// Returns the faults that have been injected so far.
    pub(super) fn injected(&self) -> &'a [FaultPlan] {
        &self.plan.faults[..self.injected]
    }

    /// Returns the next fault to inject; `None` if all faults have been injected.
    pub(super) fn next_fault(&self) -> Option<&'a FaultPlan> {
        self.plan.faults.get(self.injected)
    }

    /// Returns the changes of the plan that have taken effect so far.
    pub(super) fn past(&self) -> Past<'a> {
        Past {
            faults: self.injected(),
            reconvergences: &self.plan.reconvergences[..self.reconverged],
        }
    }

    /// Returns the plan's next change; `None` if there is none left. Several at one instant are in the order of
    /// [`PlannedChange`]. An agent does not start again before the killed process's last message has been handled.
    pub(super) fn next_change(&self) -> Option<PlannedChange<'a>> {
        let plan = self.plan;
        let crash = plan.agent_crashes.get(self.crashed);
        let reconvergence = plan.reconvergences.get(self.reconverged);
        let closed = self.down.iter().filter(|(_, agent)| agent.is_closed);
        let restarts = closed.filter_map(|(&dc, agent)| Some((agent.restart?, dc)));
        let restart = restarts.min();
        let in_order = [
            crash.map(PlannedChange::AgentCrash),
            self.next_fault().map(PlannedChange::Fault),
            reconvergence.map(PlannedChange::Reconvergence),
            restart.map(|(at, dc)| PlannedChange::AgentRestart { at, dc }),
        ];
        let changes = in_order.into_iter().flatten();
        // Of several minima, `min_by_key` returns the first.
        changes.min_by_key(|change| change.at())
    }

    /// Returns true if the agent of `dc` is down, as the plan says.
    pub(super) fn is_down(&self, dc: DcId) -> bool {
        self.down.contains_key(&dc)
    }

    /// Returns the first agent that is down, with true if all messages of the killed process have been handled; `None` if no
    /// agent is down.
    pub(super) fn first_down(&self) -> Option<(DcId, bool)> {
        let (&dc, agent) = self.down.first_key_value()?;
        Some((dc, agent.is_closed))
    }

    /// Returns the time between two samples of rates, at least [`MIN_RATE_INTERVAL`]; `None` if no rates are recorded.
    pub(super) fn rate_interval(&self) -> Option<Nanos> {
        let sampled = self.sampled_rates.as_ref()?;
        Some(sampled.interval.max(MIN_RATE_INTERVAL))
    }

    /// Returns the keys of the sending QPs whose rates are recorded, by running flow.
    pub(super) const fn sampled(&self) -> &BTreeMap<FlowId, QpKey> {
        self.rows.sampled()
    }

    /// Handles an input: updates the run's report, and returns the effects that the caller must apply.
    ///
    /// # Errors
    /// If an agent failed, a flow is not in the schedule, or the TE solver finds no solution.
    pub(super) fn handle(
        &mut self,
        input: Input,
        report: &mut RunReport,
    ) -> Result<Effects, RunError> {
        let mut effects = Effects::default();
        match input {
            Input::Agent(dc, AgentEvent::Message(message)) => {
                self.handle_agent(dc, message, &mut effects, report)?;
            }
            Input::Agent(dc, AgentEvent::Closed) => self.handle_closed(dc, &mut effects)?,
            Input::Flow(event) => self.handle_flow(event, &mut effects)?,
            Input::Start(at) => self.start_at(at),
            Input::Fault => self.handle_fault(),
            Input::Reconvergence => self.handle_reconvergence(),
            Input::Rates(sample) => effects.rows.rates = self.rates(&sample),
            Input::Tuned { at, dc, changes } => {
                effects.steps.push(format!("{dc} tuned: {changes}"));
                let text = format!("{dc}: {changes}");
                report.changes.push(self.change(ChangeKind::Tune, at, text));
            }
            Input::Restarted { at, dc } => {
                self.complete_agents.remove(&dc);
                self.rows.restart(dc);
                *report.restarts.entry(dc).or_default() += 1;
                let change = self.change(ChangeKind::AgentRestart, at, self.name(dc));
                report.changes.push(change);
            }
            Input::AgentCrash => self.handle_crash(),
            Input::AgentRestart(dc) => {
                self.down.remove(&dc);
                self.complete_agents.remove(&dc);
                self.rows.restart(dc);
                if let Some(te) = &mut self.te {
                    te.wait_for(dc);
                }
            }
            Input::Abandoned(dc) => {
                self.down.remove(&dc);
                self.closed_agents.insert(dc);
            }
            Input::Stop => self.is_ending = true,
            Input::Drained => self.add_last_rows(&mut effects)?,
            Input::Pauses { pauses, nics } => effects.rows.pfc = self.pauses(&pauses, &nics),
            Input::End(ending) => self.add_to(report, *ending),
        }
        let late = effects
            .rows
            .flows
            .iter()
            .filter(|row| row.is_late(late_launch(self.plan, row.flow_id)));
        report.late_launches += u64::try_from(late.count()).unwrap_or(u64::MAX);
        Ok(effects)
    }

    fn start_at(&mut self, start: MonotonicTime) {
        self.rows.start_at(start);
        if let Some(te) = &mut self.te {
            te.start_at(start);
        }
    }

    fn handle_fault(&mut self) {
        let Some(fault) = self.next_fault() else {
            return;
        };
        if let Some(te) = &mut self.te {
            te.apply_fault(fault);
        }
        self.injected += 1;
    }

    fn handle_crash(&mut self) {
        let Some(crash) = self.plan.agent_crashes.get(self.crashed) else {
            return;
        };
        let agent = DownAgent {
            restart: crash.restart.map(|restart| restart.at_ns),
            is_closed: false,
        };
        self.down.insert(crash.dc, agent);
        if let Some(te) = &mut self.te {
            te.wait_no_longer_for(crash.dc);
        }
        self.crashed += 1;
    }

    fn handle_reconvergence(&mut self) {
        self.reconverged = (self.reconverged + 1).min(self.plan.reconvergences.len());
        if let Some(te) = &mut self.te {
            te.reconverge(self.reconverged);
        }
    }

    /// Returns the record of a tuning or an agent restart that happened at `at`.
    fn change(&self, kind: ChangeKind, at: MonotonicTime, text: String) -> LiveChange {
        LiveChange {
            kind,
            policy: Some(self.policy.label.clone()),
            repetition: Some(self.number),
            time_ns: Some(self.rows.paper_time(at)),
            at: None,
            text,
        }
    }

    fn rates(&self, sample: &RateSample) -> Vec<RateRow> {
        sample
            .qps
            .iter()
            .filter_map(|(flow, qp)| self.rows.rate(sample.at, *flow, (*qp, &sample.law)))
            .collect()
    }

    /// Returns the rows for the NICs' pauses, in the order of the pauses; `nics` maps interface indices to ports.
    fn pauses(&self, pauses: &[PauseRecord], nics: &BTreeMap<u32, PortId>) -> Vec<PfcRow> {
        let mut rows: Vec<PfcRow> = pauses
            .iter()
            .filter_map(|pause| {
                let nic = *nics.get(&pause.ifindex)?;
                Some(self.rows.pause(nic, pause))
            })
            .flatten()
            .collect();
        rows.sort_by_key(|row| row.time_ns);
        rows
    }

    /// Adds the repetition's figures to the report of its run.
    fn add_to(&self, report: &mut RunReport, ending: Ending) {
        let before = ending.before;
        let after = ending.after;
        let label = self.label();
        if let Some(watch) = ending.watch {
            watch::add(&mut report.conduct.watch, watch);
        }
        report.conduct.host_waits += after.host_waits.saturating_sub(before.host_waits);
        report.add_cpu(before.cpu, after.cpu);
        let reroutes = report.reroutes();
        let losses = (before.losses, after.losses);
        report.add_losses(&self.policy.label, losses, reroutes);
        if let Some(hosts) = &ending.hosts {
            report.add_hosts(&label, hosts);
        }
        // The last reports of agents that have ended without a farewell message are lost.
        let incomplete = self.closed_agents.difference(&self.complete_agents);
        report.add_incomplete(&label, incomplete.map(|dc| self.name(*dc)));
        if self
            .injected()
            .iter()
            .any(|fault| fault.change == FaultChange::Down)
        {
            report.add_late_cuts(&label, self.late_cuts.iter().map(|dc| self.name(*dc)));
        }
        let max_age = self.plan.max_table_age_ns;
        for crash in &self.plan.agent_crashes {
            if crash.covers(crash.at_ns.saturating_add(max_age)) {
                report.accept_stale(crash.dc);
            }
        }
        report.end_repetition(&label, &self.unreachable, |dc| self.name(dc));
        let work = &mut report.work;
        let took = self.rows.time(ending.at.as_nanos());
        work.lab_ns = work.lab_ns.saturating_add(took);
        work.packet_hops += after.packets.saturating_sub(before.packets);
        report.add_altered(&label, &ending.altered);
    }

    /// Adds the rows of flows whose paths are still unknown after all agents have ended.
    fn add_last_rows(&mut self, effects: &mut Effects) -> Result<(), RunError> {
        for outcome in std::mem::take(&mut self.waiting).into_values() {
            let row = self.row(&outcome)?;
            let paths = self.paths(&outcome, &row)?;
            effects.end(row, paths, &outcome);
        }
        self.note_unreachable(&effects.rows.flows)
    }

    fn handle_flow(&mut self, event: Event, effects: &mut Effects) -> Result<(), RunError> {
        match event {
            Event::Ready {
                flow,
                client_qp,
                server_qp,
            } => {
                let flow = self.flow(flow)?;
                self.rows.connect(flow, client_qp, server_qp);
                let sampled = self.sampled_rates.as_ref();
                if sampled.is_some_and(|sampled| sampled.flows.contains(&flow.id)) {
                    self.rows.sample(flow, client_qp, server_qp);
                }
            }
            Event::Started { .. } => {}
            Event::Delivered { .. } => effects.is_delivery = true,
            Event::Ended(outcome) => {
                let flow = outcome.flow;
                self.rows.end_sampling(flow);
                self.waiting.insert(flow, outcome);
                self.take_known([flow], effects)?;
            }
        }
        Ok(())
    }

    fn handle_closed(&mut self, dc: DcId, effects: &mut Effects) -> Result<(), RunError> {
        if !self.is_ready() {
            return Err(AgentError::Gone { dc: self.name(dc) }.into());
        }
        if let Some(agent) = self.down.get_mut(&dc).filter(|agent| !agent.is_closed) {
            agent.is_closed = true;
        } else if self.is_ending {
            self.closed_agents.insert(dc);
        } else {
            effects.lost = Some(dc);
        }
        Ok(())
    }

    fn handle_agent(
        &mut self,
        dc: DcId,
        message: AgentMessage,
        effects: &mut Effects,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        match message {
            AgentMessage::Ready(ready) if self.is_ready() => {
                let flows = ready.adopted.unwrap_or(0);
                let name = self.name(dc);
                effects.steps.push(format!(
                    "agent of {name} was restarted and took over {flows} flows"
                ));
            }
            AgentMessage::Ready(ready) => {
                if !ready.has_carriers {
                    self.late_cuts.insert(dc);
                }
                self.ready_agents += 1;
                effects.steps.push(self.name(dc));
            }
            AgentMessage::Decisions(decisions) => {
                let rows = decisions.iter();
                effects.rows.decisions =
                    rows.map(|report| self.rows.decision(dc, report)).collect();
                let decided: BTreeSet<FlowId> = effects
                    .rows
                    .decisions
                    .iter()
                    .filter_map(|row| row.flow_id)
                    .collect();
                self.take_known(decided, effects)?;
            }
            AgentMessage::Queues(queues) => effects.rows.queues = self.rows.queues(&queues),
            AgentMessage::Links(links) => effects.rows.links = self.rows.links(&links),
            AgentMessage::Stats(stats) => {
                effects.rows.switches.extend(self.rows.switch(dc, &stats));
                report.switches.insert(dc, stats);
            }
            AgentMessage::Demands(demands) => {
                if let Some(te) = &mut self.te {
                    effects.commands = te.report(dc, &demands)?;
                    effects.rows.splits = self.rows.splits(demands.time_ns, &effects.commands);
                }
            }
            AgentMessage::Splits(splits) => {
                effects.applied = vec![(dc, AgentCommand::SetBuckets(splits.rows))];
                effects.rows.splits = self.rows.splits(splits.time_ns, &effects.applied);
            }
            AgentMessage::Error { message } => {
                let dc = self.name(dc);
                return Err(AgentError::Reported { dc, message }.into());
            }
            AgentMessage::Bye => {
                self.complete_agents.insert(dc);
            }
            AgentMessage::PortState(_) | AgentMessage::Flows(_) => {}
        }
        Ok(())
    }

    /// Adds to `effects` the end of each flow in `flows` that has ended and whose paths are known in both directions.
    fn take_known(
        &mut self,
        flows: impl IntoIterator<Item = FlowId>,
        effects: &mut Effects,
    ) -> Result<(), RunError> {
        for outcome in flows.into_iter().filter_map(|flow| self.waiting.get(&flow)) {
            let row = self.row(outcome)?;
            if row.path.is_some() && row.ack_path.is_some() {
                let paths = self.paths(outcome, &row)?;
                effects.end(row, paths, outcome);
            }
        }
        for row in &effects.rows.flows {
            self.waiting.remove(&row.flow_id);
        }
        self.note_unreachable(&effects.rows.flows)
    }

    fn note_unreachable(&mut self, rows: &[FlowRow]) -> Result<(), RunError> {
        for row in rows.iter().filter(|row| !row.status.is_finished()) {
            let flow = self.flow(row.flow_id)?;
            self.unreachable
                .extend(self.rows.unreachable_at(flow).into_keys());
        }
        Ok(())
    }

    fn flow(&self, id: FlowId) -> Result<&'a Flow, RunError> {
        let flow = self.plan.flows.get(id.index());
        flow.filter(|flow| flow.repetition == self.number)
            .ok_or(RunError::UnknownFlow { flow: id })
    }

    fn row(&self, outcome: &FlowOutcome) -> Result<FlowRow, RunError> {
        Ok(self.rows.flow(self.flow(outcome.flow)?, outcome))
    }

    fn paths(&self, outcome: &FlowOutcome, row: &FlowRow) -> Result<Vec<PathRow>, RunError> {
        Ok(self.rows.flow_paths(self.flow(outcome.flow)?, outcome, row))
    }

    fn name(&self, dc: DcId) -> String {
        self.plan.dcs[dc.index()].name.clone()
    }
}

/// Returns a description of a flow's end for the progress display.
fn ended(outcome: &FlowOutcome) -> String {
    let flow = outcome.flow;
    match &outcome.status {
        Status::Finished(fct) => format!("flow {flow} finished, FCT {}", about_time(fct.time)),
        other => format!("flow {flow} {other}"),
    }
}

/// Returns the lateness above which the start of a flow counts as late: a hundredth of the flow's round-trip time.
fn late_launch(plan: &Plan, flow: FlowId) -> Nanos {
    let round_trip = plan.flows.get(flow.index()).map(|flow| flow.base_rtt_ns);
    Nanos::new(round_trip.unwrap_or(Nanos::ZERO).get() / 100)
}

/// Minimum time between two samples of rates; each sample takes CPU time from the lab.
const MIN_RATE_INTERVAL: Nanos = Nanos::from_millis(20);

#[cfg(test)]
mod tests {
    use lab_abi::wire::{Attachment, Ready};
    use lab_plan::model::AgentRestart;
    use lab_records::{Deviation, FlowStatus, ReasonCode};
    use lab_units::{LinkId, Nanos, PortId};

    use super::*;
    use crate::run::{
        input::Readings,
        testing::{CLIENT, SERVER, decision, finished, flow, links, plan, queues},
    };

    const START: MonotonicTime = MonotonicTime::from_nanos(5_000_000_000);

    /// Handles an input with a report that is then discarded.
    fn handle(repetition: &mut Repetition<'_>, input: Input) -> Result<Effects, RunError> {
        repetition.handle(input, &mut RunReport::default())
    }

    fn message(dc: u32, message: AgentMessage) -> Input {
        Input::Agent(DcId(dc), AgentEvent::Message(message))
    }

    fn ready(dc: u32, adopted: Option<u64>) -> Input {
        let ready = Ready {
            time_ns: 0,
            dc: String::new(),
            pid: 1,
            attachment: Attachment::Tcx,
            has_carriers: true,
            ports: 3,
            load_ns: 0,
            adopted,
            tables: Vec::new(),
        };
        message(dc, AgentMessage::Ready(ready))
    }

    /// Returns the ending of a repetition in which nothing was counted.
    fn nothing() -> Ending {
        let none = Readings::default();
        Ending {
            at: START,
            before: none,
            after: none,
            watch: None,
            hosts: None,
            altered: Vec::new(),
        }
    }

    fn closed(dc: u32) -> Input {
        Input::Agent(DcId(dc), AgentEvent::Closed)
    }

    /// Returns a repetition that expects the agents of DC1 and DC4.
    fn repetition(plan: &Plan) -> Repetition<'_> {
        let mut repetition = Repetition::new(plan, &plan.policies[1], 0, Tool::SendBw);
        repetition.agents = 2;
        repetition
    }

    /// Returns a repetition whose two agents are ready, whose flow is connected, and whose clock has started.
    fn started(plan: &Plan) -> Repetition<'_> {
        let mut repetition = repetition(plan);
        handle(&mut repetition, ready(0, None)).unwrap();
        handle(&mut repetition, ready(3, None)).unwrap();
        handle(&mut repetition, Input::Start(START)).unwrap();
        let connected = Event::Ready {
            flow: flow().id,
            client_qp: CLIENT,
            server_qp: SERVER,
        };
        handle(&mut repetition, Input::Flow(connected)).unwrap();
        repetition
    }

    /// Returns the last input of a repetition that ended at `at`, during which 15 packets were sent and the kernel
    /// waited twice for its host.
    fn ending(at: MonotonicTime) -> Input {
        let readings = |packets, host_waits| Readings {
            packets,
            host_waits,
            ..Readings::default()
        };
        Input::End(Box::new(Ending {
            at,
            before: readings(10, 3),
            after: readings(25, 5),
            watch: None,
            hosts: None,
            altered: Vec::new(),
        }))
    }

    fn end() -> Input {
        Input::Flow(Event::Ended(finished(START, Nanos::from_millis(300))))
    }

    fn pinned(plan: &Plan, dc: u32) -> Input {
        let dest_qp = if dc == 0 { SERVER } else { CLIENT };
        let decisions = vec![decision(plan, dc, dest_qp, 0)];
        message(dc, AgentMessage::Decisions(decisions))
    }

    #[test]
    fn a_repetition_is_ready_and_over_once_every_agent_is() {
        let plan = plan();
        let mut repetition = repetition(&plan);
        for (dc, name, is_ready) in [(0, "dc1", false), (3, "dc4", true)] {
            let effects = handle(&mut repetition, ready(dc, None)).unwrap();
            assert_eq!(effects.steps, [name]);
            assert_eq!(repetition.is_ready(), is_ready);
        }
        handle(&mut repetition, Input::Stop).unwrap();
        for (dc, is_over) in [(0, false), (3, true)] {
            handle(&mut repetition, closed(dc)).unwrap();
            assert_eq!(repetition.is_over(), is_over);
        }
    }

    #[test]
    fn an_agent_that_ends_without_a_farewell_is_incomplete() {
        let plan = plan();
        let mut repetition = started(&plan);
        handle(&mut repetition, Input::Stop).unwrap();
        handle(&mut repetition, message(3, AgentMessage::Bye)).unwrap();
        for dc in [0, 3] {
            handle(&mut repetition, closed(dc)).unwrap();
        }
        let mut report = RunReport::default();
        repetition.handle(ending(START), &mut report).unwrap();
        let deviation = Deviation {
            subject: "lcmp: dc1".to_owned(),
            code: ReasonCode::IncompleteReports,
            count: 1,
        };
        assert_eq!(report.conduct.deviations, [deviation]);
    }

    #[test]
    fn work_and_waits_are_those_between_the_readings_of_each_repetition() {
        let plan = plan();
        let mut report = RunReport::default();
        let end = START.after(Nanos::from_millis(2_000));
        for _ in 0..2 {
            let mut repetition = started(&plan);
            repetition.handle(ending(end), &mut report).unwrap();
        }
        assert_eq!(report.work.packet_hops, 30);
        assert_eq!(report.work.lab_ns, Nanos::from_millis(4_000));
        assert_eq!(report.conduct.host_waits, 4);
    }

    #[test]
    fn an_agent_that_ends_before_all_are_ready_is_an_error() {
        let plan = plan();
        let mut repetition = repetition(&plan);
        handle(&mut repetition, ready(0, None)).unwrap();
        let error = handle(&mut repetition, closed(3)).unwrap_err();
        assert_eq!(error.to_string(), "agent of `dc4` ended unexpectedly");
    }

    #[test]
    fn an_agent_that_ends_unasked_is_lost_and_its_successor_adopts_its_flows() {
        let plan = plan();
        let mut repetition = started(&plan);
        let effects = handle(&mut repetition, closed(3)).unwrap();
        assert_eq!(effects.lost, Some(DcId(3)));
        let restarted = Input::Restarted {
            at: START,
            dc: DcId(3),
        };
        handle(&mut repetition, restarted).unwrap();
        let effects = handle(&mut repetition, ready(3, Some(40))).unwrap();
        let step = "agent of dc4 was restarted and took over 40 flows";
        assert_eq!(effects.steps, [step]);
        assert!(!repetition.is_over());
    }

    #[test]
    fn a_flow_has_its_row_once_its_end_and_paths_are_known_in_any_order() {
        let plan = plan();
        type MakeInput = fn(&Plan) -> Input;
        let orders: [[MakeInput; 3]; 3] = [
            [|_| end(), |plan| pinned(plan, 0), |plan| pinned(plan, 3)],
            [|plan| pinned(plan, 0), |_| end(), |plan| pinned(plan, 3)],
            [|plan| pinned(plan, 3), |plan| pinned(plan, 0), |_| end()],
        ];
        for order in orders {
            let mut repetition = started(&plan);
            let rows = order.map(|input| handle(&mut repetition, input(&plan)).unwrap().rows.flows);
            assert_eq!(rows.each_ref().map(Vec::len), [0, 0, 1]);
            assert_eq!(rows[2][0].path.as_ref().unwrap().to_string(), "dc1-dc2-dc4");
            assert!(
                handle(&mut repetition, Input::Drained)
                    .unwrap()
                    .rows
                    .flows
                    .is_empty()
            );
        }
    }

    #[test]
    fn a_flow_without_decisions_has_a_row_without_path_in_the_end() {
        let plan = plan();
        let mut repetition = started(&plan);
        let effects = handle(&mut repetition, end()).unwrap();
        assert!(effects.rows.flows.is_empty() && effects.steps.is_empty());
        let effects = handle(&mut repetition, Input::Drained).unwrap();
        assert_eq!(effects.steps, ["flow 0 finished, FCT 300 ms"]);
        let rows = effects.rows.flows;
        assert_eq!(
            (rows[0].status, &rows[0].path),
            (FlowStatus::Finished, &None)
        );
        assert!(
            handle(&mut repetition, Input::Drained)
                .unwrap()
                .rows
                .flows
                .is_empty()
        );
    }

    #[test]
    fn links_and_queues_become_rows_and_earlier_counters_their_baseline() {
        let plan = plan();
        let mut repetition = repetition(&plan);
        handle(&mut repetition, ready(0, None)).unwrap();
        let report = |time, bytes| AgentMessage::Links(links(time, PortId(0), bytes, 0));
        let baseline = handle(&mut repetition, message(0, report(1_000, 700))).unwrap();
        assert!(baseline.rows.links.is_empty());
        handle(&mut repetition, Input::Start(START)).unwrap();
        let rows = handle(&mut repetition, message(0, report(START.as_nanos(), 900)))
            .unwrap()
            .rows;
        assert_eq!(
            (rows.links[0].emu_tx_bytes.get(), rows.queues.len()),
            (200, 0)
        );
        let queues = AgentMessage::Queues(queues(START.as_nanos(), PortId(0), 900));
        let rows = handle(&mut repetition, message(0, queues)).unwrap().rows;
        assert_eq!((rows.links.len(), rows.queues.len()), (0, 1));
    }

    #[test]
    fn a_failed_agent_is_quoted_and_an_unknown_flow_named() {
        let plan = plan();
        let mut repetition = started(&plan);
        let failed = AgentMessage::Error {
            message: "cannot dump queues".into(),
        };
        let unknown = FlowOutcome {
            flow: FlowId(9),
            ..finished(START, Nanos::ZERO)
        };
        for (input, text) in [
            (message(3, failed), "agent of `dc4`: cannot dump queues"),
            (
                Input::Flow(Event::Ended(unknown)),
                "flow 9, which is not in the schedule, ended",
            ),
        ] {
            assert_eq!(
                handle(&mut repetition, input).unwrap_err().to_string(),
                text
            );
        }
    }

    /// Crash of dc3's agent at 40 ms, with its restart at 60 ms, and a cut of the first link at both times.
    fn crashing() -> Plan {
        let mut plan = plan();
        let cut = |at, change| FaultPlan {
            at_ns: Nanos::from_millis(at),
            paper_at_ns: Nanos::from_millis(at),
            link: LinkId(0),
            change,
            path_cost_updates: Vec::new(),
        };
        plan.faults = vec![cut(40, FaultChange::Down), cut(60, FaultChange::Up)];
        plan.agent_crashes = vec![AgentCrashPlan {
            dc: DcId(2),
            at_ns: Nanos::from_millis(40),
            paper_at_ns: Nanos::from_millis(40),
            restart: Some(AgentRestart {
                at_ns: Nanos::from_millis(60),
                paper_at_ns: Nanos::from_millis(60),
            }),
        }];
        plan
    }

    /// Of several changes at one instant, the crash comes first and the restart last. The restart waits for the last message
    /// of the killed process, and the crash is neither a loss nor a change that a user made.
    #[test]
    fn a_planned_crash_is_no_loss() {
        let plan = crashing();
        let mut report = RunReport::default();
        let mut repetition = Repetition::new(&plan, &plan.policies[0], 0, Tool::Verbs);
        for dc in 0..4 {
            handle(&mut repetition, ready(dc, None)).unwrap();
        }
        let next = |repetition: &Repetition<'_>| match repetition.next_change() {
            Some(PlannedChange::AgentCrash(crash)) => format!("crash {}", crash.dc.0),
            Some(PlannedChange::AgentRestart { dc, .. }) => format!("restart {}", dc.0),
            Some(PlannedChange::Fault(fault)) => format!("{:?}", fault.change),
            Some(PlannedChange::Reconvergence(_)) => "reconvergence".to_owned(),
            None => "none".to_owned(),
        };
        assert_eq!(next(&repetition), "crash 2");
        repetition.handle(Input::AgentCrash, &mut report).unwrap();
        assert!(repetition.is_down(DcId(2)));
        assert_eq!(next(&repetition), "Down");
        handle(&mut repetition, Input::Fault).unwrap();
        handle(&mut repetition, Input::Fault).unwrap();
        assert_eq!(
            next(&repetition),
            "none",
            "its messages may not be read yet"
        );
        let effects = repetition.handle(closed(2), &mut report).unwrap();
        assert_eq!(effects.lost, None);
        assert_eq!(next(&repetition), "restart 2");
        let restart = Input::AgentRestart(DcId(2));
        repetition.handle(restart, &mut report).unwrap();
        assert_eq!(next(&repetition), "none");
        assert!(report.restarts.is_empty() && report.changes.is_empty());
        let effects = repetition.handle(closed(2), &mut report).unwrap();
        assert_eq!(
            effects.lost,
            Some(DcId(2)),
            "the next agent was not killed by plan"
        );
    }

    /// Tables are valid for 10 s in this plan, so they are stale only without a restart.
    #[test]
    fn stale_decisions_are_expected_of_a_switch_that_nobody_confirms() {
        let doubts = |restart: Option<u64>| {
            let mut plan = crashing();
            plan.agent_crashes[0].restart = restart.map(|at| AgentRestart {
                at_ns: Nanos::from_millis(at),
                paper_at_ns: Nanos::from_millis(at),
            });
            let repetition = Repetition::new(&plan, &plan.policies[0], 0, Tool::Verbs);
            let mut report = RunReport::default();
            for dc in [1, 2] {
                let mut stats = lab_abi::wire::Stats::default();
                stats.counters.stale = 7;
                report.switches.insert(DcId(dc), stats);
            }
            repetition.add_to(&mut report, nothing());
            let deviations = report.conduct.deviations.into_iter();
            let stale = deviations.filter(|it| it.code == ReasonCode::StaleDecisions);
            stale.map(|it| it.subject).collect::<Vec<_>>()
        };
        let label = &plan().policies[0].label;
        let of = |dc: &str| format!("{label}: {dc}");
        assert_eq!(doubts(Some(60)), [of("dc2"), of("dc3")]);
        assert_eq!(doubts(None), [of("dc2")]);
    }

    #[test]
    fn phases_are_titled_by_policy_and_number() {
        let mut plan = plan();
        for (repetitions, title) in [(1, "lcmp flows"), (3, "lcmp #2 flows")] {
            plan.repetitions = repetitions;
            let repetition = Repetition::new(&plan, &plan.policies[1], 1, Tool::SendBw);
            assert_eq!(repetition.title("flows"), title);
        }
    }
}
