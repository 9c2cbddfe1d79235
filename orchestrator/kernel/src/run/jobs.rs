//! Flows of the plan as jobs of perftest.

use lab_perftest::{Endpoint, FlowJob, Options};
use lab_plan::model::{Flow, Plan};
use lab_units::NodeId;

use super::RunError;
use crate::{Lab, lower::Clock};

/// Returns the jobs of `flows` between a lab's hosts.
pub(super) fn jobs<'a>(
    plan: &Plan,
    lab: &Lab,
    flows: impl IntoIterator<Item = &'a Flow>,
) -> Result<Vec<FlowJob>, RunError> {
    flows.into_iter().map(|flow| job(plan, lab, flow)).collect()
}

/// Returns the options of perftest on a lab's clock.
pub(super) fn options(lab: &Lab) -> Options {
    match lab.options().clock {
        // The clock jumps while programs are read from disk, so a limit means nothing.
        Clock::Virtual => Options {
            ready_within: None,
            ..Options::default()
        },
        Clock::Real => Options::default(),
    }
}

fn job(plan: &Plan, lab: &Lab, flow: &Flow) -> Result<FlowJob, RunError> {
    let rdma = &plan.rdma;
    Ok(FlowJob {
        flow: flow.id,
        tool: rdma.tool,
        src: endpoint(plan, lab, flow.src)?,
        dst: endpoint(plan, lab, flow.dst)?,
        message_bytes: flow.message_bytes,
        messages: flow.messages,
        start: flow.start_ns,
        qp_timeout: rdma.qp_timeout,
        path_mtu: rdma.path_mtu,
        traffic_class: rdma.traffic_class,
        deadline: rdma.flow_deadline_ns,
    })
}

fn endpoint(plan: &Plan, lab: &Lab, host: NodeId) -> Result<Endpoint, RunError> {
    let name = &plan.nodes[host.index()].name;
    let endpoint = lab.host_endpoint(host);
    let endpoint = endpoint.ok_or_else(|| RunError::NoEndpoint { host: name.clone() })?;
    Ok(Endpoint {
        host: name.clone(),
        rdma_device: endpoint.rdma_device,
        gid_index: endpoint.gid_index,
        netns: endpoint.netns,
    })
}
