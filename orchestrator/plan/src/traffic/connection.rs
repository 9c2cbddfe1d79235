//! Five-tuples of RoCEv2 connections, which switches hash and use as keys of their flow tables.
//!
//! The UDP source port is derived as in Linux: <https://github.com/torvalds/linux/blob/v6.1/include/rdma/ib_verbs.h>,
//! `rdma_get_udp_sport`. It has 14 bits, so two hosts with more flows than ports need more addresses: each flow of a
//! repetition must have a different five-tuple.

use std::collections::BTreeMap;

use lab_units::{NodeId, Tool};

use crate::model::Flow;

/// Parts of a flow's five-tuple that distinguish flows between the same hosts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Connection {
    /// Flow label of both queue pairs. With label 0, as for perftest, the kernel derives the UDP source port from the
    /// queue pairs' numbers.
    pub flow_label: u32,
    /// UDP source port of both the data and the ACKs.
    pub source_port: u16,
    /// Index of the source address in [`Node::addrs`](crate::Node::addrs).
    pub source_addr: usize,
}

/// Returns the connections of `flows`, all flows of one repetition, in the same order.
///
/// Flows between the same two hosts, in either direction, that get the same UDP source port are numbered; the n-th of
/// these flows uses the n-th address of its source host.
#[must_use]
pub fn connections(tool: Tool, flows: &[&Flow]) -> Vec<Connection> {
    let mut next_qp: BTreeMap<NodeId, u64> = BTreeMap::new();
    let mut new_qp = |host: NodeId| {
        let next = next_qp.entry(host).or_insert(FIRST_QP);
        let qp = *next;
        *next += 1;
        qp
    };
    let mut on_port: BTreeMap<(NodeId, NodeId, u16), usize> = BTreeMap::new();
    let connection = |(flow, flow_label): (&&Flow, u32)| {
        let source_port = match flow_label {
            0 => port_of_qps(new_qp(flow.src), new_qp(flow.dst)),
            label => port_of_label(label.into()),
        };
        let (one, other) = hosts(flow);
        let before = on_port.entry((one, other, source_port)).or_default();
        let source_addr = *before;
        *before += 1;
        Connection {
            flow_label,
            source_port,
            source_addr,
        }
    };
    let labels = flow_labels(tool, flows);
    flows.iter().zip(labels).map(connection).collect()
}

/// Returns the flow label of each flow. Verbs flows between two hosts cycle through all labels; perftest's queue pairs
/// have no label, written as 0.
fn flow_labels(tool: Tool, flows: &[&Flow]) -> Vec<u32> {
    let mut used: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
    let label = |flow: &&Flow| {
        if tool != Tool::Verbs {
            return 0;
        }
        let count = used.entry(hosts(flow)).or_default();
        *count = *count % LOW_BITS + 1;
        *count
    };
    flows.iter().map(label).collect()
}

/// Returns a flow's two hosts in the same order for both directions, because ACKs have the same addresses as data in
/// the opposite direction.
fn hosts(flow: &Flow) -> (NodeId, NodeId) {
    (flow.src.min(flow.dst), flow.src.max(flow.dst))
}

/// First number that rxe gives to a flow's queue pair. Number 16 (`RXE_MIN_QP_INDEX`) is the device's management QP. A
/// host creates QPs in the order of its flows.
const FIRST_QP: u64 = 17;

/// Returns the UDP source port of two queue pairs without a flow label: the product of their numbers, folded to a
/// 20-bit flow label, from which the port follows.
fn port_of_qps(local: u64, remote: u64) -> u16 {
    let product = local.wrapping_mul(remote);
    let product = product ^ (product >> 20);
    port_of_label((product ^ (product >> 40)) & 0xf_ffff)
}

