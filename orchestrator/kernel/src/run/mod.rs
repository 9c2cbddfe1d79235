//! One run of a plan in a lab that is up: agents, flows, records.
//!
//! For each policy and repetition: QPs start from nothing, the agents of all DCI switches attach
//! and say they are ready, every flow's two processes connect, and only then does time start. So
//! nothing of the preparation is in a flow's FCT, and in a guest whose clock jumps while it waits
//! for the host's disk, all that is read from disk has been read.

mod agents;
mod phase;
mod probe;
mod rows;

pub use agents::{AgentError, AgentLauncher};
pub use phase::{RunError, RunEvent, RunReport};
pub use probe::{LinkMeasurement, measure_links};

use std::{collections::BTreeMap, time::Duration};

use lab_abi::wire::AgentMessage;
use lab_perftest::{Event, FlowJob, FlowOutcome, MonotonicTime, Session, SessionOptions, Tool};
use lab_plan::model::{Flow, Plan, PolicyRun};
use lab_records::{RunWriter, rows::FlowRow};
use lab_units::{DcId, FlowId, Nanos};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio_util::sync::CancellationToken;

use self::{
    agents::{Agent, AgentEvent},
    rows::RowMaker,
};
use crate::{Lab, lower_fault};

/// Runs every policy of a plan.
pub struct Runner<'a> {
    /// What to run.
    pub plan: &'a Plan,
    /// Where to run it.
    pub lab: &'a mut Lab,
    /// How agents are started.
    pub agents: AgentLauncher,
    /// Where rows go.
    pub records: &'a mut RunWriter,
    /// Told what happens.
    pub events: &'a mut dyn FnMut(&RunEvent),
    /// Called when a policy's repetition is over and its rows are written.
    pub checkpoint: &'a mut dyn FnMut() -> std::io::Result<()>,
    /// Ends the run early.
    pub cancel: CancellationToken,
}

/// What agents, flows and faults tell the run.
enum Input {
    Agent(DcId, AgentEvent),
    Flow(Event),
}

impl From<(DcId, AgentEvent)> for Input {
    fn from((dc, event): (DcId, AgentEvent)) -> Self {
        Self::Agent(dc, event)
    }
}

impl Runner<'_> {
    /// Runs every policy, every repetition.
    ///
    /// # Errors
    /// When an agent, the lab or the records fail, or the run was cancelled. A flow that fails is a
    /// row, not an error.
    pub async fn run(&mut self) -> Result<RunReport, RunError> {
        let mut report = RunReport::default();
        for policy in &self.plan.policies {
            for repetition in 0..self.plan.repetitions {
                self.repetition(policy, repetition, &mut report).await?;
                (self.checkpoint)().map_err(RunError::Checkpoint)?;
            }
        }
        Ok(report)
    }

    async fn repetition(
        &mut self,
        policy: &PolicyRun,
        repetition: u32,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let plan = self.plan;
        let flows: Vec<&Flow> =
            plan.flows.iter().filter(|flow| flow.repetition == repetition).collect();
        let title = |what: &str| match plan.repetitions {
            1 => format!("{} {what}", policy.label),
            _ => format!("{} #{} {what}", policy.label, repetition + 1),
        };
        let started = MonotonicTime::now();
        self.phase(title("agents"), plan.switches.len());
        self.lab.reset_hosts()?;
        let (sender, mut inputs) = mpsc::unbounded_channel();
        let mut agents = Vec::new();
        for (index, switch) in plan.switches.iter().enumerate() {
            if plan.dcs[plan.nodes[switch.node.index()].dc.index()].legacy {
                continue;
            }
            let namespace = self.lab.netns_path(switch.node);
            let agent = self.agents.start(plan, policy, index, &namespace, sender.clone())?;
            self.lab.record_process(agent.pid())?;
            agents.push(agent);
        }
        self.until_agents_are_ready(&mut inputs, agents.len()).await?;

        self.phase(title("ready"), flows.len());
        let (flow_sender, flow_events) = mpsc::unbounded_channel();
        tokio::spawn(forward(flow_events, sender.clone()));
        drop(sender);
        let tool = tool(plan);
        let jobs = flows.iter().map(|flow| self.job(flow, tool)).collect();
        let session = tokio::select! {
            session = Session::prepare(jobs, SessionOptions::default(), flow_sender) => session?,
            () = self.cancel.cancelled() => return Err(RunError::Cancelled),
        };

        let start = self.start_time();
        let rows = RowMaker::new(plan, &policy.label, repetition, tool, start.as_nanos());
        let mut repetition = Repetition { rows, ended: BTreeMap::new() };
        let cpu_before = crate::cpu::used();
        report.phase(title("preparation"), started);
        let flows_started = MonotonicTime::now();
        self.drive(session, start, &mut agents, &mut inputs, &mut repetition, &title).await?;
        report.cpu(cpu_before, crate::cpu::used());
        for flow in flows {
            let Some(outcome) = repetition.ended.get(&flow.id) else {
                return Err(RunError::NoOutcome { flow: flow.id });
            };
            let row = repetition.rows.flow(flow, outcome);
            report.count_lateness(&row);
            self.records.append_flow(&row)?;
        }
        for agent in agents {
            agent.wait()?;
        }
        report.phase(title("flows"), flows_started);
        Ok(())
    }
}
