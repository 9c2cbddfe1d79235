//! Identities of flows and nodes: addresses, ports, keys and hash seeds, computed once before a run.

use std::{collections::BTreeMap, net::Ipv4Addr};

use lab_plan::{Connection, Flow, Plan, connections};
use lab_policy::FlowTuple;
use lab_units::NodeId;
use rustc_hash::FxHashMap;

use crate::time::SimTime;

/// Identities of all flows and nodes of a run.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    /// Identity of each flow, in the order of the flows.
    pub flows: Vec<FlowIdentity>,
    /// Hash seed of each node, indexed by the plan's node id.
    pub hash_seeds: Vec<u32>,
    /// Largest bandwidth-delay product in bytes, to which the QPs' windows are proportional.
    pub largest_window: u64,
    /// Base RTT that the congestion control of every QP uses; `None` if each QP uses the base RTT of its flow.
    pub common_base_rtt: Option<SimTime>,
    /// Order of next hops with equal hop counts; `None` for the plan's order.
    pub next_hop_order: Option<NextHopOrder>,
}

/// Order of next hops with equal hop counts, by node and destination host.
#[derive(Clone, Debug, Default)]
pub struct NextHopOrder {
    /// Neighbours in their order, by node and destination host.
    pub neighbours: BTreeMap<(NodeId, NodeId), Vec<NodeId>>,
}

/// Addresses and keys of a flow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FlowIdentity {
    /// Five-tuple of the data packets, input to the flow hash.
    pub data: FlowTuple,
    /// Five-tuple of the ACKs, input to the flow hash.
    pub ack: FlowTuple,
    /// Key of the data packets in flow tables.
    pub data_key: u64,
    /// Key of the ACKs in flow tables.
    pub ack_key: u64,
}

/// UDP destination port of RoCEv2.
const ROCE_PORT: u16 = 4791;

/// Returns flow identities with the five-tuples that the kernel engine's connections have, so that both engines hash
/// and pin the same flows.
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

/// Number of each five-tuple in order of first use, which serves as its 64-bit key in flow tables.
#[derive(Debug, Default)]
struct TupleKeys(FxHashMap<(Ipv4Addr, Ipv4Addr, u16), u64>);

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
