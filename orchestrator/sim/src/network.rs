//! Network of a plan, in the simulator's own numbering.
//!
//! Nodes are numbered datacenter by datacenter, and ports node by node, so that each partition owns one range of nodes
//! and one of ports.

use std::ops::Range;

use lab_plan::{Flow, Plan, Role};
use lab_units::{BitsPerSec, DcId, NodeId, PortId};

use crate::{error::SimError, time::SimTime};

/// Static network of a run: nodes, ports and routes.
#[derive(Clone, Debug)]
pub struct Network {
    /// Nodes, ordered by datacenter.
    pub nodes: Vec<Node>,
    pub ports: Vec<PortFacts>,
    /// Ranges of nodes and ports of each datacenter.
    pub dcs: Vec<DcRanges>,
    /// Datacenter of each host, indexed by [`Node::host`].
    pub host_dcs: Vec<u32>,
    /// Simulator's number of each node, indexed by its id in the plan.
    sim_node: Vec<u32>,
    /// Simulator's number of each port, indexed by its id in the plan.
    sim_port: Vec<u32>,
    /// Range in `next_hops` that holds a node's next hops towards a host, at index node · hosts + host.
    hops: Vec<Range<u32>>,
    next_hops: Vec<u32>,
}

/// Node in the simulator's numbering.
#[derive(Clone, Debug)]
pub struct Node {
    /// Node id in the plan.
    pub plan: NodeId,
    pub role: Role,
    pub dc: u32,
    /// Numbers of the node's ports.
    pub ports: Range<u32>,
    /// Index among all hosts; meaningful only if the node is a host.
    pub host: u16,
}

/// Static facts of a port.
#[derive(Clone, Copy, Debug)]
pub struct PortFacts {
    /// Port id in the plan.
    pub plan: PortId,
    /// Number of the node to which the port belongs.
    pub node: u32,
    /// Number of the port at the other end of the link.
    pub peer: u32,
    /// Datacenter of the node at the other end of the link.
    pub peer_dc: u32,
}

/// Nodes and ports of one datacenter, as ranges of numbers.
#[derive(Clone, Debug)]
pub struct DcRanges {
    pub nodes: Range<u32>,
    pub ports: Range<u32>,
}

impl Network {
    /// Creates the network of `plan` in the simulator's numbering.
    ///
    /// # Errors
    /// Fails if some switch has no route to a host, or if there are more hosts than a packet can address.
    pub fn new(plan: &Plan) -> Result<Self, SimError> {
        let mut order: Vec<_> = (0u32..).map(NodeId).take(plan.nodes.len()).collect();
        order.sort_by_key(|&id| (plan.nodes[id.index()].dc, id));
        let mut sim_node = vec![0; plan.nodes.len()];
        let mut sim_port = vec![0; plan.ports.len()];
        let mut nodes = Vec::with_capacity(order.len());
        let mut port_order = Vec::with_capacity(plan.ports.len());
        let mut host_dcs = Vec::new();
        for id in order {
            let node = &plan.nodes[id.index()];
            sim_node[id.index()] = count(nodes.len());
            let first = count(port_order.len());
            for &port in &node.ports {
                sim_port[port.index()] = count(port_order.len());
                port_order.push(port);
            }
            let hosts = host_dcs.len();
            nodes.push(Node {
                plan: id,
                role: node.role,
                dc: node.dc.0,
                ports: first..count(port_order.len()),
                host: u16::try_from(hosts).map_err(|_| SimError::TooManyHosts)?,
            });
            if node.role == Role::Host {
                host_dcs.push(node.dc.0);
            }
        }
        let ports: Vec<_> = port_order
            .iter()
            .map(|&port| PortFacts {
                plan: port,
                node: sim_node[plan.ports[port.index()].node.index()],
                peer: sim_port[port.peer().index()],
                peer_dc: plan.nodes[plan.ports[port.peer().index()].node.index()]
                    .dc
                    .0,
            })
            .collect();
        let dcs = dc_ranges(plan, &nodes);
        let mut network = Self {
            nodes,
            ports,
            dcs,
            host_dcs,
            sim_node,
            sim_port,
            hops: Vec::new(),
            next_hops: Vec::new(),
        };
        network.find_next_hops(plan)?;
        Ok(network)
    }

