//! Identities on the wire: addresses, ports, keys and seeds, computed once at set-up.

use lab_plan::{Flow, Plan};
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
    let mut next_qp = vec![FIRST_QP; plan.nodes.len()];
    let mut new_qp = |host: NodeId| {
        let next = &mut next_qp[host.index()];
        let qp = *next;
        *next += 1;
        qp
    };
    let identity = |(index, flow): (u64, &&Flow)| {
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
            data_key: index * 2,
            ack_key: index * 2 + 1,
        }
    };
    (0u64..).zip(flows).map(identity).collect()
}

/// First QP number that rxe assigns: numbers start at 16 (`RXE_MIN_QP_INDEX`), which is the device's
/// management QP. A host creates its QPs in the order of its flows.
const FIRST_QP: u64 = 17;

/// Returns the UDP source port of both directions of a connection: `rdma_get_udp_sport` without a flow
/// label, <https://github.com/torvalds/linux/blob/v6.1/include/rdma/ib_verbs.h>.
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

    /// Ports measured on Linux 6.1.
    #[test]
    fn source_ports_equal_the_kernels() {
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
