//! Effects of a repetition: agents, flows, faults, rows.

use std::{path::Path, time::Duration};

use lab_abi::wire::{AgentCommand, AgentMessage};
use lab_generators::contract::{Event, MonotonicTime};
use lab_plan::{FaultPlan, Plan};
use lab_records::ChangeKind;
use lab_units::{DcId, FlowId, LinkId, Nanos, NodeId, Tool};
use tokio::sync::mpsc::{self, Receiver, UnboundedReceiver, UnboundedSender};

use super::{
    AgentError, RunError, RunReport, Runner,
    agents::{Agent, AgentEvent},
    commands,
    generator::{self, Session},
    rates::RateSampler,
    repetition::{Effects, Input, Repetition},
    start::Start,
    tables,
    te::TeController,
    tune::{Change, PendingRequest, Tuned},
    watch::{self, Watchdog},
};
use crate::{
    lab::LabErrorKind,
    lower::{Clock, lower_fault},
};

/// Identity of a repetition, and the directory its switches' maps are pinned in.
#[derive(Clone, Copy)]
pub(super) struct RepetitionSetup<'a> {
    /// Position of the policy in the plan.
    pub policy: usize,
    /// Number of the repetition, from 0.
    pub number: u32,
    /// Directory of a BPF file system.
    pub pin_dir: &'a Path,
}

/// Repetition under way, with its agents and channels.
pub(super) struct RunningRepetition<'a> {
    pub(super) repetition: Repetition<'a>,
    pub(super) agents: Vec<Agent>,
    pub(super) inputs: UnboundedReceiver<Input>,
    /// Other end of `inputs`, for agents and flows.
    sender: UnboundedSender<Input>,
    setup: RepetitionSetup<'a>,
    /// Number of the plan's faults that were injected.
    injected: usize,
    /// TE controller, if the policy is traffic engineering.
    te: Option<TeController<'a>>,
    /// [`Runner::host_waits`] when the latest flow was delivered: perftest's clients report after that.
    /// Verbs flows have nothing to report, so their session's end is soon enough.
    waits_at_delivery: u64,
}

impl<'a> RunningRepetition<'a> {
    /// Creates a repetition in which nothing was started.
    pub(super) fn new(plan: &'a Plan, setup: RepetitionSetup<'a>) -> Self {
        let (sender, inputs) = mpsc::unbounded_channel();
        let policy = &plan.policies[setup.policy];
        Self {
            repetition: Repetition::new(plan, policy, setup.number, plan.rdma.tool),
            agents: Vec::new(),
            inputs,
            sender,
            setup,
            injected: 0,
            te: TeController::new(plan, policy),
            waits_at_delivery: 0,
        }
    }

    /// Returns the agent of a datacenter; none for a legacy datacenter.
    fn agent(&mut self, dc: DcId) -> Option<&mut Agent> {
        self.agents.iter_mut().find(|agent| agent.dc() == dc)
    }

    /// Returns the error of the first agent that has not ended after `patience`.
    fn silent(&self, patience: Duration) -> Result<(), AgentError> {
        let mut agents = self.agents.iter();
        let silent = agents.find(|agent| !self.repetition.is_closed(agent.dc()));
        silent.map_or(Ok(()), |agent| {
            Err(AgentError::Silent {
                dc: agent.name().to_owned(),
                seconds: patience.as_secs(),
            })
        })
    }

    /// Sends each command to the agent of its datacenter.
    fn send(&mut self, commands: Vec<(DcId, AgentCommand)>) -> Result<(), AgentError> {
        for (dc, command) in commands {
            if let Some(agent) = self.agent(dc) {
                agent.send(&command)?;
            }
        }
        Ok(())
    }
}

