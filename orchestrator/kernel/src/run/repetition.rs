//! State of one policy's repetition: inputs of agents and flows go in, effects come out. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use lab_abi::{
    dcqcn::{DcqcnParams, PacedQp, QpKey},
    pfc::PauseRecord,
    wire::{AgentCommand, AgentMessage, Demands, Stats},
};
use lab_generators::contract::{Event, FlowOutcome, MonotonicTime, Status, Tool};
use lab_plan::{
    SampledRates,
    model::{Flow, Plan, PolicyRun},
};
use lab_recorder::RowBatch;
use lab_records::{ChangeKind, FlowRow, LiveChange, PathRow, PfcRow, RateRow, SplitRow};
use lab_units::{DcId, FlowId, Nanos, PortId, show::about_time};

use super::{AgentError, RunError, agents::AgentEvent, rows::ReportRows};

/// Message of an agent or event of a flow.
#[derive(Debug)]
pub(super) enum Input {
    Agent(DcId, AgentEvent),
    Flow(Event),
}

impl From<(DcId, AgentEvent)> for Input {
    fn from((dc, event): (DcId, AgentEvent)) -> Self {
        Self::Agent(dc, event)
    }
}

/// State of a repetition.
#[derive(Debug)]
pub(super) struct Repetition<'a> {
    plan: &'a Plan,
    policy: &'a PolicyRun,
    number: u32,
    /// Flows of the repetition.
    pub flows: Vec<&'a Flow>,
    rows: ReportRows<'a>,
    /// Flows whose rates are recorded; none without congestion control.
    sampled_rates: Option<SampledRates>,
    /// Flows that have ended and have no row yet, as decisions about them are missing.
    waiting: BTreeMap<FlowId, FlowOutcome>,
    agents: usize,
    ready_agents: usize,
    /// Datacenters whose agents have closed their sockets and are not started again.
    closed_agents: BTreeSet<DcId>,
    /// Datacenters whose agents sent all their reports: each said so with its farewell message.
    complete_agents: BTreeSet<DcId>,
    /// True once the agents were asked to end.
    is_ending: bool,
    /// Switches without a live candidate that the rows of unfinished flows name.
    unreachable: BTreeSet<DcId>,
}

/// Effects of an input.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Rows to write.
    pub rows: RowBatch,
    /// Steps of the phase that are done, for people. A flow's is done once its row is.
    pub steps: Vec<String>,
    /// Latest counters of a switch.
    pub stats: Option<(DcId, Stats)>,
    /// True if all data of a flow was delivered.
    pub is_delivery: bool,
    /// Datacenter of an agent that ended unasked.
    pub lost: Option<DcId>,
    /// Bytes that the hosts of a datacenter sent.
    pub demands: Option<(DcId, Demands)>,
}

impl Effects {
    /// Records the end of a flow: its row, the rows of its paths, and the progress step.
    fn end(&mut self, row: FlowRow, paths: Vec<PathRow>, outcome: &FlowOutcome) {
        self.rows.flows.push(row);
        self.rows.paths.extend(paths);
        self.steps.push(ended(outcome));
    }
}

impl<'a> Repetition<'a> {
    /// Creates the state before the agents start.
    pub(super) fn new(plan: &'a Plan, policy: &'a PolicyRun, number: u32, tool: Tool) -> Self {
        let flows = plan.flows.iter();
        Self {
            plan,
            policy,
            number,
            flows: flows.filter(|flow| flow.repetition == number).collect(),
            rows: ReportRows::new(plan, &policy.label, number, tool),
            sampled_rates: SampledRates::of(plan, number),
            waiting: BTreeMap::new(),
            agents: 0,
            ready_agents: 0,
            closed_agents: BTreeSet::new(),
            complete_agents: BTreeSet::new(),
            is_ending: false,
            unreachable: BTreeSet::new(),
        }
    }

    /// Returns the title of a phase.
    pub(super) fn title(&self, phase: &str) -> String {
        format!("{} {phase}", self.label())
    }

    /// Returns the policy's label, with the number of the repetition if there are several.
    pub(super) fn label(&self) -> String {
        match self.plan.repetitions {
            1 => self.policy.label.clone(),
            _ => format!("{} #{}", self.policy.label, self.number + 1),
        }
    }

    /// Sets the number of agents that were started.
    pub(super) const fn expect_agents(&mut self, count: usize) {
        self.agents = count;
    }

