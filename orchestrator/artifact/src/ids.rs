//! The artifact's node numbers and its keys of flows.

use std::{collections::BTreeMap, net::Ipv4Addr};

use lab_plan::{Plan, Role};
use lab_policy::FlowTuple;
use lab_units::NodeId;

use crate::error::ArtifactErrorKind;

/// Mapping between a plan's nodes and the artifact's node numbers: hosts come first, then leaves, spines and DCI
/// switches, each in the order of datacenters.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NodeIds {
    /// The artifact's node numbers, indexed by the plan's node ids.
    theirs: Vec<u32>,
    /// The plan's node ids, indexed by the artifact's node numbers.
    ours: Vec<NodeId>,
}

impl NodeIds {
    /// Returns the mapping for the nodes in `plan`.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let mut theirs = vec![0; plan.nodes.len()];
        let mut ours = Vec::with_capacity(plan.nodes.len());
        let mut next = 0;
        for role in [Role::Host, Role::Leaf, Role::Spine, Role::DciSwitch] {
            // The plan lists the nodes of each role in the order of datacenters.
            let nodes = (0u32..).map(NodeId).zip(&plan.nodes);
            for (id, _) in nodes.filter(|(_, node)| node.role == role) {
                theirs[id.index()] = next;
                ours.push(id);
                next += 1;
            }
        }
        Self { theirs, ours }
    }

    /// Returns the artifact's number for the plan's node `ours`.
    #[must_use]
    pub fn theirs(&self, ours: NodeId) -> u32 {
        self.theirs[ours.index()]
    }

    /// Returns the plan's id for the artifact's node `theirs`; fails if the plan has no such node.
    pub fn ours(&self, theirs: u32) -> Result<NodeId, ArtifactErrorKind> {
        let place = usize::try_from(theirs).unwrap_or(usize::MAX);
        self.ours
            .get(place)
            .copied()
            .ok_or(ArtifactErrorKind::NotInPlan { id: theirs })
    }

    /// Returns the addresses and ports in the data packets of each flow, in start order. `flows` gives source and
    /// destination of each flow; the source port distinguishes flows between the same two hosts.
    #[must_use]
    pub fn flow_tuples(&self, flows: impl Iterator<Item = (NodeId, NodeId)>) -> Vec<FlowTuple> {
        let mut ports: BTreeMap<(NodeId, NodeId), u16> = BTreeMap::new();
        let tuple = |(src, dst)| {
            let port = ports.entry((src, dst)).or_insert(FIRST_PORT);
            let sport = *port;
            *port = port.wrapping_add(1);
            FlowTuple {
                src: address(self.theirs(src)),
                dst: address(self.theirs(dst)),
                sport,
                dport: PORT,
            }
        };
        flows.map(tuple).collect()
    }
}

/// Returns the address of a host: 11.0.0.1, with the node's number in the two middle bytes (11.N/256.N%256.1).
#[must_use]
pub fn address(node: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0b00_0001 + ((node / 256) << 16) + ((node % 256) << 8))
}

/// Returns the 5-tuple of a flow's ACKs.
#[must_use]
pub const fn ack_tuple(data: FlowTuple) -> FlowTuple {
    FlowTuple {
        src: data.dst,
        dst: data.src,
        sport: data.dport,
        dport: data.sport,
    }
}

/// Returns the key of a flow in a DCI switch's flow table; the key has only 32 bits instead of 96.
///
/// All but the last 16 bits of the source address are shifted out, and the last eight of these 16 bits are equal for
/// all hosts. The upper eight bits are combined with the destination's first byte, `0x0b`, so that bits 0, 1 and 3 of
/// the source's node number are lost. So eight of a datacenter's sixteen hosts share each key.
#[must_use]
pub fn flow_key(flow: FlowTuple) -> u32 {
    let ports = u32::from(flow.sport ^ flow.dport);
    (flow.src.to_bits() << 16) | (flow.dst.to_bits() ^ ports)
}

/// Destination port of data packets, and source port of ACKs.
pub const PORT: u16 = 100;

/// Source port of the first flow between two hosts.
const FIRST_PORT: u16 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(src: u32, dst: u32, sport: u16) -> FlowTuple {
        FlowTuple {
            src: address(src),
            dst: address(dst),
            sport,
            dport: PORT,
        }
    }

    #[test]
    fn addresses_are_those_of_the_published_outputs() {
        assert_eq!(address(15).to_bits(), 0x0b00_0f01);
        assert_eq!(address(120).to_bits(), 0x0b00_7801);
        assert_eq!(address(286).to_bits(), 0x0b01_1e01);
    }

    #[test]
    fn eight_hosts_of_sixteen_share_a_key() {
        let key = |src| flow_key(flow(src, 120, 10_000));
        for sharing in [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]] {
            assert!(sharing.iter().all(|&src| key(src) == key(sharing[0])));
        }
        assert_ne!(key(0), key(4));
        assert_ne!(key(0), flow_key(flow(0, 120, 10_001)));
        assert_ne!(key(0), flow_key(flow(0, 121, 10_000)));
    }

    #[test]
    fn an_acks_key_is_that_of_data_the_other_way() {
        let data = flow(3, 120, 10_007);
        let reverse = FlowTuple {
            src: data.dst,
            dst: data.src,
            ..data
        };
        assert_eq!(flow_key(ack_tuple(data)), flow_key(reverse));
        assert_eq!(ack_tuple(ack_tuple(data)), data);
    }
}
