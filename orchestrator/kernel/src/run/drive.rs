//! Execution of a repetition, with all its side effects: agents, flows, faults, rows.

use std::time::Duration;

use lab_abi::{
    LcmpConfig,
    wire::{AgentCommand, AgentMessage},
};
use lab_generators::contract::{Event, MonotonicTime};
use lab_host::{HostError, HostMaps};
use lab_plan::{FaultPlan, Plan, Reconvergence};
use lab_units::{DcId, LinkId, Nanos, Tool};
use tokio::sync::mpsc::{self, Receiver, UnboundedReceiver, UnboundedSender};

use super::{
    AgentError, RunError, RunReport, Runner,
    agents::{self, AgentEvent, SwitchAgent},
    commands,
    generator::{self, FlowSession},
    input::{Ending, HostCounts, Input, Readings},
    rates::RateSampler,
    repetition::{Effects, PlannedChange, Repetition, RepetitionSetup},
    start::Start,
    tables,
    tune::{ParameterChange, PendingRequest, Tuned},
    watch::Watchdog,
};
use crate::{
    lab::LabErrorKind,
    lower::{Clock, lower_fault},
};

/// Running repetition, with its agents and channels.
pub(super) struct RunningRepetition<'a> {
    pub(super) repetition: Repetition<'a>,
    pub(super) agents: Vec<SwitchAgent>,
    pub(super) inputs: UnboundedReceiver<Input>,
    /// Sender for the channel `inputs`; agents and flows get clones of this sender.
    sender: UnboundedSender<Input>,
    setup: RepetitionSetup<'a>,
    /// Number of times that this kernel had waited for its host ([`Runner::host_waits`]) when the latest flow was
    /// delivered. Later waits do not count, because perftest's clients then write their reports. Verbs flows write no
    /// reports, so for them the value at the session's end suffices.
    waits_at_delivery: u64,
}

impl<'a> RunningRepetition<'a> {
    /// Creates a repetition whose agents and flows do not run yet.
    pub(super) fn new(plan: &'a Plan, setup: RepetitionSetup<'a>) -> Self {
        let (sender, inputs) = mpsc::unbounded_channel();
        let policy = &plan.policies[setup.policy];
        Self {
            repetition: Repetition::new(plan, policy, setup.number, plan.rdma.tool),
            agents: Vec::new(),
            inputs,
            sender,
            setup,
            waits_at_delivery: 0,
        }
    }

    /// Returns the agent of a datacenter; `None` for a legacy datacenter.
    fn agent(&mut self, dc: DcId) -> Option<&mut SwitchAgent> {
        self.agents.iter_mut().find(|agent| agent.dc() == dc)
    }

    /// Adds to the error of an agent that has gone how its process ended.
    fn explain(&mut self, error: RunError) -> RunError {
        match error {
            RunError::Agent(AgentError::Gone { dc }) => {
                let mut agents = self.agents.iter_mut();
                match agents.find(|agent| agent.name() == dc) {
                    Some(agent) => agent.lost().into(),
                    None => AgentError::Gone { dc }.into(),
                }
            }
            other => other,
        }
    }

    /// Returns the current parameters of a datacenter's switch; `None` if its policy has none.
    fn parameters(&self, dc: DcId) -> Option<&LcmpConfig> {
        let agent = self.agents.iter().find(|agent| agent.dc() == dc)?;
        agent.config().policy.congestion()
    }

    /// Returns an error that names the first agent that has not ended, given that no message has arrived for
    /// `patience`; `Ok` if all agents have ended.
    fn silent(&self, patience: Duration) -> Result<(), AgentError> {
        let silent = self
            .agents
            .iter()
            .find(|agent| !self.repetition.is_closed(agent.dc()));
        silent.map_or(Ok(()), |agent| {
            Err(AgentError::Silent {
                dc: agent.name().to_owned(),
                seconds: patience.as_secs(),
            })
        })
    }

    /// Applies commands that agents have given themselves to the configurations from which restarted agents start.
    fn note(&mut self, commands: &[(DcId, AgentCommand)]) -> Result<(), AgentError> {
        for (dc, command) in commands {
            if let Some(agent) = self.agent(*dc) {
                agent.note(command)?;
            }
        }
        Ok(())
    }

