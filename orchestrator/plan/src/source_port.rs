//! UDP source ports of RoCEv2 connections, which switches hash, as Linux derives them.
//!
//! <https://github.com/torvalds/linux/blob/v6.1/include/rdma/ib_verbs.h>, `rdma_get_udp_sport`

use std::collections::BTreeMap;

use lab_units::{NodeId, Tool};

use crate::model::Flow;

/// Returns the flow label of each flow's queue pairs, in the order of `flows`, all of one repetition.
///
/// A verbs flow has a label of its own among the flows between its two hosts, and so a 5-tuple of its
/// own, until 16,383 flows have used all labels. perftest's queue pairs have no label, which is 0.
#[must_use]
pub fn flow_labels(tool: Tool, flows: &[&Flow]) -> Vec<u32> {
    let mut used: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
    let label = |flow: &&Flow| {
        if tool != Tool::Verbs {
            return 0;
        }
        let hosts = (flow.src.min(flow.dst), flow.src.max(flow.dst));
        let count = used.entry(hosts).or_default();
        *count = *count % LOW_BITS + 1;
        *count
    };
    flows.iter().map(label).collect()
}

/// Returns the UDP source port of both directions of each flow's connection, in the order of `flows`,
/// all of one repetition.
#[must_use]
pub fn source_ports(tool: Tool, flows: &[&Flow]) -> Vec<u16> {
    let mut next_qp: BTreeMap<NodeId, u64> = BTreeMap::new();
    let mut new_qp = |host: NodeId| {
        let next = next_qp.entry(host).or_insert(FIRST_QP);
        let qp = *next;
        *next += 1;
        qp
    };
    let labels = flow_labels(tool, flows);
    let port = |(flow, label): (&&Flow, u32)| match label {
        0 => port_of_qps(new_qp(flow.src), new_qp(flow.dst)),
        label => port_of_label(label.into()),
    };
    flows.iter().zip(labels).map(port).collect()
}

/// First QP number that rxe assigns: numbers start at 16 (`RXE_MIN_QP_INDEX`), which is the device's
/// management QP. A host creates its QPs in the order of its flows.
const FIRST_QP: u64 = 17;

/// Returns the port of two queue pairs without a flow label: their numbers' product, folded to a label.
fn port_of_qps(local: u64, remote: u64) -> u16 {
    let product = local.wrapping_mul(remote);
    let product = product ^ (product >> 20);
    port_of_label((product ^ (product >> 40)) & 0xf_ffff)
}

/// Returns the port of a label of 20 bits, folded to 14: `rdma_flow_label_to_udp_sport`.
fn port_of_label(label: u64) -> u16 {
    let folded = (label & u64::from(LOW_BITS)) ^ (label >> 14);
    0xc000 | u16::try_from(folded).unwrap_or(0)
}

/// Bits of a label that are a port's as they are.
const LOW_BITS: u32 = 0x3fff;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lab_units::{Bytes, FlowId, Nanos};

    use super::*;

    fn flow(src: u32, dst: u32) -> Flow {
        Flow {
            id: FlowId(0),
            repetition: 0,
            src: NodeId(src),
            dst: NodeId(dst),
            paper_size_bytes: Bytes::new(1),
            paper_start_ns: Nanos::ZERO,
            size_bytes: Bytes::new(1),
            messages: 1,
            message_bytes: Bytes::new(1),
            start_ns: Nanos::ZERO,
            base_rtt_ns: Nanos::ZERO,
            ideal_fct_ns: Nanos::ZERO,
        }
    }

    /// Ports measured on Linux 6.1.
    #[test]
    fn ports_of_queue_pairs_equal_the_kernels() {
        let seen = [((17, 17), 49_441), ((17, 18), 49_458), ((18, 18), 49_476)];
        for ((local, remote), port) in seen {
            assert_eq!(port_of_qps(local, remote), port);
            assert_eq!(port_of_qps(remote, local), port);
        }
        assert!(port_of_qps(0xff_ffff, 0xff_fffe) >= 0xc000);
    }

    #[test]
    fn verbs_flows_between_two_hosts_have_ports_of_their_own_both_ways() {
        let flows: Vec<Flow> = (0..16_383)
            .map(|n| if n % 2 == 0 { flow(1, 2) } else { flow(2, 1) })
            .collect();
        let flows: Vec<&Flow> = flows.iter().collect();
        let ports: BTreeSet<u16> = source_ports(Tool::Verbs, &flows).into_iter().collect();
        assert_eq!(ports.len(), 16_383);
        assert_eq!(ports.first(), Some(&0xc001));
        let again: Vec<&Flow> = flows.iter().chain(&flows[..1]).copied().collect();
        assert_eq!(
            flow_labels(Tool::Verbs, &again).last(),
            Some(&1),
            "labels begin again"
        );
        assert_eq!(flow_labels(Tool::SendBw, &again[..1]), [0]);
    }

    #[test]
    fn other_hosts_have_the_same_labels() {
        let flows = [flow(1, 2), flow(1, 3), flow(2, 1)];
        let flows: Vec<&Flow> = flows.iter().collect();
        assert_eq!(flow_labels(Tool::Verbs, &flows), [1, 1, 2]);
    }
}
