//! Traffic generator: the plan's flows as jobs, and the session of perftest or verbs that runs them.

use lab_generators::{
    contract::{Endpoint, Event, FlowJob, MonotonicTime},
    perftest::{self, Options},
    verbs,
};
use lab_plan::{
    Connection, connections,
    model::{Flow, Plan},
};
use lab_units::{NodeId, Tool};
use tokio::sync::mpsc::UnboundedSender;

use super::RunError;
use crate::{Lab, lab::HostEndpoint, lower::Clock};

/// Session whose flows are prepared and wait for their start.
#[derive(Debug)]
pub(super) enum FlowSession {
    Perftest(perftest::Session),
    Verbs(verbs::Session),
}

/// Handle with which a running session can be aborted.
#[derive(Clone, Debug)]
pub(super) enum Aborter {
    Perftest(perftest::Aborter),
    Verbs(verbs::Aborter),
}

impl FlowSession {
    /// Prepares flows before their start: all flows with perftest, only the earliest ones with verbs, which prepares
    /// later flows during the run.
    pub(super) async fn prepare(
        tool: Tool,
        jobs: Vec<FlowJob>,
        clock: Clock,
        events: UnboundedSender<Event>,
    ) -> Result<Self, RunError> {
        Ok(match tool {
            Tool::Verbs => Self::Verbs(verbs::Session::prepare(jobs, events).await?),
            Tool::SendBw | Tool::WriteBw | Tool::ReadBw => {
                let options = options(clock);
                let session = perftest::Session::prepare(jobs, &options, events);
                Self::Perftest(session.await?)
            }
        })
    }

    /// Returns a handle that can abort the session while it runs.
    pub(super) fn aborter(&self) -> Aborter {
        match self {
            Self::Perftest(session) => Aborter::Perftest(session.aborter()),
            Self::Verbs(session) => Aborter::Verbs(session.aborter()),
        }
    }

    /// Starts each flow at its offset from `start`, and waits for all flows. The outcomes are sent as events.
    pub(super) async fn run(self, start: MonotonicTime) -> Result<(), RunError> {
        match self {
            Self::Perftest(session) => drop(session.run(start).await?),
            Self::Verbs(session) => drop(session.run(start).await?),
        }
        Ok(())
    }
}

impl Aborter {
    /// Aborts every flow that has not ended.
    pub(super) fn abort(&self) {
        match self {
            Self::Perftest(aborter) => aborter.abort(),
            Self::Verbs(aborter) => aborter.abort(),
        }
    }
}

/// Returns the jobs for `flows` between the hosts of a lab. All flows must belong to one repetition.
pub(super) fn jobs(plan: &Plan, lab: &Lab, flows: &[&Flow]) -> Result<Vec<FlowJob>, RunError> {
    let hosts = (0..).map(NodeId).take(plan.nodes.len());
    let endpoints: Vec<Vec<Endpoint>> = hosts.map(|host| endpoints(plan, lab, host)).collect();
    jobs_between(plan, &endpoints, flows)
}

/// Returns the jobs for `flows`, which must belong to one repetition. `endpoints` contains, for each node, one endpoint
/// per address.
pub(super) fn jobs_between(
    plan: &Plan,
    endpoints: &[Vec<Endpoint>],
    flows: &[&Flow],
) -> Result<Vec<FlowJob>, RunError> {
    let of = |host: NodeId, addr: usize| {
        endpoints[host.index()]
            .get(addr)
            .cloned()
            .ok_or_else(|| RunError::NoEndpoint {
                host: plan.nodes[host.index()].name.clone(),
            })
    };
    let rdma = &plan.rdma;
    let job = |(flow, connection): (&&Flow, Connection)| {
        Ok(FlowJob {
            flow: flow.id,
            tool: rdma.tool,
            src: of(flow.src, connection.source_addr)?,
            dst: of(flow.dst, 0)?,
            message_bytes: flow.message_bytes,
            messages: flow.messages,
            start: flow.start_ns,
            qp_timeout: rdma.qp_timeout,
            path_mtu: rdma.path_mtu,
            traffic_class: rdma.traffic_class,
            flow_label: connection.flow_label,
            deadline: rdma.flow_deadline_ns,
        })
    };
    let connections = connections(rdma.tool, flows);
    flows.iter().zip(connections).map(job).collect()
}

/// Returns the options for perftest under `clock`.
fn options(clock: Clock) -> Options {
    match clock {
        // A virtual clock jumps while programs are read from disk, so time limits are meaningless.
        Clock::Virtual => Options {
            ready_within: None,
            ..Options::default()
        },
        Clock::Real => Options::default(),
    }
}

/// Returns the endpoints of a host, one for each of its addresses; empty if the host has no RDMA device.
fn endpoints(plan: &Plan, lab: &Lab, host: NodeId) -> Vec<Endpoint> {
    let node = &plan.nodes[host.index()];
    let found = node
        .addrs()
        .map_while(|addr| lab.host_endpoint_at(host, addr));
    let endpoint = |found: HostEndpoint| Endpoint {
        host: node.name.clone(),
        rdma_device: found.rdma_device,
        gid_index: found.gid_index,
        netns: found.netns,
    };
    found.map(endpoint).collect()
}
