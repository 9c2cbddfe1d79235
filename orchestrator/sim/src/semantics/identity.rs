//! Identities on the wire: addresses, ports, keys and seeds, computed once at set-up.

use lab_plan::{Flow, Plan, source_ports};
use lab_policy::FlowTuple;
use lab_units::NodeId;

use crate::time::SimTime;

/// Identities of flows and nodes.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    /// Identity of each flow, in the order given.
    pub flows: Vec<FlowIdentity>,
    /// Seed of each node's flow hash, by the plan's node id.
    pub hash_seeds: Vec<u32>,
    /// Largest bandwidth-delay product in bytes, from which windows are computed.
    pub largest_window: u64,
    /// Base RTT of every QP's congestion control; the flow's own if absent.
    pub common_base_rtt: Option<SimTime>,
    /// Order of equal next hops; the plan's if absent.
    pub next_hop_order: Option<NextHopOrder>,
}

/// Order of equal next hops at each node towards each host.
#[derive(Clone, Debug, Default)]
pub struct NextHopOrder {
    /// Neighbours in order, by node and destination host.
    pub neighbours: std::collections::BTreeMap<(NodeId, NodeId), Vec<NodeId>>,
}

/// Identity of a flow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FlowIdentity {
    /// Tuple of the data packets, input of the flow hash.
    pub data: FlowTuple,
    /// Tuple of the ACKs, input of the flow hash.
    pub ack: FlowTuple,
    /// Key of the data in flow tables.
    pub data_key: u64,
    /// Key of the ACKs in flow tables.
    pub ack_key: u64,
}

/// UDP port of RoCEv2.
const ROCE_PORT: u16 = 4791;

/// Returns identities with two unique keys per flow and the UDP ports of the kernel engine's QPs, so
/// that both engines hash the same tuples.
#[must_use]
pub(super) fn unique(plan: &Plan, flows: &[&Flow]) -> Vec<FlowIdentity> {
    let address = |node: NodeId| plan.nodes[node.index()].addr;
    let ports = source_ports(plan.rdma.tool, flows);
    let identity = |(index, (flow, sport)): (u64, (&&Flow, u16))| {
        let tuple = |from, to| FlowTuple {
            src: address(from),
            dst: address(to),
            sport,
            dport: ROCE_PORT,
        };
        FlowIdentity {
            data: tuple(flow.src, flow.dst),
            ack: tuple(flow.dst, flow.src),
            data_key: index * 2,
            ack_key: index * 2 + 1,
        }
    };
    (0u64..)
        .zip(flows.iter().zip(ports))
        .map(identity)
        .collect()
}