impl Runner<'_> {
    /// Runs the flows of one repetition.
    pub(super) async fn repetition(
        &mut self,
        setup: RepetitionSetup<'_>,
        requests: &mut Receiver<PendingRequest>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let mut running = RunningRepetition::new(self.plan, setup);
        self.start_agents(&mut running)?;
        self.wait_until_ready(&mut running, report).await?;
        let events = running.sender.clone();
        let session = self.connect(&running.repetition, events).await?;

        let packets = self.lab.sent_packets()?;
        let start = self.start_time(&mut running).await?;
        self.phase(&running.repetition, "flows", running.repetition.flows.len());
        let faults = self.plan.faults.iter();
        let faulty: Vec<LinkId> = faults.map(|fault| fault.link).collect();
        let losses = self.lab.losses(&faulty)?;
        let watchdog = match self.lab.options().clock {
            Clock::Real => Some(Watchdog::start().map_err(RunError::Watchdog)?),
            Clock::Virtual => None,
        };
        let (waits, cpu) = ((self.host_waits)(), (self.guest_cpu)());
        running.waits_at_delivery = waits;
        let ended = self
            .run_flows(session, start, &mut running, requests, report)
            .await;
        if let Some(watchdog) = watchdog {
            watch::add(&mut report.conduct.watch, watchdog.stop());
        }
        ended?;
        report.conduct.host_waits += running.waits_at_delivery.saturating_sub(waits);
        report.add_cpu(cpu, (self.guest_cpu)());
        let reroutes = report.reroutes();
        let policy = &self.plan.policies[setup.policy].label;
        let losses = (losses, self.lab.losses(&faulty)?);
        report.add_losses(policy, losses, reroutes);
        let plan = self.plan;
        let name = |dc: DcId| plan.dcs[dc.index()].name.clone();
        let label = running.repetition.label();
        if let Some(mut maps) = self.lab.host_maps().map_err(LabErrorKind::from)? {
            let added = report.add_hosts(&label, &maps);
            added.map_err(LabErrorKind::from)?;
            let pauses = maps.take_pauses(MonotonicTime::now().as_nanos());
            let pauses = pauses.map_err(LabErrorKind::from)?;
            let rows = running.repetition.pauses(&pauses, &self.lab.nics());
            self.records.append(&rows)?;
        }
        report.add_incomplete(&label, running.repetition.incomplete().map(name));
        report.end_repetition(&label, running.repetition.unreachable(), name);
        report.work.lab_ns = report
            .work
            .lab_ns
            .saturating_add(MonotonicTime::now().since(start));
        report.work.packet_hops += self.lab.sent_packets()?.saturating_sub(packets);
        running.agents.into_iter().try_for_each(Agent::wait)?;
        // The agents have already detached their hooks from the switches' ports.
        let altered = self.lab.altered(&plan.faults[..running.injected])?;
        report.add_altered(&label, &altered);
        self.end_flows();
        Ok(())
    }

    /// Chooses the start of the repetition's time; in virtual time, sleeps until shortly before it.
    async fn start_time(
        &mut self,
        running: &mut RunningRepetition<'_>,
    ) -> Result<MonotonicTime, RunError> {
        let clock = self.lab.options().clock;
        if clock == Clock::Virtual {
            // What is not written yet would make the clock jump while flows run.
            nix::unistd::sync();
        }
        let start = Start::next(clock, self.plan).map_err(RunError::Clock)?;
        for agent in &mut running.agents {
            agent.send(&start.command())?;
        }
        running.repetition.start_at(start.at);
        if let Some(te) = &mut running.te {
            te.start_at(start.at);
        }
        tokio::select! {
            () = until(Some(start.rest_until)) => Ok(start.at),
            () = self.cancel.cancelled() => Err(RunError::Cancelled),
        }
    }

    pub(super) fn start_agents(
        &mut self,
        running: &mut RunningRepetition<'_>,
    ) -> Result<(), RunError> {
        let plan = self.plan;
        let is_legacy = |node: NodeId| {
            let dc = plan.nodes[node.index()].dc;
            plan.dcs[dc.index()].legacy
        };
        let switches = plan.switches.iter().enumerate();
        let switches: Vec<usize> = switches
            .filter(|(_, switch)| !is_legacy(switch.node))
            .map(|(index, _)| index)
            .collect();
        self.phase(&running.repetition, "agents", switches.len());
        self.lab.reset()?;
        self.lab.check_rules()?;
        running.repetition.expect_agents(switches.len());
        let run = &plan.policies[running.setup.policy];
        for index in switches {
            let (pin_dir, sender) = (running.setup.pin_dir, running.sender.clone());
            let agent = self
                .agents
                .start(self.lab, plan, run, index, pin_dir, sender)?;
            running.agents.push(agent);
        }
        Ok(())
    }

    async fn wait_until_ready(
        &mut self,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        while !running.repetition.is_ready() {
            let input = tokio::select! {
                input = running.inputs.recv() => input.ok_or(RunError::AgentsGone)?,
                () = self.cancel.cancelled() => return Err(RunError::Cancelled),
            };
            if let Input::Agent(dc, AgentEvent::Message(AgentMessage::Ready(ready))) = &input
                && let Some(agent) = running.agent(*dc)
            {
                tables::check(agent.config(), ready)?;
            }
            let effects = running.repetition.handle(input)?;
            self.apply(&effects, running, report)?;
        }
        Ok(())
    }

    /// Makes the flows ready, which then wait for their starts.
    async fn connect(
        &mut self,
        repetition: &Repetition<'_>,
        sender: UnboundedSender<Input>,
    ) -> Result<Session, RunError> {
        self.phase(repetition, "ready", repetition.flows.len());
        let (events, received) = mpsc::unbounded_channel();
        tokio::spawn(forward(received, sender));
        let jobs = generator::jobs(self.plan, self.lab, &repetition.flows)?;
        let (tool, clock) = (self.plan.rdma.tool, self.lab.options().clock);
        tokio::select! {
            session = Session::prepare(tool, jobs, clock, events) => session,
            () = self.cancel.cancelled() => Err(RunError::Cancelled),
        }
    }

    /// Runs the flows and handles all inputs until every flow has its row.
    async fn run_flows(
        &mut self,
        session: Session,
        start: MonotonicTime,
        running: &mut RunningRepetition<'_>,
        requests: &mut Receiver<PendingRequest>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let aborter = session.aborter();
        let cancel = self.cancel.clone();
        let mut faults = self.plan.faults.iter().peekable();
        let mut flows = std::pin::pin!(session.run(start));
        let mut is_cancelled = false;
        let mut next_confirmation = MonotonicTime::now();
        let sampler = RateSampler::open(self.lab, &running.repetition)?;
        let mut next_rates = sampler
            .as_ref()
            .map(|sampler| start.after(sampler.interval));
        loop {
            let next_fault = faults.peek().map(|fault| start.after(fault.at_ns));
            tokio::select! {
                ended = &mut flows => {
                    ended?;
                    if self.plan.rdma.tool == Tool::Verbs {
                        running.waits_at_delivery = (self.host_waits)();
                    }
                    break;
                }
                input = running.inputs.recv() => {
                    let effects = running.repetition.handle(input.ok_or(RunError::AgentsGone)?)?;
                    self.apply(&effects, running, report)?;
                }
                () = until(next_fault), if next_fault.is_some() => {
                    let fault = faults.next().expect("its time was peeked at");
                    self.inject(fault, running)?;
                }
                () = until(Some(next_confirmation)) => {
                    next_confirmation = MonotonicTime::now().after(confirmation(self.plan));
                    for agent in &mut running.agents {
                        agent.send(&AgentCommand::ConfirmTables)?;
                    }
                }
                () = until(next_rates), if next_rates.is_some() => {
                    let sampler = sampler.as_ref().expect("only a sampler sets a time");
                    let now = MonotonicTime::now();
                    next_rates = Some(now.after(sampler.interval));
                    let rows = sampler.rows(now, &running.repetition)?;
                    self.records.append(&rows)?;
                }
                Some(request) = requests.recv() => self.answer(request, running, report),
                () = cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    self.close_pacer();
                    aborter.abort();
                }
            }
        }
        let drained = self.drain(running, report, AGENT_PATIENCE).await;
        if is_cancelled || (drained.is_err() && self.cancel.is_cancelled()) {
            Err(RunError::Cancelled)
        } else {
            drained
        }
    }

    /// Makes the pacer of congestion control drop its packets, so that the QPs of flows that are given up
    /// can be destroyed at once.
    fn close_pacer(&mut self) {
        let closed = match self.lab.host_maps() {
            Ok(Some(mut maps)) => maps.close(),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = closed {
            tracing::warn!(%error, "packets stay in the pacer");
        }
    }

    /// Stops the agents and handles their last messages until all have ended, or none has sent anything for
    /// `patience`, which a cancellation shortens.
    pub(super) async fn drain(
        &mut self,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
        patience: Duration,
    ) -> Result<(), RunError> {
        running.repetition.end();
        for agent in &mut running.agents {
            agent.stop();
        }
        let mut ended = Ok(());
        while !running.repetition.is_over() || !running.inputs.is_empty() {
            let is_cancelled = self.cancel.is_cancelled();
            let patience = match is_cancelled {
                true => patience.min(CANCELLED_PATIENCE),
                false => patience,
            };
            let input = tokio::select! {
                input = running.inputs.recv() => input,
                () = self.cancel.cancelled(), if !is_cancelled => continue,
                () = tokio::time::sleep(patience) => {
                    ended = running.silent(patience);
                    break;
                }
            };
            let Some(input) = input else {
                break;
            };
            let effects = running.repetition.handle(input)?;
            self.apply(&effects, running, report)?;
        }
        let effects = running.repetition.last_rows()?;
        self.apply(&effects, running, report)?;
        ended.map_err(RunError::from)
    }

    /// Injects a fault: on the links, then in the switches' tables.
    fn inject(
        &mut self,
        fault: &FaultPlan,
        running: &mut RunningRepetition<'_>,
    ) -> Result<(), RunError> {
        let steps = lower_fault(self.plan, self.lab.options(), fault)?;
        self.lab.apply(&steps)?;
        if let Some(te) = &mut running.te {
            te.apply_fault(fault);
        }
        running.injected += 1;
        let agents = &running.agents;
        let parameters = |dc| {
            let agent = agents.iter().find(|agent| agent.dc() == dc)?;
            agent.config().policy.congestion()
        };
        let commands = commands::of_fault(self.plan, running.setup.policy, fault, parameters);
        Ok(running.send(commands)?)
    }

    /// Tunes a switch as requested, and answers whoever asked.
    fn answer(
        &mut self,
        pending: PendingRequest,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) {
        let request = &pending.request;
        let tuned = self.tune(&request.dc, &request.changes, running);
        if tuned.is_ok() && !request.changes.is_empty() {
            let changes = request.changes.iter();
            let changes: Vec<_> = changes
                .map(|change| format!("{}={}", change.name, change.value))
                .collect();
            let text = format!("{}: {}", request.dc, changes.join(" "));
            let now = MonotonicTime::now();
            let change = running.repetition.change(ChangeKind::Tune, now, text);
            report.changes.push(change);
            self.step(format!("{} tuned: {}", request.dc, changes.join(" ")));
        }
        pending.answer(tuned);
    }

    /// Changes parameters of a switch; returns all its tunable parameters.
    pub(super) fn tune(
        &self,
        dc: &str,
        changes: &[Change],
        running: &mut RunningRepetition<'_>,
    ) -> Result<Tuned, String> {
        let mut agents = running.agents.iter_mut();
        let agent = agents.find(|agent| agent.name() == dc);
        let agent = agent.ok_or_else(|| format!("`{dc}` has no agent in this run"))?;
        let at = (running.setup.policy, agent.switch());
        let faults = &self.plan.faults[..running.injected];
        let (commands, tuned) =
            commands::of_changes(self.plan, at, faults, agent.config(), changes)?;
        for command in commands {
            let sent = agent.send(&command);
            sent.map_err(|error| error.to_string())?;
        }
        Ok(tuned)
    }

    /// Restarts a killed agent, unless the run was cancelled: the cancellation may have ended the agent, too.
    /// Meanwhile the tables that the agent left forward its switch's packets.
    fn restart(
        &mut self,
        dc: DcId,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        if self.cancel.is_cancelled() {
            running.repetition.close(dc);
            return Ok(());
        }
        let times = report.restarts.entry(dc).or_default();
        *times += 1;
        let times = *times;
        let sender = running.sender.clone();
        let Some(agent) = running.agent(dc) else {
            return Ok(());
        };
        let name = agent.name().to_owned();
        if times > MAX_RESTARTS {
            return Err(AgentError::KilledAgain { dc: name, times }.into());
        }
        tracing::warn!(dc = name, "the switch's agent was killed and is restarted");
        self.agents.restart(self.lab, agent, sender)?;
        running.repetition.restart(dc);
        let now = MonotonicTime::now();
        let change = running
            .repetition
            .change(ChangeKind::AgentRestart, now, name);
        report.changes.push(change);
        Ok(())
    }

    /// Applies the effects of an input.
    pub(super) fn apply(
        &mut self,
        effects: &Effects,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        if let (Some((dc, demands)), Some(te)) = (&effects.demands, &mut running.te) {
            let commands = te.report(*dc, demands)?;
            let splits = running.repetition.splits(demands.time_ns, &commands);
            self.records.append(&splits)?;
            running.send(commands)?;
        }
        if let Some(dc) = effects.lost {
            self.restart(dc, running, report)?;
        }
        if effects.is_delivery {
            running.waits_at_delivery = (self.host_waits)();
        }
        if let Some((dc, stats)) = &effects.stats {
            report.switches.insert(*dc, *stats);
        }
        let flows = effects.rows.flows.iter();
        let late = flows.filter(|row| row.is_late(late_launch(self.plan, row.flow_id)));
        let late = late.count();
        report.late_launches += u64::try_from(late).unwrap_or(u64::MAX);
        effects.rows.write(self.records)?;
        // What is shown as ended has its row.
        for text in &effects.steps {
            self.step(text.clone());
        }
        Ok(())
    }
}

