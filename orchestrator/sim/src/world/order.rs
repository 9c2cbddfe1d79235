//! Order of equal next hops, from a routing table.

use lab_units::NodeId;

use crate::{
    network::{Network, count},
    semantics::NextHopOrder,
};

/// Sorts the next hops of equal hop count inside datacenters into the given order.
pub(super) fn order_next_hops(network: &mut Network, order: &NextHopOrder) {
    let neighbours: Vec<NodeId> = (0..count(network.ports.len()))
        .map(|port| network.neighbour(port))
        .collect();
    for ((node, host), wanted) in &order.neighbours {
        let node = network.node(*node);
        let host = network.node(*host);
        network.order_next_hops(node, host, |&port| rank(wanted, neighbours[port as usize]));
    }
}

/// Returns the position of `node` in `wanted`; nodes that are not in `wanted` come last.
pub(super) fn rank(wanted: &[NodeId], node: NodeId) -> usize {
    wanted
        .iter()
        .position(|&other| other == node)
        .unwrap_or(wanted.len())
}
