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

use std::{collections::BTreeMap, io, path::PathBuf};

use lab_abi::wire::{AgentCommand, AgentMessage};
use lab_perftest::{Endpoint, Event, FlowJob, FlowOutcome, MonotonicTime, Options, Session, Tool};
use lab_plan::model::{FaultChange, FaultPlan, Flow, Plan, PolicyRun};
use lab_records::{FlowRow, RunWriter};
use lab_units::{DcId, FlowId, Nanos, NodeId};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use self::{
    agents::{Agent, AgentEvent},
    phase::CpuTime,
    rows::RowMaker,
};
use crate::{
    Lab,
    lower::{Clock, lower_fault},
};

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
    pub checkpoint: &'a mut dyn FnMut() -> io::Result<()>,
    /// Called when all is prepared and only time has to start: a guest comes to the same moment of
    /// its clock in every run.
    pub settle: &'a mut dyn FnMut() -> io::Result<()>,
    /// How often this kernel has waited for a host so far. Between a start and the last delivery it
    /// should not: a guest's virtual clock may leap while it does.
    pub host_waits: &'a dyn Fn() -> u64,
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
        if self.lab.options().clock == Clock::Virtual {
            self.rehearse().await?;
        }
        for policy in &self.plan.policies {
            for repetition in 0..self.plan.repetitions {
                self.repetition(policy, repetition, &mut report).await?;
                (self.checkpoint)().map_err(RunError::Checkpoint)?;
            }
        }
        Ok(report)
    }

    /// Runs the first flow once without agents, for nothing: what it reads from disk has been read
    /// then, and no later flow makes the guest's clock leap by reading it.
    async fn rehearse(&mut self) -> Result<(), RunError> {
        let Some(flow) = self.plan.flows.first() else {
            return Ok(());
        };
        let mut job = self.job(flow, tool(self.plan))?;
        job.start = Nanos::ZERO;
        let (events, _unheard) = mpsc::unbounded_channel();
        let session = Session::prepare(vec![job], &self.session_options(), events).await?;
        session.run(MonotonicTime::now()).await?;
        Ok(())
    }

    fn session_options(&self) -> Options {
        match self.lab.options().clock {
            // The clock leaps while programs are read: no limit would mean anything.
            Clock::Virtual => Options {
                ready_within: None,
                ..Options::default()
            },
            Clock::Real => Options::default(),
        }
    }

    async fn repetition(
        &mut self,
        policy: &PolicyRun,
        repetition: u32,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let plan = self.plan;
        let flows: Vec<&Flow> = plan
            .flows
            .iter()
            .filter(|flow| flow.repetition == repetition)
            .collect();
        let title = |what: &str| match plan.repetitions {
            1 => format!("{} {what}", policy.label),
            _ => format!("{} #{} {what}", policy.label, repetition + 1),
        };
        let started = MonotonicTime::now();
        self.phase(title("agents"), plan.switches.len());
        self.lab.reset()?;
        let (sender, mut inputs) = mpsc::unbounded_channel();
        let mut agents = Vec::new();
        for (index, switch) in plan.switches.iter().enumerate() {
            if plan.dcs[plan.nodes[switch.node.index()].dc.index()].legacy {
                continue;
            }
            let namespace = self.namespace(switch.node)?;
            let agent = self
                .agents
                .start(plan, policy, index, &namespace, sender.clone())?;
            self.lab
                .record_process(agent.pid())
                .map_err(RunError::Journal)?;
            agents.push(agent);
        }
        self.until_agents_are_ready(&mut inputs, agents.len())
            .await?;

        self.phase(title("ready"), flows.len());
        let (flow_sender, flow_events) = mpsc::unbounded_channel();
        tokio::spawn(forward(flow_events, sender.clone()));
        drop(sender);
        let tool = tool(plan);
        let jobs = flows
            .iter()
            .map(|flow| self.job(flow, tool))
            .collect::<Result<_, _>>()?;
        let options = self.session_options();
        let session = tokio::select! {
            session = Session::prepare(jobs, &options, flow_sender) => session?,
            () = self.cancel.cancelled() => return Err(RunError::Cancelled),
        };

        (self.settle)().map_err(RunError::Settle)?;
        let start = self.start_time();
        let mut repetition = Repetition {
            flows,
            rows: RowMaker::new(plan, &policy.label, repetition, tool, start.as_nanos()),
            waiting: BTreeMap::new(),
            open_agents: agents.len(),
            waits_at_delivery: 0,
        };
        let waits_at_start = (self.host_waits)();
        report.phase(title("preparation"), started);
        let flows_started = MonotonicTime::now();
        self.phase(title("flows"), repetition.flows.len());
        let cpu_before = CpuTime::now();
        self.drive(
            session,
            start,
            &mut agents,
            &mut inputs,
            &mut repetition,
            report,
        )
        .await?;
        report.host_waits += repetition.waits_at_delivery.saturating_sub(waits_at_start);
        report.flow_cpu.add(cpu_before.until(CpuTime::now()));
        for agent in agents {
            agent.wait()?;
        }
        report.phase(title("flows"), flows_started);
        Ok(())
    }

    /// Lets the flows go and writes down what comes, until every flow has its row.
    async fn drive(
        &mut self,
        session: Session,
        start: MonotonicTime,
        agents: &mut [Agent],
        inputs: &mut UnboundedReceiver<Input>,
        repetition: &mut Repetition<'_>,
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
                input = inputs.recv() => match input {
                    Some(input) => self.take(input, repetition, report)?,
                    None => return Err(RunError::AgentsGone),
                },
                () = until(next_fault), if next_fault.is_some() => {
                    let fault = faults.next().expect("its time was peeked at");
                    let steps = lower_fault(self.plan, self.lab.options(), fault)?;
                    self.lab.apply(&steps)?;
                    tell_agents(self.plan, fault, agents);
                }
                () = cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    aborter.abort();
                }
            }
        }
        for agent in agents.iter_mut() {
            agent.stop();
        }
        while repetition.open_agents > 0 || !inputs.is_empty() {
            match inputs.recv().await {
                Some(input) => self.take(input, repetition, report)?,
                None => break,
            }
        }
        // What no switch said can no longer come: these rows are without a path.
        for outcome in std::mem::take(&mut repetition.waiting).into_values() {
            let row = repetition.row(&outcome)?;
            self.write(&row, report)?;
        }
        if is_cancelled {
            Err(RunError::Cancelled)
        } else {
            Ok(())
        }
    }

    fn take(
        &mut self,
        input: Input,
        repetition: &mut Repetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        match input {
            Input::Flow(event) => self.take_flow(event, repetition, report),
            Input::Agent(_, AgentEvent::Closed) => {
                repetition.open_agents -= 1;
                Ok(())
            }
            Input::Agent(dc, AgentEvent::Message(message)) => {
                self.take_message(dc, message, repetition, report)
            }
        }
    }

    fn take_flow(
        &mut self,
        event: Event,
        repetition: &mut Repetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        match event {
            Event::Ready {
                flow,
                client_qp,
                server_qp,
            } => {
                let flow = repetition.flow(flow)?;
                repetition.rows.connect(flow, client_qp, server_qp);
            }
            Event::Released { .. } => {}
            Event::Delivered { .. } => repetition.waits_at_delivery = (self.host_waits)(),
            Event::Ended(outcome) => {
                self.step(format!("flow {} {}", outcome.flow, outcome.status));
                repetition.waiting.insert(outcome.flow, outcome);
                self.write_known(repetition, report)?;
            }
        }
        Ok(())
    }

    fn take_message(
        &mut self,
        dc: DcId,
        message: AgentMessage,
        repetition: &mut Repetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        match message {
            AgentMessage::Decisions(decisions) => {
                let rows: Vec<_> = decisions
                    .iter()
                    .map(|decision| repetition.rows.decision(dc, decision))
                    .collect();
                self.records.append_decisions(&rows)?;
                self.write_known(repetition, report)?;
            }
            AgentMessage::Queues(queues) => {
                let (queues, links) = repetition.rows.queues(dc, &queues);
                self.records.append_queues(&queues)?;
                self.records.append_links(&links)?;
            }
            AgentMessage::Stats(stats) => report.count(dc, &stats),
            AgentMessage::Error { message } => {
                let dc = self.plan.dcs[dc.index()].name.clone();
                return Err(AgentError::Reported { dc, message }.into());
            }
            AgentMessage::Ready(_)
            | AgentMessage::PortState(_)
            | AgentMessage::Flows(_)
            | AgentMessage::Bye => {}
        }
        Ok(())
    }

    /// Writes the rows of flows that have ended and whose path both ways is known.
    fn write_known(
        &mut self,
        repetition: &mut Repetition<'_>,
        report: &mut RunReport,
    ) -> Result<(), RunError> {
        let mut known = Vec::new();
        for (id, outcome) in &repetition.waiting {
            let row = repetition.row(outcome)?;
            if row.path.is_some() && row.ack_path.is_some() {
                known.push((*id, row));
            }
        }
        for (id, row) in known {
            repetition.waiting.remove(&id);
            self.write(&row, report)?;
        }
        Ok(())
    }

    fn write(&mut self, row: &FlowRow, report: &mut RunReport) -> Result<(), RunError> {
        if row.is_late(LATE_LAUNCH) {
            report.late_launches += 1;
        }
        Ok(self.records.append_flow(row)?)
    }

    async fn until_agents_are_ready(
        &mut self,
        inputs: &mut UnboundedReceiver<Input>,
        mut starting: usize,
    ) -> Result<(), RunError> {
        while starting > 0 {
            let input = tokio::select! {
                input = inputs.recv() => input,
                () = self.cancel.cancelled() => return Err(RunError::Cancelled),
            };
            let Some(Input::Agent(dc, event)) = input else {
                return Err(RunError::AgentsGone);
            };
            let name = &self.plan.dcs[dc.index()].name;
            match event {
                AgentEvent::Message(AgentMessage::Ready(_)) => {
                    starting -= 1;
                    self.step(name.clone());
                }
                AgentEvent::Message(AgentMessage::Error { message }) => {
                    return Err(AgentError::Reported {
                        dc: name.clone(),
                        message,
                    }
                    .into());
                }
                AgentEvent::Message(_) => {}
                AgentEvent::Closed => return Err(AgentError::Gone { dc: name.clone() }.into()),
            }
        }
        Ok(())
    }

    fn job(&self, flow: &Flow, tool: Tool) -> Result<FlowJob, RunError> {
        let rdma = &self.plan.rdma;
        Ok(FlowJob {
            flow: flow.id,
            tool,
            src: self.endpoint(flow.src)?,
            dst: self.endpoint(flow.dst)?,
            message_bytes: flow.message_bytes,
            messages: flow.messages,
            start: flow.start_ns,
            qp_timeout: rdma.qp_timeout,
            path_mtu: rdma.path_mtu,
            traffic_class: rdma.traffic_class,
            deadline: rdma.flow_deadline_ns,
        })
    }

    fn endpoint(&self, host: NodeId) -> Result<Endpoint, RunError> {
        let name = &self.plan.nodes[host.index()].name;
        let endpoint = self.lab.host_endpoint(host);
        let endpoint = endpoint.ok_or_else(|| RunError::NoEndpoint { host: name.clone() })?;
        Ok(Endpoint {
            host: name.clone(),
            rdma_device: endpoint.rdma_device,
            gid_index: endpoint.gid_index,
            netns: endpoint.netns,
        })
    }

    fn namespace(&self, node: NodeId) -> Result<PathBuf, RunError> {
        let name = &self.plan.nodes[node.index()].name;
        self.lab
            .netns_path(node)
            .ok_or_else(|| RunError::NoNamespace { node: name.clone() })
    }

    /// When the repetition's time starts: on a whole second, so that timers which fire on whole
    /// multiples of their interval have the same phase in every run, and late enough for every
    /// agent to have reported its ports' counters once before.
    fn start_time(&self) -> MonotonicTime {
        let lead = self
            .plan
            .measure
            .queues_ns
            .get()
            .saturating_mul(3)
            .max(LEAST_LEAD_NS);
        let earliest = MonotonicTime::now().as_nanos().saturating_add(lead);
        MonotonicTime::from_nanos(earliest.next_multiple_of(START_GRID_NS))
    }

    fn phase(&mut self, name: String, steps: usize) {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        (self.events)(&RunEvent::Phase { name, steps });
    }

    fn step(&mut self, text: String) {
        (self.events)(&RunEvent::Step { text });
    }
}