    /// Returns true once all agents are ready.
    pub(super) const fn is_ready(&self) -> bool {
        self.ready_agents >= self.agents
    }

    /// Returns true once all agents have closed their sockets.
    pub(super) fn is_over(&self) -> bool {
        self.closed_agents.len() >= self.agents
    }

    /// Records that an agent has ended and is not started again.
    pub(super) fn close(&mut self, dc: DcId) {
        self.closed_agents.insert(dc);
    }

    /// Returns true if an agent has ended and is not started again.
    pub(super) fn is_closed(&self, dc: DcId) -> bool {
        self.closed_agents.contains(&dc)
    }

    /// Sets the start of the repetition's time.
    pub(super) const fn start_at(&mut self, start: MonotonicTime) {
        self.rows.start_at(start);
    }

    /// Returns the datacenters whose agents ended without a farewell: their last reports are lost.
    pub(super) fn incomplete(&self) -> impl Iterator<Item = DcId> {
        let incomplete = self.closed_agents.difference(&self.complete_agents);
        incomplete.copied()
    }

    /// Notes that the agents were asked to end.
    pub(super) const fn end(&mut self) {
        self.is_ending = true;
    }

    /// Returns the switches without a live candidate that the rows of unfinished flows name.
    pub(super) const fn unreachable(&self) -> &BTreeSet<DcId> {
        &self.unreachable
    }

    /// Counts a restart of an agent.
    pub(super) fn restart(&mut self, dc: DcId) {
        self.complete_agents.remove(&dc);
        self.rows.restart(dc);
    }

    /// Returns the record of a change at `at`.
    pub(super) fn change(&self, kind: ChangeKind, at: MonotonicTime, text: String) -> LiveChange {
        LiveChange {
            kind,
            policy: Some(self.policy.label.clone()),
            repetition: Some(self.number),
            time_ns: Some(self.rows.paper_time(at)),
            at: None,
            text,
        }
    }

    /// Returns the rows of the splits that `commands` install, which follow a report of `time_ns`.
    pub(super) fn splits(&self, time_ns: u64, commands: &[(DcId, AgentCommand)]) -> Vec<SplitRow> {
        self.rows.splits(time_ns, commands)
    }

    /// Returns the time between two samples of rates; none if none are recorded.
    pub(super) fn rate_interval(&self) -> Option<Nanos> {
        let sampled = self.sampled_rates.as_ref()?;
        Some(sampled.interval.max(MIN_RATE_INTERVAL))
    }

    /// Returns the sending QPs of the flows under way whose rates are recorded.
    pub(super) const fn sampled(&self) -> &BTreeMap<FlowId, QpKey> {
        self.rows.sampled()
    }

    /// Returns the row of a sending QP at `now`.
    pub(super) fn rate(
        &self,
        now: MonotonicTime,
        flow: FlowId,
        qp: (PacedQp, &DcqcnParams),
    ) -> Option<RateRow> {
        self.rows.rate(now, flow, qp)
    }

    /// Returns the rows of the pauses of NICs, in their order; `nics` are the ports by interface index.
    pub(super) fn pauses(
        &self,
        pauses: &[PauseRecord],
        nics: &BTreeMap<u32, PortId>,
    ) -> Vec<PfcRow> {
        let rows = pauses.iter().filter_map(|pause| {
            let nic = *nics.get(&pause.ifindex)?;
            Some(self.rows.pause(nic, pause))
        });
        let mut rows: Vec<PfcRow> = rows.flatten().collect();
        rows.sort_by_key(|row| row.time_ns);
        rows
    }

    /// Handles an input and returns its effects.
    ///
    /// # Errors
    /// An agent that failed, or a flow that is not in the schedule.
    pub(super) fn handle(&mut self, input: Input) -> Result<Effects, RunError> {
        match input {
            Input::Flow(event) => self.handle_flow(event),
            Input::Agent(dc, AgentEvent::Message(message)) => self.handle_agent(dc, message),
            Input::Agent(dc, AgentEvent::Closed) if !self.is_ready() => {
                Err(AgentError::Gone { dc: self.name(dc) }.into())
            }
            Input::Agent(dc, AgentEvent::Closed) if !self.is_ending => Ok(Effects {
                lost: Some(dc),
                ..Effects::default()
            }),
            Input::Agent(dc, AgentEvent::Closed) => {
                self.close(dc);
                Ok(Effects::default())
            }
        }
    }

