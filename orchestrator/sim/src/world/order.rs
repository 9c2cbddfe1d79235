//! The order of equal next hops that a routing table gives.

use lab_plan::Plan;
use lab_units::NodeId;

use super::ways::Way;
use crate::{
    network::{Network, count},
    semantics::NextHopOrder,
};

/// Puts equal next hops inside datacenters in the order given, where there is one.
pub(super) fn order_next_hops(network: &mut Network, order: &NextHopOrder) {
    let neighbours: Vec<NodeId> = (0..count(network.ports.len()))
        .map(|port| network.neighbour(port))
        .collect();
    for ((node, host), wanted) in &order.neighbours {
        let (node, host) = (network.node(*node), network.node(*host));
        network.order_next_hops(node, host, |&port| place(wanted, neighbours[port as usize]));
    }
}

/// Puts the ways of a switch to a datacenter in the order given for its first host.
pub(super) fn order_ways(
    plan: &Plan,
    network: &Network,
    node: NodeId,
    ways: &mut [Vec<Way>],
    order: &NextHopOrder,
) {
    for (ways, dc) in ways.iter_mut().zip(&plan.dcs) {
        let Some(host) = dc.hosts.first() else {
            continue;
        };
        if let Some(wanted) = order.neighbours.get(&(node, *host)) {
            ways.sort_by_key(|way| place(wanted, network.neighbour(way.port)));
        }
    }
}

/// Those that are not listed come last.
fn place(wanted: &[NodeId], node: NodeId) -> usize {
    let place = wanted.iter().position(|&other| other == node);
    place.unwrap_or(wanted.len())
}