    /// Converts a node id of the plan to the simulator's number.
    #[must_use]
    pub fn node(&self, id: NodeId) -> u32 {
        self.sim_node[id.index()]
    }

    /// Converts a port id of the plan to the simulator's number.
    #[must_use]
    pub fn port(&self, id: PortId) -> u32 {
        self.sim_port[id.index()]
    }

    /// Returns the plan's id of the node at the other end of `port`'s link.
    #[must_use]
    pub fn neighbour(&self, port: u32) -> NodeId {
        let peer = self.ports[port as usize].peer;
        self.nodes[self.ports[peer as usize].node as usize].plan
    }

    /// Returns the ports of `node` towards the host with node number `host`. Empty at a DCI switch if the host is in
    /// another datacenter, because the policy decides there.
    #[inline]
    #[must_use]
    pub fn next_hops(&self, node: u32, host: u32) -> &[u32] {
        self.next_hops_to(node, self.nodes[host as usize].host)
    }

    /// Returns the ports of `node` towards the host with host index `host`.
    #[inline]
    #[must_use]
    pub fn next_hops_to(&self, node: u32, host: u16) -> &[u32] {
        let range = &self.hops[self.index_of_hops(node, host)];
        &self.next_hops[range.start as usize..range.end as usize]
    }

    #[inline]
    fn index_of_hops(&self, node: u32, host: u16) -> usize {
        node as usize * self.host_dcs.len() + usize::from(host)
    }

    /// Sorts the next hops of `node` towards `host` by `key`.
    pub fn order_next_hops<K: Ord>(&mut self, node: u32, host: u32, key: impl FnMut(&u32) -> K) {
        let host = self.nodes[host as usize].host;
        let range = self.hops[self.index_of_hops(node, host)].clone();
        self.next_hops[range.start as usize..range.end as usize].sort_by_key(key);
    }

    /// Returns the numbers of all nodes with `role`.
    pub fn of_role(&self, role: Role) -> impl Iterator<Item = u32> {
        (0u32..)
            .zip(&self.nodes)
            .filter(move |(_, node)| node.role == role)
            .map(|(id, _)| id)
    }

    fn find_next_hops(&mut self, plan: &Plan) -> Result<(), SimError> {
        let hosts: Vec<u32> = self.of_role(Role::Host).collect();
        for node in 0..count(self.nodes.len()) {
            for &host in &hosts {
                let first = count(self.next_hops.len());
                let hops = self.hops_towards(plan, node, host)?;
                self.next_hops.extend(hops);
                self.hops.push(first..count(self.next_hops.len()));
            }
        }
        Ok(())
    }

    fn hops_towards(&self, plan: &Plan, node: u32, host: u32) -> Result<Vec<u32>, SimError> {
        let at = &self.nodes[node as usize];
        let to = &self.nodes[host as usize];
        let is_decided = at.role == Role::DciSwitch && at.dc != to.dc;
        if node == host || is_decided {
            return Ok(Vec::new());
        }
        if at.role == Role::Host {
            return Ok(vec![at.ports.start]);
        }
        let at = &plan.nodes[at.plan.index()];
        let to = &plan.nodes[to.plan.index()];
        let address = to.addr.to_bits();
        let matching = at.routes.iter().filter(|route| {
            let host_bits = 32 - u32::from(route.to.len);
            (u64::from(address ^ route.to.addr.to_bits())) >> host_bits == 0
        });
        let best = matching
            .max_by_key(|route| route.to.len)
            .ok_or_else(|| SimError::NoRoute {
                node: at.name.clone(),
                host: to.name.clone(),
            })?;
        Ok(best.via.iter().map(|&port| self.port(port)).collect())
    }
}

