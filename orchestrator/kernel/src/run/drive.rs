//! One policy's repetition, from the start of its agents to the end of its flows.

use std::path::Path;

use lab_abi::wire::AgentCommand;
use lab_perftest::{Event, MonotonicTime, Session};
use lab_plan::Plan;
use lab_units::{DcId, Nanos};
use tokio::sync::mpsc::{self, Receiver, UnboundedReceiver, UnboundedSender};

use super::{
    AgentError, LATE_LAUNCH, RunError, RunReport, Runner,
    agents::Agent,
    fault, jobs,
    repetition::{Heard, Input, Repetition},
    te::TeController,
    tune::{Change, Pending, Tuned, changed, tunable},
};
use crate::lower::lower_fault;

/// Which repetition it is, and where its switches' maps are pinned.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// Position of its policy in the plan.
    pub policy: usize,
    /// Its number, from 0.
    pub number: u32,
    /// A directory of a BPF file system.
    pub pins: &'a Path,
}

/// What a repetition is driven with.
pub(super) struct Driving<'a> {
    pub(super) repetition: Repetition<'a>,
    pub(super) agents: Vec<Agent>,
    pub(super) inputs: UnboundedReceiver<Input>,
    /// Where agents' and flows' words come in.
    sender: UnboundedSender<Input>,
    place: Place<'a>,
    /// So many of the plan's faults have happened.
    struck: usize,
    /// TE controller, if the policy is traffic engineering.
    te: Option<TeController<'a>>,
    /// [`Runner::host_waits`] when the latest flow was delivered.
    waits_at_delivery: u64,
}

impl<'a> Driving<'a> {
    /// Before anything was started.
    pub(super) fn new(plan: &'a Plan, place: Place<'a>) -> Self {
        let (sender, inputs) = mpsc::unbounded_channel();
        let policy = &plan.policies[place.policy];
        Self {
            repetition: Repetition::new(plan, policy, place.number, plan.rdma.tool),
            agents: Vec::new(),
            inputs,
            sender,
            place,
            struck: 0,
            te: TeController::new(plan, policy),
            waits_at_delivery: 0,
        }
    }
}

