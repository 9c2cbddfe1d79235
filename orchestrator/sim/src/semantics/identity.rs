//! Identities on the wire: addresses, ports, keys and seeds, which are computed once before a run.

use std::{collections::BTreeMap, net::Ipv4Addr};

use lab_plan::{Connection, Flow, Plan, connections};
use lab_policy::FlowTuple;
use lab_units::NodeId;

use crate::time::SimTime;

/// Identities of flows and nodes.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    /// Identity of each flow, in the order in which the flows were passed.
    pub flows: Vec<FlowIdentity>,
    /// Seed of each node's flow hash, by the plan's node id.
    pub hash_seeds: Vec<u32>,
    /// Largest bandwidth-delay product in bytes, which limits windows.
    pub largest_window: u64,
    /// Base RTT for every QP's congestion control; `None` for the base RTT of each flow.
    pub common_base_rtt: Option<SimTime>,
    /// Order of equal next hops; `None` for the plan's order.
    pub next_hop_order: Option<NextHopOrder>,
}

/// Order of equal next hops at each node towards each host.
#[derive(Clone, Debug, Default)]
pub struct NextHopOrder {
    /// Neighbours in order, by node and destination host.
    pub neighbours: BTreeMap<(NodeId, NodeId), Vec<NodeId>>,
}

/// Identity of a flow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FlowIdentity {
    /// Tuple of the data packets, input to the flow hash.
    pub data: FlowTuple,
    /// Tuple of the ACKs, input to the flow hash.
    pub ack: FlowTuple,
    /// Key of the data in flow tables.
    pub data_key: u64,
    /// Key of the ACKs in flow tables.
    pub ack_key: u64,
}

/// UDP port of RoCEv2.
const ROCE_PORT: u16 = 4791;

/// Returns the identities of the kernel engine's connections, keyed by their five-tuples, so that both engines hash and
/// pin the same flows.
#[must_use]
pub(super) fn of_connections(plan: &Plan, flows: &[&Flow]) -> Vec<FlowIdentity> {
    let connections = connections(plan.rdma.tool, flows);
    let mut keys = TupleKeys::default();
    let identity = |(flow, connection): (&&Flow, Connection)| {
        let source = &plan.nodes[flow.src.index()];
        let src = source
            .addrs()
            .nth(connection.source_addr)
            .unwrap_or(source.addr);
        let dst = plan.nodes[flow.dst.index()].addr;
        let tuple = |src: Ipv4Addr, dst: Ipv4Addr| FlowTuple {
            src,
            dst,
            sport: connection.source_port,
            dport: ROCE_PORT,
        };
        let data = tuple(src, dst);
        let ack = tuple(dst, src);
        FlowIdentity {
            data,
            ack,
            data_key: keys.of(data),
            ack_key: keys.of(ack),
        }
    };
    flows.iter().zip(connections).map(identity).collect()
}

/// Numbers of five-tuples by first use, which serve as the flow tables' 64-bit keys.
#[derive(Debug, Default)]
struct TupleKeys(BTreeMap<(Ipv4Addr, Ipv4Addr, u16), u64>);

impl TupleKeys {
    fn of(&mut self, tuple: FlowTuple) -> u64 {
        let next = self.0.len() as u64;
        *self
            .0
            .entry((tuple.src, tuple.dst, tuple.sport))
            .or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tuple_has_one_key() {
        let tuple = |sport| FlowTuple {
            src: Ipv4Addr::new(10, 0, 16, 1),
            dst: Ipv4Addr::new(10, 0, 32, 1),
            sport,
            dport: ROCE_PORT,
        };
        let mut keys = TupleKeys::default();
        assert_eq!([1, 2, 1].map(|sport| keys.of(tuple(sport))), [0, 1, 0]);
    }
}