    /// Sends each command to the agent of its datacenter.
    fn send(&mut self, commands: &[(DcId, AgentCommand)]) -> Result<(), AgentError> {
        for (dc, command) in commands {
            if let Some(agent) = self.agent(*dc) {
                agent.send(command)?;
            }
        }
        Ok(())
    }
}

impl Runner<'_> {
    /// Runs the agents and flows of one repetition. `idle` are the agents of the previous repetition; returns them, or
    /// those that took their place.
    pub(super) async fn repetition(
        &mut self,
        setup: RepetitionSetup<'_>,
        idle: Vec<SwitchAgent>,
        requests: &mut Receiver<PendingRequest>,
        report: &mut RunReport,
    ) -> Result<Vec<SwitchAgent>, RunError> {
        let mut running = RunningRepetition::new(self.plan, setup);
        self.start_agents(&mut running, idle)?;
        self.wait_until_ready(&mut running, report).await?;
        let events = running.sender.clone();
        let session = self.connect(&running.repetition, events).await?;

        let packets = self.lab.sent_packets()?;
        let start = self.start_time(&mut running, report).await?;
        self.phase(&running.repetition, "flows", running.repetition.flows.len());
        let faulty: Vec<LinkId> = self.plan.faults.iter().map(|fault| fault.link).collect();
        let losses = self.lab.losses(&faulty)?;
        let watchdog = match self.lab.options().clock {
            Clock::Real => Some(Watchdog::start().map_err(RunError::Watchdog)?),
            Clock::Virtual => None,
        };
        let before = Readings {
            packets,
            losses,
            host_waits: (self.host_waits)(),
            cpu: (self.guest_cpu)(),
        };
        running.waits_at_delivery = before.host_waits;
        let ended = self
            .run_flows(session, start, &mut running, requests, report)
            .await;
        let watch = watchdog.map(Watchdog::stop);
        ended?;
        let cpu = (self.guest_cpu)();
        let losses = self.lab.losses(&faulty)?;
        let hosts = self.end_hosts(&mut running, report)?;
        let at = MonotonicTime::now();
        let after = Readings {
            packets: self.lab.sent_packets()?,
            losses,
            host_waits: running.waits_at_delivery,
            cpu,
        };
        // By now the agents have detached their programs from the switches' ports, so any remaining difference was made
        // by another program.
        let altered = self.lab.altered(running.repetition.injected())?;
        let ending = Ending {
            at,
            before,
            after,
            watch,
            hosts,
            altered: altered.iter().map(ToString::to_string).collect(),
        };
        self.take(Input::End(Box::new(ending)), &mut running, report)?;
        self.end_flows();
        Ok(running.agents)
    }

    /// Handles the PFC pauses recorded at the hosts' NICs, and returns the counters of the host programs; `None`
    /// without congestion control.
    fn end_hosts(
        &mut self,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<Option<HostCounts>, RunError> {
        let Some(mut maps) = self.lab.host_maps().map_err(LabErrorKind::from)? else {
            return Ok(None);
        };
        let counts = host_counts(&maps).map_err(LabErrorKind::from)?;
        let pauses = maps.take_pauses(MonotonicTime::now().as_nanos());
        let pauses = Input::Pauses {
            pauses: pauses.map_err(LabErrorKind::from)?,
            nics: self.lab.nics(),
        };
        self.take(pauses, running, report)?;
        Ok(Some(counts))
    }

    /// Chooses the start of the repetition, from which flows and records count their time. On a virtual clock, sleeps
    /// until shortly before the start.
    async fn start_time(
        &mut self,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<MonotonicTime, RunError> {
        let clock = self.lab.options().clock;
        if clock == Clock::Virtual {
            // Pending disk writes would make the virtual clock jump while flows run.
            nix::unistd::sync();
        }
        let start = Start::next(clock, self.plan).map_err(RunError::Clock)?;
        for agent in &mut running.agents {
            agent.send(&start.command())?;
        }
        self.take(Input::Start(start.at), running, report)?;
        tokio::select! {
            () = until(Some(start.rest_until)) => Ok(start.at),
            () = self.cancel.cancelled() => Err(RunError::Cancelled),
        }
    }

    /// Gives every switch an agent: the one of `idle`, or a new process.
    pub(super) fn start_agents(
        &mut self,
        running: &mut RunningRepetition<'_>,
        mut idle: Vec<SwitchAgent>,
    ) -> Result<(), RunError> {
        let plan = self.plan;
        let switches: Vec<usize> = agents::switches(plan).collect();
        self.phase(&running.repetition, "agents", switches.len());
        self.lab.reset()?;
        self.lab.check_rules()?;
        let setup = running.setup;
        let run = &plan.policies[setup.policy];
        for index in switches {
            let config = self
                .agents
                .config(plan, run, index, setup.pin_dir, setup.transits)?;
            let sender = running.sender.clone();
            let place = idle.iter().position(|agent| agent.switch() == index);
            let mut kept = place.map(|place| idle.swap_remove(place));
            let agent = match kept.take_if(|agent| !agent.has_ended()) {
                Some(mut agent) => {
                    agent.begin(&config, sender)?;
                    agent
                }
                None => self.agents.start(self.lab, plan, index, config, sender)?,
            };
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
            self.take(input, running, report)?;
        }
        Ok(())
    }

    /// Prepares the flows: their processes connect and then wait for their start times.
    async fn connect(
        &mut self,
        repetition: &Repetition<'_>,
        sender: UnboundedSender<Input>,
    ) -> Result<FlowSession, RunError> {
        self.phase(repetition, "ready", repetition.flows.len());
        let (events, received) = mpsc::unbounded_channel();
        tokio::spawn(forward(received, sender));
        let jobs = generator::jobs(self.plan, self.lab, &repetition.flows)?;
        let tool = self.plan.rdma.tool;
        let clock = self.lab.options().clock;
        tokio::select! {
            session = FlowSession::prepare(tool, jobs, clock, events) => session,
            () = self.cancel.cancelled() => Err(RunError::Cancelled),
        }
    }

    /// Runs the flows, and handles all inputs until a row has been written for every flow.
    async fn run_flows(
        &mut self,
        session: FlowSession,
        start: MonotonicTime,
        running: &mut RunningRepetition<'_>,
        requests: &mut Receiver<PendingRequest>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let aborter = session.aborter();
        let cancel = self.cancel.clone();
        let mut flows = std::pin::pin!(session.run(start));
        let mut is_cancelled = false;
        let mut next_confirmation = MonotonicTime::now();
        let sampler = RateSampler::open(self.lab, &running.repetition)?;
        let mut next_rates = sampler
            .as_ref()
            .map(|sampler| start.after(sampler.interval));
        loop {
            let change = running.repetition.next_change();
            let next_change = change.map(|change| start.after(change.at()));
            tokio::select! {
                ended = &mut flows => {
                    ended?;
                    if self.plan.rdma.tool == Tool::Verbs {
                        running.waits_at_delivery = (self.host_waits)();
                    }
                    break;
                }
                input = running.inputs.recv() => {
                    self.take(input.ok_or(RunError::AgentsGone)?, running, report)?;
                }
                () = until(next_change), if next_change.is_some() => {
                    match change.expect("only a change sets a time") {
                        PlannedChange::AgentCrash(crash) => {
                            self.crash_agent(crash.dc, running, report)?;
                        }
                        PlannedChange::AgentRestart { dc, .. } => {
                            self.restart_agent(dc, running, report)?;
                        }
                        PlannedChange::Fault(fault) => self.inject(fault, running, report)?,
                        PlannedChange::Reconvergence(change) => {
                            self.reconverge(change, running, report)?;
                        }
                    }
                }
                () = until(Some(next_confirmation)) => {
                    next_confirmation = MonotonicTime::now().after(confirmation(self.plan));
                    for agent in &mut running.agents {
                        agent.send(&AgentCommand::ConfirmTables)?;
                    }
                }
                () = until(next_rates), if next_rates.is_some() => {
                    let sampler = sampler.as_ref().expect("only a sampler sets a time");
                    let sample = sampler.read(&running.repetition)?;
                    next_rates = Some(sample.at.after(sampler.interval));
                    self.take(Input::Rates(sample), running, report)?;
                }
                Some(request) = requests.recv() => self.answer(request, running, report)?,
                () = cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    self.close_pacer();
                    aborter.abort();
                }
            }
        }
        self.restart_all(running, report).await?;
        let drained = self.drain(running, report, AGENT_PATIENCE).await;
        if is_cancelled || (drained.is_err() && self.cancel.is_cancelled()) {
            Err(RunError::Cancelled)
        } else {
            drained
        }
    }

    /// Makes the pacer of congestion control drop its packets, so that the QPs of aborted flows can be destroyed
    /// immediately.
    fn close_pacer(&mut self) {
        let closed = match self.lab.host_maps() {
            Ok(Some(mut maps)) => maps.close(),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = closed {
            tracing::warn!(%error, "cannot make the pacer drop its packets");
        }
    }

    /// Kills the agent of `dc`, as planned. Its program and maps are pinned, so the switch goes on with its last
    /// tables; commands are kept for the next agent.
    pub(super) fn crash_agent(
        &mut self,
        dc: DcId,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let Some(agent) = running.agent(dc) else {
            return Ok(());
        };
        agent.kill()?;
        let step = format!("agent of {} was killed, as planned", agent.name());
        self.take(Input::AgentCrash, running, report)?;
        self.step(step);
        Ok(())
    }

    /// Starts the next agent of `dc`, as planned after a crash.
    fn restart_agent(
        &mut self,
        dc: DcId,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let sender = running.sender.clone();
        let Some(agent) = running.agent(dc) else {
            return Ok(());
        };
        self.agents.restart(self.lab, agent, sender)?;
        self.take(Input::AgentRestart(dc), running, report)?;
        Ok(())
    }

    /// Starts all agents that are still down after the flows, because only an agent reads the decisions and counters that its
    /// switch has collected since the crash. If the run is cancelled, these agents count as ended.
    pub(super) async fn restart_all(
        &mut self,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        while let Some((dc, is_closed)) = running.repetition.first_down() {
            if self.cancel.is_cancelled() {
                self.take(Input::Abandoned(dc), running, report)?;
            } else if is_closed {
                self.restart_agent(dc, running, report)?;
            } else {
                let input = tokio::select! {
                    input = running.inputs.recv() => input.ok_or(RunError::AgentsGone)?,
                    () = self.cancel.cancelled() => continue,
                };
                self.take(input, running, report)?;
            }
        }
        Ok(())
    }

    /// Asks the agents to end, and handles their last messages until all agents have ended, or until no message has
    /// arrived for `patience`. If the run is cancelled, the wait is shorter.
    pub(super) async fn drain(
        &mut self,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
        patience: Duration,
    ) -> Result<(), RunError> {
        self.take(Input::Stop, running, report)?;
        for agent in &mut running.agents {
            agent.stop();
        }
        let mut ended = Ok(());
        while !running.repetition.is_over() || !running.inputs.is_empty() {
            let is_cancelled = self.cancel.is_cancelled();
            let patience = if is_cancelled {
                patience.min(CANCELLED_PATIENCE)
            } else {
                patience
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
            self.take(input, running, report)?;
        }
        self.take(Input::Drained, running, report)?;
        ended.map_err(RunError::from)
    }

    /// Injects a fault: first on the link, then in the switches' tables.
    fn inject(
        &mut self,
        fault: &FaultPlan,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let steps = lower_fault(self.plan, self.lab.options(), fault)?;
        self.lab.apply(&steps)?;
        self.take(Input::Fault, running, report)?;
        let parameters = |dc| running.parameters(dc);
        let commands = commands::of_fault(self.plan, running.setup.policy, fault, parameters);
        Ok(running.send(&commands)?)
    }

    /// Installs new candidates in the switches' tables.
    fn reconverge(
        &mut self,
        change: &Reconvergence,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let index = running.repetition.past().reconvergences.len();
        self.take(Input::Reconvergence, running, report)?;
        let setup = running.setup;
        // Transit rows come first, so that fewer packets of new tunnels meet the rows of old ones.
        running.send(setup.transits.of_reconvergence(index))?;
        let parameters = |dc| running.parameters(dc);
        let commands = commands::of_reconvergence(self.plan, setup.policy, change, parameters);
        Ok(running.send(&commands)?)
    }

    /// Tunes a switch as a user requested, and sends the result to the user's client.
    fn answer(
        &mut self,
        pending: PendingRequest,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let request = &pending.request;
        let tuned = self.tune(&request.dc, &request.changes, running);
        if tuned.is_ok() && !request.changes.is_empty() {
            let changes: Vec<_> = request
                .changes
                .iter()
                .map(|change| format!("{}={}", change.name, change.value))
                .collect();
            let tuned = Input::Tuned {
                at: MonotonicTime::now(),
                dc: request.dc.clone(),
                changes: changes.join(" "),
            };
            self.take(tuned, running, report)?;
        }
        pending.answer(tuned);
        Ok(())
    }

    /// Changes parameters of the switch in datacenter `dc`; returns all its tunable parameters with their values.
    pub(super) fn tune(
        &self,
        dc: &str,
        changes: &[ParameterChange],
        running: &mut RunningRepetition<'_>,
    ) -> Result<Tuned, String> {
        let agent = running.agents.iter_mut().find(|agent| agent.name() == dc);
        let agent =
            agent.ok_or_else(|| format!("datacenter `{dc}` has no switch agent in this run"))?;
        if running.repetition.is_down(agent.dc()) {
            return Err(format!(
                "the agent of `{dc}` is down, as planned (hint: tune it before the crash or after the restart)"
            ));
        }
        let at = (running.setup.policy, agent.switch());
        let past = running.repetition.past();
        let (commands, tuned) = commands::of_changes(self.plan, at, past, agent.config(), changes)?;
        for command in commands {
            agent.send(&command).map_err(|error| error.to_string())?;
        }
        Ok(tuned)
    }

    /// Restarts a killed agent, unless the run was cancelled, because the cancellation may have ended the agent. Until
    /// the restart, the switch forwards packets with the tables that the killed agent left in the kernel.
    fn restart(
        &mut self,
        dc: DcId,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        if self.cancel.is_cancelled() {
            self.take(Input::Abandoned(dc), running, report)?;
            return Ok(());
        }
        let times = 1 + report.restarts.get(&dc).copied().unwrap_or(0);
        let sender = running.sender.clone();
        let Some(agent) = running.agent(dc) else {
            return Ok(());
        };
        let last = agent.lost();
        if times > MAX_RESTARTS {
            let dc = agent.name().to_owned();
            let last = Box::new(last);
            return Err(AgentError::KilledAgain { dc, times, last }.into());
        }
        tracing::warn!("{last}; it is restarted");
        self.agents.restart(self.lab, agent, sender)?;
        let at = MonotonicTime::now();
        self.take(Input::Restarted { at, dc }, running, report)?;
        Ok(())
    }

    /// Handles an input: records it if inputs are recorded, applies its effects, and returns the effects.
    pub(super) fn take(
        &mut self,
        input: Input,
        running: &mut RunningRepetition<'_>,
        report: &mut RunReport,
    ) -> Result<Effects, RunError> {
        if let Some(record) = &mut self.inputs {
            input.record(record).map_err(RunError::Inputs)?;
        }
        let handled = running.repetition.handle(input, report);
        let effects = handled.map_err(|error| running.explain(error))?;
        running.send(&effects.commands)?;
        running.note(&effects.applied)?;
        if let Some(dc) = effects.lost {
            self.restart(dc, running, report)?;
        }
        if effects.is_delivery {
            running.waits_at_delivery = (self.host_waits)();
        }
        effects.rows.write(self.records)?;
        // Rows are written before the progress is shown, so that every flow that is shown as ended has its row.
        for text in &effects.steps {
            self.step(text.clone());
        }
        Ok(effects)
    }
}

fn host_counts(maps: &HostMaps) -> Result<HostCounts, HostError> {
    let senders = maps.senders()?;
    let out_of_order = senders.iter().map(|(_, qp)| u64::from(qp.out_of_order));
    Ok(HostCounts {
        counters: maps.counts()?,
        out_of_order: out_of_order.sum(),
    })
}

/// Returns the interval at which the runner confirms the agents' tables, at least [`MIN_CONFIRMATION`]: a quarter of
/// the tables' maximum age, so that up to three confirmations in a row may be late.
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

/// Maximum number of restarts of one agent in a run. If it is exceeded, the run fails, because the cause evidently
/// persists.
const MAX_RESTARTS: u32 = 10;
/// Maximum time without a message after the agents were asked to end: twice the time for which an agent waits until its
/// last messages have been read.
const AGENT_PATIENCE: Duration = Duration::from_secs(20);
/// Maximum time without a message after the agents were asked to end, if the run was cancelled.
const CANCELLED_PATIENCE: Duration = Duration::from_secs(2);
const MIN_CONFIRMATION: Nanos = Nanos::from_millis(10);