impl Runner<'_> {
    /// Runs the flows of one repetition.
    pub(super) async fn repetition(
        &mut self,
        place: Place<'_>,
        wishes: &mut Receiver<Pending>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let mut driving = Driving::new(self.plan, place);
        self.start_agents(&mut driving)?;
        self.until_ready(&mut driving, report).await?;
        let events = driving.sender.clone();
        let session = self.connect(&driving.repetition, events).await?;

        (self.settle)().map_err(RunError::Settle)?;
        let start = start_time(MonotonicTime::now());
        driving.repetition.start_at(start);
        self.phase(&driving.repetition, "flows", driving.repetition.flows.len());
        let (waits, cpu) = ((self.host_waits)(), (self.guest_cpu)());
        driving.waits_at_delivery = waits;
        self.drive(session, start, &mut driving, wishes, report)
            .await?;
        report.host_waits += driving.waits_at_delivery.saturating_sub(waits);
        report.add_cpu(cpu, (self.guest_cpu)());
        driving.agents.into_iter().try_for_each(Agent::wait)?;
        self.end_flows();
        Ok(())
    }

    pub(super) fn start_agents(&mut self, driving: &mut Driving<'_>) -> Result<(), RunError> {
        let plan = self.plan;
        let is_legacy = |node: lab_units::NodeId| {
            let dc = plan.nodes[node.index()].dc;
            plan.dcs[dc.index()].legacy
        };
        let switches = plan.switches.iter().enumerate();
        let switches: Vec<usize> = switches
            .filter(|(_, switch)| !is_legacy(switch.node))
            .map(|(index, _)| index)
            .collect();
        self.phase(&driving.repetition, "agents", switches.len());
        self.lab.reset()?;
        driving.repetition.expect_agents(switches.len());
        let run = &plan.policies[driving.place.policy];
        for index in switches {
            let (pins, sender) = (driving.place.pins, driving.sender.clone());
            let agent = self
                .agents
                .start(self.lab, plan, run, index, pins, sender)?;
            driving.agents.push(agent);
        }
        Ok(())
    }

    async fn until_ready(
        &mut self,
        driving: &mut Driving<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        while !driving.repetition.is_ready() {
            let input = tokio::select! {
                input = driving.inputs.recv() => input.ok_or(RunError::AgentsGone)?,
                () = self.cancel.cancelled() => return Err(RunError::Cancelled),
            };
            let heard = driving.repetition.hear(input)?;
            self.act(&heard, driving, report)?;
        }
        Ok(())
    }

    /// Starts all flows' processes, up to where only their release is missing.
    async fn connect(
        &mut self,
        repetition: &Repetition<'_>,
        sender: UnboundedSender<Input>,
    ) -> Result<Session, RunError> {
        self.phase(repetition, "ready", repetition.flows.len());
        let (events, received) = mpsc::unbounded_channel();
        tokio::spawn(forward(received, sender));
        let jobs = jobs::jobs(self.plan, self.lab, repetition.flows.iter().copied())?;
        let options = jobs::options(self.lab);
        tokio::select! {
            session = Session::prepare(jobs, &options, events) => Ok(session?),
            () = self.cancel.cancelled() => Err(RunError::Cancelled),
        }
    }

    /// Lets the flows go and writes down what comes, until every flow has its row.
    async fn drive(
        &mut self,
        session: Session,
        start: MonotonicTime,
        driving: &mut Driving<'_>,
        wishes: &mut Receiver<Pending>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let aborter = session.aborter();
        let cancel = self.cancel.clone();
        let mut faults = self.plan.faults.iter().peekable();
        let mut flows = std::pin::pin!(session.run(start));
        let mut is_cancelled = false;
        let mut next_confirmation = MonotonicTime::now();
        loop {
            let next_fault = faults.peek().map(|fault| start.after(fault.at_ns));
            tokio::select! {
                outcomes = &mut flows => break outcomes.map(drop)?,
                input = driving.inputs.recv() => {
                    let heard = driving.repetition.hear(input.ok_or(RunError::AgentsGone)?)?;
                    self.act(&heard, driving, report)?;
                }
                () = until(next_fault), if next_fault.is_some() => {
                    let fault = faults.next().expect("its time was peeked at");
                    self.strike(fault, driving)?;
                }
                () = until(Some(next_confirmation)) => {
                    next_confirmation = MonotonicTime::now().after(confirmation(self.plan));
                    self.confirm(driving)?;
                }
                Some(wish) = wishes.recv() => self.grant(wish, driving),
                () = cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    aborter.abort();
                }
            }
        }
        self.hear_out(driving, report).await?;
        if is_cancelled {
            Err(RunError::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Ends the agents and writes down their last words.
    pub(super) async fn hear_out(
        &mut self,
        driving: &mut Driving<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        driving.repetition.end();
        for agent in &mut driving.agents {
            agent.stop();
        }
        while !driving.repetition.is_over() || !driving.inputs.is_empty() {
            let Some(input) = driving.inputs.recv().await else {
                break;
            };
            let heard = driving.repetition.hear(input)?;
            self.act(&heard, driving, report)?;
        }
        let rows = driving.repetition.last_rows()?;
        let heard = Heard {
            rows,
            ..Heard::default()
        };
        self.act(&heard, driving, report)
    }

    /// Makes a fault happen: on the links, then in the switches' tables.
    fn strike(
        &mut self,
        fault: &lab_plan::FaultPlan,
        driving: &mut Driving<'_>,
    ) -> Result<(), RunError> {
        let steps = lower_fault(self.plan, self.lab.options(), fault)?;
        self.lab.apply(&steps)?;
        if let Some(te) = &mut driving.te {
            te.apply_fault(fault);
        }
        driving.struck += 1;
        let agents = &driving.agents;
        let parameters = |dc| {
            let agent = agents.iter().find(|agent| agent.dc() == dc)?;
            agent.config().policy.congestion()
        };
        let commands = fault::commands(self.plan, driving.place.policy, fault, parameters);
        for (dc, command) in commands {
            // A legacy datacenter has none.
            if let Some(agent) = driving.agents.iter_mut().find(|agent| agent.dc() == dc) {
                agent.tell(&command)?;
            }
        }
        Ok(())
    }

    /// Says to all switches that their tables are as they should be.
    fn confirm(&mut self, driving: &mut Driving<'_>) -> Result<(), RunError> {
        for agent in &mut driving.agents {
            agent.tell(&AgentCommand::ConfirmTables)?;
        }
        Ok(())
    }

    /// Tunes a switch as a user wishes, if that can be.
    fn grant(&mut self, pending: Pending, driving: &mut Driving<'_>) {
        let dc = pending.wish.dc.clone();
        let tuned = self.tune(&dc, &pending.wish.changes, driving);
        if tuned.is_ok() && !pending.wish.changes.is_empty() {
            let changes = pending.wish.changes.iter();
            let changes: Vec<_> = changes
                .map(|change| format!("{}={}", change.name, change.value))
                .collect();
            self.step(format!("{dc} tuned: {}", changes.join(" ")));
        }
        pending.answer(tuned);
    }

    /// Changes the weights and thresholds of a switch, and with them what its paths cost; what they
    /// are then.
    pub(super) fn tune(
        &self,
        dc: &str,
        changes: &[Change],
        driving: &mut Driving<'_>,
    ) -> Result<Tuned, String> {
        let mut agents = driving.agents.iter_mut();
        let agent = agents.find(|agent| agent.name() == dc);
        let agent = agent.ok_or_else(|| format!("`{dc}` has no agent in this run"))?;
        let parameters = agent.config().policy.congestion();
        let parameters = parameters
            .ok_or_else(|| format!("the policy of `{dc}` has no weights or thresholds"))?;
        let parameters = changed(parameters, changes)?;
        let tuned = tunable(&parameters);
        if changes.is_empty() {
            return Ok(tuned);
        }
        let repriced = fault::repriced(
            self.plan,
            (driving.place.policy, agent.switch()),
            &self.plan.faults[..driving.struck],
            &agent.config().destinations,
            &parameters,
        );
        let rows = repriced.into_iter().map(AgentCommand::SetDestination);
        for command in [AgentCommand::SetLcmp(parameters)].into_iter().chain(rows) {
            let told = agent.tell(&command);
            told.map_err(|error| error.to_string())?;
        }
        Ok(tuned)
    }

    /// Starts the agent of a switch again. Its packets are forwarded meanwhile, by the tables as the
    /// one that was killed left them.
    fn restart(
        &mut self,
        dc: DcId,
        driving: &mut Driving<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let times = report.restarts.entry(dc).or_default();
        *times += 1;
        let times = *times;
        let mut agents = driving.agents.iter_mut();
        let Some(agent) = agents.find(|agent| agent.dc() == dc) else {
            return Ok(());
        };
        let name = agent.name().to_owned();
        if times > MAX_RESTARTS {
            return Err(AgentError::KilledAgain { dc: name, times }.into());
        }
        tracing::warn!(
            dc = name,
            "the switch's agent was killed, another one is started"
        );
        driving.repetition.restart(dc);
        self.agents
            .restart(self.lab, agent, driving.sender.clone())?;
        Ok(())
    }

    /// Does what follows from what was heard.
    pub(super) fn act(
        &mut self,
        heard: &Heard,
        driving: &mut Driving<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        if let (Some((dc, demands)), Some(te)) = (&heard.demands, &mut driving.te) {
            for (dc, command) in te.report(*dc, demands)? {
                if let Some(agent) = driving.agents.iter_mut().find(|agent| agent.dc() == dc) {
                    agent.tell(&command)?;
                }
            }
        }
        if let Some(dc) = heard.lost {
            self.restart(dc, driving, report)?;
        }
        if heard.is_delivery {
            driving.waits_at_delivery = (self.host_waits)();
        }
        if let Some((dc, stats)) = &heard.stats {
            report.switches.insert(*dc, *stats);
        }
        if let Some(text) = &heard.step {
            self.step(text.clone());
        }
        let late = heard
            .rows
            .flows
            .iter()
            .filter(|row| row.is_late(LATE_LAUNCH));
        report.late_launches += u64::try_from(late.count()).unwrap_or(u64::MAX);
        Ok(heard.rows.write(self.records)?)
    }
}

/// How often tables are confirmed: a quarter of the age they may reach, so that three confirmations
/// may be late.
fn confirmation(plan: &Plan) -> Nanos {
    Nanos::new(plan.max_table_age_ns.get() / 4).max(MIN_CONFIRMATION)
}

/// When a repetition's time starts: on a whole second, so that timers which fire on whole multiples
/// of their interval have the same phase in every run, and late enough for what goes on now to end.
fn start_time(now: MonotonicTime) -> MonotonicTime {
    now.after(MIN_LEAD).round_up_to(START_GRID)
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

/// Something that ends an agent more often than this will go on to.
const MAX_RESTARTS: u32 = 10;
const MIN_CONFIRMATION: Nanos = Nanos::from_millis(10);
const MIN_LEAD: Nanos = Nanos::from_millis(250);
const START_GRID: Nanos = Nanos::from_millis(1_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_starts_on_a_whole_second_with_a_quarter_to_spare() {
        let start =
            |millis: u64| start_time(MonotonicTime::from_nanos(millis * 1_000_000)).as_nanos();
        assert_eq!(start(100_000), 101_000_000_000);
        assert_eq!(start(100_750), 101_000_000_000);
        assert_eq!(start(100_751), 102_000_000_000);
    }
}