/// A repetition under way.
struct Repetition<'a> {
    flows: Vec<&'a Flow>,
    rows: RowMaker<'a>,
    /// Flows that have ended and are not written, as their decisions are still to come.
    waiting: BTreeMap<FlowId, FlowOutcome>,
    open_agents: usize,
    /// [`Runner::host_waits`] when the latest flow was delivered.
    waits_at_delivery: u64,
}

impl<'a> Repetition<'a> {
    fn flow(&self, id: FlowId) -> Result<&'a Flow, RunError> {
        let flow = self.flows.iter().find(|flow| flow.id == id);
        flow.copied().ok_or(RunError::UnknownFlow { flow: id })
    }

    fn row(&self, outcome: &FlowOutcome) -> Result<FlowRow, RunError> {
        Ok(self.rows.flow(self.flow(outcome.flow)?, outcome))
    }
}

/// A link's new rate changes what its queue means to the agents at its ends. That it is down or up
/// they see themselves.
fn tell_agents(plan: &Plan, fault: &FaultPlan, agents: &mut [Agent]) {
    let FaultChange::Wire(wire) = fault.change else {
        return;
    };
    for port in [fault.link.port_a(), fault.link.port_b()] {
        let node = plan.ports[port.index()].node;
        let dc = &plan.dcs[plan.nodes[node.index()].dc.index()].name;
        if let Some(agent) = agents.iter_mut().find(|agent| agent.dc() == dc) {
            agent.tell(&AgentCommand::SetLink {
                port,
                rate_bps: wire.rate_bps,
                buffer_bytes: wire.buffer_bytes,
            });
        }
    }
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

fn tool(plan: &Plan) -> Tool {
    match plan.rdma.tool {
        lab_plan::Tool::IbSendBw => Tool::SendBw,
        lab_plan::Tool::IbWriteBw => Tool::WriteBw,
        lab_plan::Tool::IbReadBw => Tool::ReadBw,
    }
}

/// A flow let go later than this did not start when the plan says: a hundredth of the shortest
/// round trip that scenarios of this tool are run with (100 ms, emulated).
pub const LATE_LAUNCH: Nanos = Nanos::from_millis(1);

const LEAST_LEAD_NS: u64 = 250_000_000;
const START_GRID_NS: u64 = 1_000_000_000;