/// Returns the lateness of a start above which a flow counts as late: a hundredth of its round trip.
fn late_launch(plan: &Plan, flow: FlowId) -> Nanos {
    let round_trip = plan.flows.get(flow.index()).map(|flow| flow.base_rtt_ns);
    Nanos::new(round_trip.unwrap_or(Nanos::ZERO).get() / 100)
}

/// Returns the interval at which tables are confirmed: a quarter of their maximum age, so that three
/// confirmations may be late.
fn confirmation(plan: &Plan) -> Nanos {
    Nanos::new(plan.max_table_age_ns.get() / 4).max(MIN_CONFIRMATION)
}

async fn forward(mut events: UnboundedReceiver<Event>, inputs: UnboundedSender<Input>) {
    while let Some(event) = events.recv().await {
        if inputs.send(Input::Flow(event)).is_err() {
            return;
        }
    }
}

async fn until(time: Option<MonotonicTime>) {
    if let Some(time) = time {
        tokio::time::sleep(time.since(MonotonicTime::now()).to_duration()).await;
    }
}

/// Restarts of one agent in a run, after which the run fails: the cause will not go away.
const MAX_RESTARTS: u32 = 10;
/// Longest silence of agents that were asked to end: twice the time that an agent waits for its last messages to be
/// read.
const AGENT_PATIENCE: Duration = Duration::from_secs(20);
/// Longest silence of such agents in a run that was cancelled.
const CANCELLED_PATIENCE: Duration = Duration::from_secs(2);
const MIN_CONFIRMATION: Nanos = Nanos::from_millis(10);
