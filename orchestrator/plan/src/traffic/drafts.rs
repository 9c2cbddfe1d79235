//! Flows before scaling, from lists in the scenario and from the artifact's flow files.

use std::collections::BTreeMap;

use lab_scenario::{FlowSpec, parse_flow_file};
use lab_units::{Bytes, Nanos, NodeId};

use crate::{error::PlanError, model::Role, network::Network};

/// Flow before scaling: hosts, and size and start at the paper's scale.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Draft {
    pub src: NodeId,
    pub dst: NodeId,
    pub size: Bytes,
    pub start: Nanos,
    /// True if the flow is from a list or a flow file, false if it is a workload's arrival.
    pub is_listed: bool,
}

/// Returns the flows of a list in the scenario.
pub(crate) fn listed(
    network: &Network,
    path: &str,
    specs: &[FlowSpec],
) -> Result<Vec<Draft>, PlanError> {
    let hosts = hosts_by_name(network);
    let draft = |(index, spec): (usize, &FlowSpec)| {
        let end = |key: &str, name: &String| {
            hosts
                .get(name.as_str())
                .copied()
                .ok_or_else(|| PlanError::Unknown {
                    path: format!("{path}.flows[{index}].{key}"),
                    what: "host",
                    name: name.clone(),
                    hint: host_hint(network, name),
                })
        };
        let src = end("from", &spec.from)?;
        let dst = end("to", &spec.to)?;
        if src == dst {
            return Err(PlanError::SelfFlow {
                path: format!("{path}.flows[{index}]"),
                host: spec.from.clone(),
            });
        }
        Ok(Draft {
            src,
            dst,
            size: spec.size,
            start: spec.start,
            is_listed: true,
        })
    };
    specs.iter().enumerate().map(draft).collect()
}

/// Reads the flows of `file`, a flow file of the artifact.
///
/// The file numbers hosts from 0, with 16 hosts per datacenter. 2 s, the start of the first flows in the artifact's
/// files, are subtracted from all starts unless a flow starts earlier.
pub(crate) fn from_file(
    network: &Network,
    path: &str,
    file: &str,
    text: &str,
) -> Result<Vec<Draft>, PlanError> {
    let flows = parse_flow_file(file, text).map_err(|source| PlanError::File {
        path: path.to_owned(),
        source,
    })?;
    let early = flows.iter().any(|flow| flow.start < FILE_EPOCH);
    let epoch = if early { Nanos::ZERO } else { FILE_EPOCH };
    let drafts = flows.iter().map(|flow| {
        let end = |host| file_host(network, file, flow.line, host);
        Ok(Draft {
            src: end(flow.src)?,
            dst: end(flow.dst)?,
            size: flow.size,
            start: flow.start.saturating_sub(epoch),
            is_listed: true,
        })
    });
    drafts.collect()
}

fn file_host(network: &Network, file: &str, line: usize, host: u32) -> Result<NodeId, PlanError> {
    let dc = host / FILE_HOSTS_PER_DC;
    let number = host % FILE_HOSTS_PER_DC;
    let index = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
    let known = network.dcs.get(index(dc));
    known
        .and_then(|dc| dc.hosts.get(index(number)).copied())
        .ok_or_else(|| PlanError::FlowFileHost {
            file: file.to_owned(),
            line,
            host,
            dc: dc + 1,
            number: number + 1,
            lack: match known {
                Some(dc) => format!("`{}` has {} hosts", dc.name, dc.hosts.len()),
                None => format!("the topology has {} datacenters", network.dcs.len()),
            },
        })
}

fn hosts_by_name(network: &Network) -> BTreeMap<&str, NodeId> {
    let nodes = (0u32..).map(NodeId).zip(&network.nodes);
    let hosts = nodes.filter(|(_, node)| node.role == Role::Host);
    hosts.map(|(id, node)| (node.name.as_str(), id)).collect()
}

fn host_hint(network: &Network, name: &str) -> String {
    let dc_name = name.split('/').next().unwrap_or(name);
    match network.dcs.iter().find(|dc| dc.name == dc_name) {
        None => String::new(),
        Some(dc) if dc.hosts.is_empty() => format!(" (hint: `{dc_name}` has no hosts)"),
        Some(dc) => {
            let count = dc.hosts.len();
            format!(" (hint: hosts of `{dc_name}` are `{dc_name}/h1` to `{dc_name}/h{count}`)")
        }
    }
}

/// Start of the first flow in the artifact's flow files.
const FILE_EPOCH: Nanos = Nanos::from_millis(2_000);

/// Number of hosts per datacenter in the artifact's topologies.
const FILE_HOSTS_PER_DC: u32 = 16;