/// Returns the UDP source port of a 20-bit flow label, folded to 14 bits: `rdma_flow_label_to_udp_sport`.
fn port_of_label(label: u64) -> u16 {
    let folded = (label & u64::from(LOW_BITS)) ^ (label >> 14);
    MIN_SOURCE_PORT | u16::try_from(folded).unwrap_or(0)
}

/// Lowest UDP source port of RoCE v2 (`ib_verbs.h`, `IB_ROCE_UDP_ENCAP_VALID_PORT_MIN`).
pub const MIN_SOURCE_PORT: u16 = 0xc000;

/// Mask of the label bits that the UDP source port contains unchanged; also the number of labels that verbs flows use.
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
            is_listed: true,
        }
    }

    /// Returns the number of flows whose data or ACKs have the same five-tuple as another flow's data or ACKs.
    fn repeated(tool: Tool, flows: &[Flow]) -> usize {
        let flows: Vec<&Flow> = flows.iter().collect();
        let mut tuples = BTreeSet::new();
        let is_repeated = |(flow, connection): &(&&Flow, Connection)| {
            let port = connection.source_port;
            let src = (flow.src, connection.source_addr);
            let dst = (flow.dst, 0);
            !tuples.insert((src, dst, port)) | !tuples.insert((dst, src, port))
        };
        let connections = connections(tool, &flows);
        flows.iter().zip(connections).filter(is_repeated).count()
    }

    /// The expected ports were measured on Linux 6.1.
    #[test]
    fn ports_of_queue_pairs_equal_the_kernels() {
        let seen = [((17, 17), 49_441), ((17, 18), 49_458), ((18, 18), 49_476)];
        for ((local, remote), port) in seen {
            assert_eq!(port_of_qps(local, remote), port);
            assert_eq!(port_of_qps(remote, local), port);
        }
        assert!(port_of_qps(0xff_ffff, 0xff_fffe) >= 0xc000);
    }

    /// 100,000 flows are 1,702 more than six times the 16,383 labels, so the last flow has the seventh address as its
    /// source; the first 16,383 flows have the hosts' own addresses.
    #[test]
    fn no_two_of_a_hundred_thousand_flows_between_two_hosts_have_one_five_tuple() {
        let both_ways: Vec<Flow> = (0..100_000)
            .map(|n| if n % 2 == 0 { flow(1, 2) } else { flow(2, 1) })
            .collect();
        assert_eq!(repeated(Tool::Verbs, &both_ways), 0);
        let flows: Vec<&Flow> = both_ways.iter().collect();
        let connections = connections(Tool::Verbs, &flows);
        let addrs = |at: usize| connections[at].source_addr;
        assert_eq!([0, 16_382, 16_383, 99_999].map(addrs), [0, 0, 1, 6]);
        let labels = [0, 16_382, 16_383].map(|at: usize| connections[at].flow_label);
        assert_eq!(labels, [1, 16_383, 1]);
        assert_eq!(connections[0].source_port, 0xc001);
    }

    /// The ports of perftest's queue pairs are effectively random. Of 2,000 flows between two hosts, about 2,000² / 2 /
    /// 16,384 = 122 have the same port as another flow.
    #[test]
    fn perftest_flows_whose_ports_meet_have_different_addresses() {
        let flows: Vec<Flow> = (0..2_000).map(|_| flow(1, 2)).collect();
        assert_eq!(repeated(Tool::SendBw, &flows), 0);
        let flows: Vec<&Flow> = flows.iter().collect();
        let connections = connections(Tool::SendBw, &flows);
        let met = connections.iter().filter(|it| it.source_addr > 0).count();
        assert!((60..400).contains(&met), "{met}");
        assert!(connections.iter().all(|it| it.flow_label == 0));
    }

    #[test]
    fn other_hosts_have_the_same_labels() {
        let [a, b, c] = [flow(1, 2), flow(1, 3), flow(2, 1)];
        assert_eq!(flow_labels(Tool::Verbs, &[&a, &b, &c]), [1, 1, 2]);
    }
}
