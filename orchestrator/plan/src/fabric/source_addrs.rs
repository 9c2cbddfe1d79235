//! Additional source addresses for hosts whose flows to one destination outnumber the five-tuples of an address pair.

use lab_units::{DcId, NodeId, Tool};

use crate::{
    address::{self, NodePosition},
    connection::connections,
    error::PlanError,
    model::{Flow, Role, Route},
    network::Network,
};

/// Adds source addresses to hosts, as many as the [`connections`] of `flows` need over all repetitions. Nodes in the
/// same datacenter get routes to these addresses.
pub(crate) fn add(network: &mut Network, tool: Tool, flows: &[Flow]) -> Result<(), PlanError> {
    let further = further_addrs(network.nodes.len(), tool, flows);
    for dc in 0..network.dcs.len() {
        add_in_dc(network, dc, &further)?;
    }
    Ok(())
}

/// Returns the number of additional source addresses that each node needs.
fn further_addrs(nodes: usize, tool: Tool, flows: &[Flow]) -> Vec<usize> {
    let mut further = vec![0; nodes];
    for repetition in flows.chunk_by(|one, next| one.repetition == next.repetition) {
        let repetition: Vec<&Flow> = repetition.iter().collect();
        for (flow, connection) in repetition.iter().zip(connections(tool, &repetition)) {
            let of_source = &mut further[flow.src.index()];
            *of_source = connection.source_addr.max(*of_source);
        }
    }
    further
}

/// Assigns additional addresses to a datacenter's hosts, numbered after the hosts' own addresses.
fn add_in_dc(network: &mut Network, dc: usize, further: &[usize]) -> Result<(), PlanError> {
    let hosts = network.dcs[dc].hosts.clone();
    let too_many = |object, what, count: usize, max: u32| PlanError::TooMany {
        object,
        what,
        count: u64::try_from(count).unwrap_or(u64::MAX),
        max: u64::from(max),
    };
    let mut used = hosts.len();
    for &host in &hosts {
        let count = further[host.index()];
        if count >= usize::from(address::MAX_HOST_ADDRS) {
            let object = format!("host `{}`", network.node(host).name);
            let what = "source addresses (every 16,383 flows to the same host need one)";
            let max = address::MAX_HOST_ADDRS.into();
            return Err(too_many(object, what, count + 1, max));
        }
        used += count;
    }
    if used > usize::try_from(address::MAX_HOSTS).unwrap_or(usize::MAX) {
        let object = format!("datacenter `{}`", network.dcs[dc].name);
        let what = "host addresses (every 16,383 flows between the same two hosts need one)";
        return Err(too_many(object, what, used, address::MAX_HOSTS));
    }
    let mut numbers = 1 + u32::try_from(hosts.len()).unwrap_or(u32::MAX)..;
    for host in hosts {
        for number in numbers.by_ref().take(further[host.index()]) {
            let position = NodePosition {
                dc: DcId::from_index(dc).expect("datacenters are numbered in 32 bits"),
                role: Role::Host,
                number,
            };
            add_addr(network, host, position.addr());
        }
    }
    Ok(())
}

/// Adds `addr` to a host. Every node with a route to the host's own address gets an equal route to `addr`.
fn add_addr(network: &mut Network, host: NodeId, addr: std::net::Ipv4Addr) {
    let own = address::single(network.node(host).addr);
    for node in &mut network.nodes {
        let to_host = node.routes.iter().filter(|route| route.to == own);
        let further: Vec<Route> = to_host
            .map(|route| Route {
                to: address::single(addr),
                via: route.via.clone(),
            })
            .collect();
        node.routes.extend(further);
    }
    network.nodes[host.index()].further_addrs.push(addr);
}
