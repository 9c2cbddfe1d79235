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

/// Every flow has two keys of its own, and the ports that the kernel engine's QPs have: what is
/// hashed in one engine is what is hashed in the other.
#[must_use]
pub(super) fn unique(plan: &Plan, flows: &[&Flow]) -> Vec<FlowIdentity> {
    let address = |node: NodeId| plan.nodes[node.index()].addr;
    let mut next_qp = vec![FIRST_QP; plan.nodes.len()];
    let mut new_qp = |host: NodeId| {
        let next = &mut next_qp[host.index()];
        let qp = *next;
        *next += 1;
        qp
    };
    let identity = |(place, flow): (u64, &&Flow)| {
        let sport = source_port(new_qp(flow.src), new_qp(flow.dst));
        let tuple = |from, to| FlowTuple {
            src: address(from),
            dst: address(to),
            sport,
            dport: ROCE_PORT,
        };
        FlowIdentity {
            data: tuple(flow.src, flow.dst),
            ack: tuple(flow.dst, flow.src),
            data_key: place * 2,
            ack_key: place * 2 + 1,
        }
    };
    (0u64..).zip(flows).map(identity).collect()
}

/// The first QP number that rxe gives a program: it counts on from 16 (`RXE_MIN_QP_INDEX`), which is
/// the device's own for management. A host's QPs are made in the order of its flows.
const FIRST_QP: u64 = 17;

/// The source port of both directions of a connection, from its QP numbers: `rdma_get_udp_sport`
/// without a flow label, <https://github.com/torvalds/linux/blob/v6.1/include/rdma/ib_verbs.h>.
fn source_port(local_qp: u64, remote_qp: u64) -> u16 {
    let product = local_qp.wrapping_mul(remote_qp);
    let product = product ^ (product >> 20);
    let label = (product ^ (product >> 40)) & 0xf_ffff;
    let folded = (label & 0x3fff) ^ (label >> 14);
    0xc000 | u16::try_from(folded).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen in a lab on Linux 6.1.
    #[test]
    fn ports_are_those_of_the_kernels_qps() {
        let seen = [((17, 17), 49_441), ((17, 18), 49_458), ((18, 18), 49_476)];
        for ((local, remote), port) in seen {
            assert_eq!(source_port(local, remote), port);
            assert_eq!(source_port(remote, local), port);
        }
    }

    #[test]
    fn large_qp_numbers_stay_among_the_dynamic_ports() {
        assert!(source_port(0xff_ffff, 0xff_fffe) >= 0xc000);
    }
}