fn dc_ranges(plan: &Plan, nodes: &[Node]) -> Vec<DcRanges> {
    let of_dc = |dc: DcId| {
        let first = nodes.partition_point(|node| node.dc < dc.0);
        let end = nodes.partition_point(|node| node.dc <= dc.0);
        DcRanges {
            nodes: count(first)..count(end),
            ports: nodes[first].ports.start..nodes[end - 1].ports.end,
        }
    };
    (0u32..).map(DcId).take(plan.dcs.len()).map(of_dc).collect()
}

/// Converts a table's length to a 32-bit id; plans have far fewer than 2^32 entries.
pub(crate) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Serialisation time per byte on a wire, precomputed to avoid a division per packet.
///
/// The time is in picoseconds with 32 fractional bits, rounded up; the whole part is at most 8 · 10^12, at 1 bit/s.
/// Packets are shorter than 2^16 B, so rounding adds less than 2^-16 ps to the time of a packet. In whole picoseconds,
/// the result is exact, or 1 ps too large if the exact time is less than 2^-16 ps below a whole number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WireClock {
    whole: u64,
    fraction: u32,
}

impl WireClock {
    /// Creates the clock of a wire with `rate` in bit/s.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the whole part is below 2^43, and the fraction is the low 32 bits"
    )]
    pub fn new(rate: u64) -> Self {
        let scaled = (8_000_000_000_000_u128 << 32).div_ceil(u128::from(rate.max(1)));
        Self {
            whole: (scaled >> 32) as u64,
            fraction: scaled as u32,
        }
    }

    /// Returns the serialisation time of `bytes`, rounded down to a picosecond.
    #[inline]
    #[must_use]
    pub const fn on_wire(self, bytes: u32) -> SimTime {
        let bytes = bytes as u64;
        let whole = self.whole.saturating_mul(bytes);
        SimTime::from_picos(whole.saturating_add((self.fraction as u64 * bytes) >> 32))
    }
}

/// Returns the rate of the NIC that sends `flow`.
pub(crate) fn line_rate(plan: &Plan, flow: &Flow) -> BitsPerSec {
    let nic = plan.nodes[flow.src.index()].ports[0];
    plan.links[nic.link().index()].emu.rate_bps
}

#[cfg(test)]
mod tests {
    use lab_units::BitsPerSec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_wire_clock_is_the_division(
            // Rates are distributed evenly over orders of magnitude, from 1 bit/s up.
            rate in (0..40_u32, 1_u64 << 24..1 << 25).prop_map(|(bits, mantissa)| mantissa << bits >> 24),
            bytes in 1..65_536_u32,
        ) {
            let exact = SimTime::on_wire(u64::from(bytes), BitsPerSec::new(rate).expect("not zero"));
            let clock = WireClock::new(rate).on_wire(bytes);
            let error = clock.picos() - exact.picos();
            prop_assert!(error <= 1, "{clock} is not {exact}");
        }
    }

    /// A full packet, 4,154 B, has 33,232 bits.
    #[test]
    fn slow_wires_are_exact() {
        let millis = |rate| WireClock::new(rate).on_wire(4_154).picos() / 1_000_000_000;
        assert_eq!([1, 1_000, 2_000].map(millis), [33_232_000, 33_232, 16_616]);
    }

    #[test]
    fn common_rates_are_exact() {
        for gbit in [1, 10, 25, 40, 100, 200, 400, 800] {
            let rate = gbit * 1_000_000_000;
            for bytes in [60, 1_048, 4_154] {
                let exact =
                    SimTime::on_wire(u64::from(bytes), BitsPerSec::new(rate).expect("not zero"));
                assert_eq!(WireClock::new(rate).on_wire(bytes), exact);
            }
        }
    }
}
