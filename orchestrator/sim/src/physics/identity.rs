//! Who is who on the wire: addresses, ports, keys and seeds, looked up once at set-up.

use lab_plan::{Flow, Plan};
use lab_policy::FlowTuple;
use lab_units::NodeId;

use crate::time::SimTime;

/// What flows and switches are known by.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    /// One for each flow, in the order given.
    pub flows: Vec<FlowIdentity>,
    /// Seed of each node's hash, by the plan's node id.
    pub hash_seeds: Vec<u32>,
    /// The largest bandwidth-delay product, which windows are made of.
    pub largest_window: u64,
    /// The round trip that every QP's congestion control starts from; its own flow's if absent.
    pub common_base_rtt: Option<SimTime>,
    /// For each node of the plan that needs one: its ports in the order in which equal next hops
    /// are tabled, by destination host.
    pub next_hop_order: Option<NextHopOrder>,
}

/// The order of equal next hops at a node towards a host.
#[derive(Clone, Debug, Default)]
pub struct NextHopOrder {
    /// By (node, destination host): neighbours in order.
    pub neighbours: std::collections::BTreeMap<(NodeId, NodeId), Vec<NodeId>>,
}

/// What a flow is known by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FlowIdentity {
    /// What its data packets are hashed by.
    pub data: FlowTuple,
    /// What its ACKs are hashed by.
    pub ack: FlowTuple,
    /// Key of its data in flow tables.
    pub data_key: u64,
    /// Key of its ACKs in flow tables.
    pub ack_key: u64,
}

/// UDP port of RoCEv2.
const ROCE_PORT: u16 = 4791;

/// Every flow has two keys of its own, and RoCEv2's ports: the source port stands for the QP, as
/// rxe and NICs make it, the destination port is always the same.
#[must_use]
pub(super) fn unique(plan: &Plan, flows: &[&Flow]) -> Vec<FlowIdentity> {
    let address = |node: NodeId| plan.nodes[node.index()].addr;
    let identity = |(place, flow): (u64, &&Flow)| {
        let tuple = |from, to, qp: u64| FlowTuple {
            src: address(from),
            dst: address(to),
            sport: source_port(qp),
            dport: ROCE_PORT,
        };
        FlowIdentity {
            data: tuple(flow.src, flow.dst, place * 2),
            ack: tuple(flow.dst, flow.src, place * 2 + 1),
            data_key: place * 2,
            ack_key: place * 2 + 1,
        }
    };
    (0u64..).zip(flows).map(identity).collect()
}

/// The dynamic port of a QP: 14 bits of a hash of its number (RFC 6335; rxe does the same).
fn source_port(qp: u64) -> u16 {
    // Fibonacci hashing: the top bits of the number times 2^64 over the golden ratio.
    let hash = qp.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
    0xc000 | u16::try_from(hash).unwrap_or(0)
}
