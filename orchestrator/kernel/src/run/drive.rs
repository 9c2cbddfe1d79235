//! One policy's repetition, from the start of its agents to the end of its flows.

use lab_perftest::{Event, MonotonicTime, Session};
use lab_units::Nanos;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::{
    LATE_LAUNCH, RunError, RunReport, Runner,
    agents::Agent,
    fault, jobs,
    repetition::{Heard, Input, Repetition},
};
use crate::lower::lower_fault;

/// What a repetition is driven with.
struct Driving<'a> {
    repetition: Repetition<'a>,
    agents: Vec<Agent>,
    inputs: UnboundedReceiver<Input>,
    /// Position of its policy in the plan.
    policy: usize,
    /// [`Runner::host_waits`] when the latest flow was delivered.
    waits_at_delivery: u64,
}

impl Runner<'_> {
    /// Runs the flows of one repetition under the policy at `policy`.
    pub(super) async fn repetition(
        &mut self,
        policy: usize,
        number: u32,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let plan = self.plan;
        let tool = jobs::tool(plan);
        let (sender, inputs) = mpsc::unbounded_channel();
        let mut driving = Driving {
            repetition: Repetition::new(plan, &plan.policies[policy], number, tool),
            agents: Vec::new(),
            inputs,
            policy,
            waits_at_delivery: 0,
        };
        self.start_agents(&mut driving, &sender)?;
        self.until_ready(&mut driving, report).await?;
        let session = self.connect(&driving.repetition, sender).await?;

        (self.settle)().map_err(RunError::Settle)?;
        let start = start_time(MonotonicTime::now());
        driving.repetition.start_at(start);
        self.phase(&driving.repetition, "flows", driving.repetition.flows.len());
        let (waits, cpu) = ((self.host_waits)(), (self.guest_cpu)());
        driving.waits_at_delivery = waits;
        self.drive(session, start, &mut driving, report).await?;
        report.host_waits += driving.waits_at_delivery.saturating_sub(waits);
        report.add_cpu(cpu, (self.guest_cpu)());
        driving.agents.into_iter().try_for_each(Agent::wait)?;
        self.end_flows();
        Ok(())
    }

    fn start_agents(
        &mut self,
        driving: &mut Driving<'_>,
        sender: &UnboundedSender<Input>,
    ) -> Result<(), RunError> {
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
        let run = &plan.policies[driving.policy];
        for index in switches {
            let agent = self
                .agents
                .start(self.lab, plan, run, index, sender.clone())?;
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
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let aborter = session.aborter();
        let cancel = self.cancel.clone();
        let mut faults = self.plan.faults.iter().peekable();
        let mut flows = std::pin::pin!(session.run(start));
        let mut is_cancelled = false;
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
    async fn hear_out(
        &mut self,
        driving: &mut Driving<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
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
        for (dc, command) in fault::commands(self.plan, driving.policy, fault) {
            // A legacy datacenter has none.
            if let Some(agent) = driving.agents.iter_mut().find(|agent| agent.dc() == dc) {
                agent.tell(&command);
            }
        }
        Ok(())
    }

    /// Does what follows from what was heard.
    fn act(
        &mut self,
        heard: &Heard,
        driving: &mut Driving<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
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

/// When a repetition's time starts: on a whole second, so that timers which fire on whole multiples
/// of their interval have the same phase in every run, and late enough for what goes on now to end.
fn start_time(now: MonotonicTime) -> MonotonicTime {
    now.after(LEAST_LEAD).round_up_to(START_GRID)
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

const LEAST_LEAD: Nanos = Nanos::from_millis(250);
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