    /// Returns the rows of flows whose paths are still unknown after all agents have ended.
    pub(super) fn last_rows(&mut self) -> Result<Effects, RunError> {
        let mut effects = Effects::default();
        for outcome in std::mem::take(&mut self.waiting).into_values() {
            let paths = self.paths(&outcome)?;
            effects.end(self.row(&outcome)?, paths, &outcome);
        }
        self.note_unreachable(&effects.rows.flows)?;
        Ok(effects)
    }

    fn handle_flow(&mut self, event: Event) -> Result<Effects, RunError> {
        let mut effects = Effects::default();
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
                self.take_known([flow], &mut effects)?;
            }
        }
        Ok(effects)
    }

    fn handle_agent(&mut self, dc: DcId, message: AgentMessage) -> Result<Effects, RunError> {
        let mut effects = Effects::default();
        match message {
            AgentMessage::Ready(ready) if self.is_ready() => {
                let flows = ready.adopted.unwrap_or(0);
                let name = self.name(dc);
                effects.steps.push(format!(
                    "agent of {name} is back and took over {flows} flows"
                ));
            }
            AgentMessage::Ready(_) => {
                self.ready_agents += 1;
                effects.steps.push(self.name(dc));
            }
            AgentMessage::Decisions(decisions) => {
                let rows = decisions.iter();
                effects.rows.decisions =
                    rows.map(|report| self.rows.decision(dc, report)).collect();
                let decided = effects.rows.decisions.iter();
                let decided: BTreeSet<FlowId> = decided.filter_map(|row| row.flow_id).collect();
                self.take_known(decided, &mut effects)?;
            }
            AgentMessage::Queues(queues) => effects.rows.queues = self.rows.queues(&queues),
            AgentMessage::Links(links) => effects.rows.links = self.rows.links(&links),
            AgentMessage::Stats(stats) => {
                effects.rows.switches.extend(self.rows.switch(dc, &stats));
                effects.stats = Some((dc, stats));
            }
            AgentMessage::Demands(demands) => effects.demands = Some((dc, demands)),
            AgentMessage::Error { message } => {
                let dc = self.name(dc);
                return Err(AgentError::Reported { dc, message }.into());
            }
            AgentMessage::Bye => {
                self.complete_agents.insert(dc);
            }
            AgentMessage::PortState(_) | AgentMessage::Flows(_) => {}
        }
        Ok(effects)
    }

    /// Adds those of `flows` to the effects that have ended and whose paths, both ways, are known.
    fn take_known(
        &mut self,
        flows: impl IntoIterator<Item = FlowId>,
        effects: &mut Effects,
    ) -> Result<(), RunError> {
        for outcome in flows.into_iter().filter_map(|flow| self.waiting.get(&flow)) {
            let row = self.row(outcome)?;
            if row.path.is_some() && row.ack_path.is_some() {
                effects.end(row, self.paths(outcome)?, outcome);
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

    fn paths(&self, outcome: &FlowOutcome) -> Result<Vec<PathRow>, RunError> {
        Ok(self.rows.flow_paths(self.flow(outcome.flow)?, outcome))
    }

    fn name(&self, dc: DcId) -> String {
        self.plan.dcs[dc.index()].name.clone()
    }
}

/// Describes the end of a flow.
fn ended(outcome: &FlowOutcome) -> String {
    let flow = outcome.flow;
    match &outcome.status {
        Status::Finished(fct) => format!("flow {flow} finished, FCT {}", about_time(fct.time)),
        other => format!("flow {flow} {other}"),
    }
}

/// Least time between two samples of rates: they take the lab's CPU.
const MIN_RATE_INTERVAL: Nanos = Nanos::from_millis(20);

#[cfg(test)]
mod tests {
    use lab_abi::wire::{Attachment, Ready};
    use lab_records::FlowStatus;
    use lab_units::{Nanos, PortId};

    use super::*;
    use crate::run::testing::{CLIENT, SERVER, decision, finished, flow, links, plan, queues};

    const START: MonotonicTime = MonotonicTime::from_nanos(5_000_000_000);

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

    fn closed(dc: u32) -> Input {
        Input::Agent(DcId(dc), AgentEvent::Closed)
    }

    /// Repetition that expects the agents of DC1 and DC4.
    fn repetition(plan: &Plan) -> Repetition<'_> {
        let mut repetition = Repetition::new(plan, &plan.policies[1], 0, Tool::SendBw);
        repetition.expect_agents(2);
        repetition
    }

    /// Repetition whose two agents are ready, whose flow is connected and whose time has started.
    fn started(plan: &Plan) -> Repetition<'_> {
        let mut repetition = repetition(plan);
        repetition.handle(ready(0, None)).unwrap();
        repetition.handle(ready(3, None)).unwrap();
        repetition.start_at(START);
        let connected = Event::Ready {
            flow: flow().id,
            client_qp: CLIENT,
            server_qp: SERVER,
        };
        repetition.handle(Input::Flow(connected)).unwrap();
        repetition
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
            let effects = repetition.handle(ready(dc, None)).unwrap();
            assert_eq!(effects.steps, [name]);
            assert_eq!(repetition.is_ready(), is_ready);
        }
        repetition.end();
        for (dc, is_over) in [(0, false), (3, true)] {
            repetition.handle(closed(dc)).unwrap();
            assert_eq!(repetition.is_over(), is_over);
        }
    }

    #[test]
    fn an_agent_that_ends_without_a_farewell_is_incomplete() {
        let plan = plan();
        let mut repetition = started(&plan);
        repetition.end();
        repetition.handle(message(3, AgentMessage::Bye)).unwrap();
        for dc in [0, 3] {
            repetition.handle(closed(dc)).unwrap();
        }
        assert_eq!(repetition.incomplete().collect::<Vec<_>>(), [DcId(0)]);
    }

    #[test]
    fn an_agent_that_ends_before_all_are_ready_is_an_error() {
        let plan = plan();
        let mut repetition = repetition(&plan);
        repetition.handle(ready(0, None)).unwrap();
        let error = repetition.handle(closed(3)).unwrap_err();
        assert_eq!(error.to_string(), "agent of `dc4` ended unasked");
    }

    #[test]
    fn an_agent_that_ends_unasked_is_lost_and_its_successor_adopts_its_flows() {
        let plan = plan();
        let mut repetition = started(&plan);
        let effects = repetition.handle(closed(3)).unwrap();
        assert_eq!(effects.lost, Some(DcId(3)));
        repetition.restart(DcId(3));
        let effects = repetition.handle(ready(3, Some(40))).unwrap();
        let step = "agent of dc4 is back and took over 40 flows";
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
            let rows = order.map(|input| repetition.handle(input(&plan)).unwrap().rows.flows);
            assert_eq!(rows.each_ref().map(Vec::len), [0, 0, 1]);
            assert_eq!(rows[2][0].path.as_ref().unwrap().to_string(), "dc1-dc2-dc4");
            assert!(repetition.last_rows().unwrap().rows.flows.is_empty());
        }
    }

    #[test]
    fn a_flow_without_decisions_has_a_row_without_path_in_the_end() {
        let plan = plan();
        let mut repetition = started(&plan);
        let effects = repetition.handle(end()).unwrap();
        assert!(effects.rows.flows.is_empty() && effects.steps.is_empty());
        let effects = repetition.last_rows().unwrap();
        assert_eq!(effects.steps, ["flow 0 finished, FCT 300 ms"]);
        let rows = effects.rows.flows;
        assert_eq!(
            (rows[0].status, &rows[0].path),
            (FlowStatus::Finished, &None)
        );
        assert!(repetition.last_rows().unwrap().rows.flows.is_empty());
    }

    #[test]
    fn links_and_queues_become_rows_and_earlier_counters_their_baseline() {
        let plan = plan();
        let mut repetition = repetition(&plan);
        repetition.handle(ready(0, None)).unwrap();
        let report = |time, bytes| AgentMessage::Links(links(time, PortId(0), bytes, 0));
        let baseline = repetition.handle(message(0, report(1_000, 700))).unwrap();
        assert!(baseline.rows.links.is_empty());
        repetition.start_at(START);
        let later = repetition.handle(message(0, report(START.as_nanos(), 900)));
        let rows = later.unwrap().rows;
        assert_eq!(
            (rows.links[0].emu_tx_bytes.get(), rows.queues.len()),
            (200, 0)
        );
        let queues = AgentMessage::Queues(queues(START.as_nanos(), PortId(0), 900));
        let rows = repetition.handle(message(0, queues)).unwrap().rows;
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
                "flow 9 ended, which is not in the schedule",
            ),
        ] {
            assert_eq!(repetition.handle(input).unwrap_err().to_string(), text);
        }
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
