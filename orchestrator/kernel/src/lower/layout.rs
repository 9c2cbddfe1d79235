//! Layout of a plan: the names and addresses of the namespaces and interfaces for its objects.

use std::path::PathBuf;

use lab_plan::{
    address,
    model::{Link, LinkKind, Node, Plan, Port, Role},
    transport::DcqcnConfig,
};
use lab_units::{Bytes, LinkId, Mac, NodeId, PortId};

use super::{Clock, HostPlacement, LowerOptions};
use crate::{journal, step::Namespace};

/// Plan with the options for its translation into kernel steps, and the object names that follow from plan and options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'a> {
    pub plan: &'a Plan,
    pub options: &'a LowerOptions,
}

impl<'a> Layout<'a> {
    pub const fn new(plan: &'a Plan, options: &'a LowerOptions) -> Self {
        Self { plan, options }
    }

    pub fn nodes(&self) -> impl Iterator<Item = &'a Node> + use<'a> {
        self.plan.nodes.iter()
    }

    pub fn node(&self, id: NodeId) -> &'a Node {
        &self.plan.nodes[id.index()]
    }

    pub fn port(&self, id: PortId) -> &'a Port {
        &self.plan.ports[id.index()]
    }

    pub fn link(&self, id: LinkId) -> &'a Link {
        &self.plan.links[id.index()]
    }

    /// Returns the names of a node's interfaces, in the order of its ports.
    pub fn interfaces(&self, node: &Node) -> Vec<String> {
        node.ports
            .iter()
            .map(|&id| self.port(id).interface.clone())
            .collect()
    }

    /// Returns all links with their ids.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &'a Link)> + use<'a> {
        (0..).map(LinkId).zip(&self.plan.links)
    }

    /// Returns the ports of the inter-DC links, which run through the fiber, the namespace of the delay lines.
    pub fn fiber_ports(&self) -> impl Iterator<Item = PortId> + use<'a> {
        let links = self.links();
        let inter_dc = links.filter(|(_, link)| link.kind == LinkKind::InterDc);
        inter_dc.flat_map(|(id, _)| [id.port_a(), id.port_b()])
    }

    /// Returns a node's namespace; for a host, the namespace of its NIC.
    pub fn netns(&self, node: &Node) -> Namespace {
        match (node.role, self.options.hosts) {
            (Role::Host, HostPlacement::RootNamespace) => Namespace::Root,
            (Role::Host, HostPlacement::OwnNamespace)
            | (Role::DciSwitch | Role::Spine | Role::Leaf, _) => {
                Namespace::Named(self.options.lab.netns(&node.short))
            }
        }
    }

    /// Returns the namespace of the node to which a port belongs.
    pub fn port_netns(&self, port: PortId) -> Namespace {
        self.netns(self.node(self.port(port).node))
    }

    /// Returns the namespace called the fiber, which contains the delay lines of all inter-DC links.
    pub fn fiber(&self) -> Namespace {
        Namespace::Named(self.options.lab.netns(FIBER))
    }

    /// Returns the name of the interface that faces the port of a DCI switch in the fiber, the delay lines' namespace.
    pub fn fiber_dev(&self, port: PortId) -> String {
        format!("f{}", port.0)
    }

    /// Returns the MAC address of the interface that faces a port in the fiber, the delay lines' namespace: the port's
    /// address with one more bit set.
    pub fn fiber_mac(&self, port: PortId) -> Mac {
        let Mac(mut bytes) = self.port(port).mac;
        bytes[1] |= FIBER_MAC_BIT;
        Mac(bytes)
    }

    /// Returns the size of the largest frame that an interface sends, Ethernet header included.
    pub fn frame(&self) -> Bytes {
        Bytes::new(u64::from(self.plan.rdma.interface_mtu) + ETHERNET_HEADER)
    }

    /// Returns the number of the routing table for a host whose NIC is in the root namespace.
    pub fn table(&self, host: NodeId) -> u32 {
        address::routing_table(self.plan.slot, host)
    }

    /// Returns the parameters of the hosts' congestion control; `None` if the lab has no congestion control or no delay
    /// lines.
    pub fn dcqcn(&self) -> Option<&'a DcqcnConfig> {
        let dcqcn = self.plan.transport.cc.in_lab();
        dcqcn.filter(|_| self.options.delay_lines)
    }

    /// Returns the name of the interface through which packets enter the pacer, which limits QPs to DCQCN's rates.
    pub fn pacer_dev(&self) -> String {
        format!("l{:x}pacer", self.plan.slot)
    }

    /// Returns the name of the interface through which packets leave the pacer, which limits QPs to DCQCN's rates.
    pub fn gate_dev(&self) -> String {
        format!("l{:x}gate", self.plan.slot)
    }

    /// Returns the directory in the lab's BPF file system in which the hosts' BPF programs are pinned.
    pub fn host_directory(&self) -> PathBuf {
        journal::bpf_directory(&self.options.lab).join("host")
    }

    /// Returns a bit mask of the CPUs that receive packets; `None` if there is only one such CPU.
    pub fn receiving_cpus(&self) -> Option<u64> {
        match (self.options.clock, self.options.cpus) {
            (Clock::Virtual, _) | (Clock::Real, 0 | 1) => None,
            (Clock::Real, cpus) => Some(u64::MAX >> 64u32.saturating_sub(cpus)),
        }
    }
}

/// Node name of the fiber, the namespace of the delay lines. No real node can have this name: names of datacenters are
/// shorter, and names of other nodes end with a number.
pub(crate) const FIBER: &str = "delay-lines";

/// Bit of the second byte that is clear in the MAC address of every port; see [`address::mac`].
const FIBER_MAC_BIT: u8 = 0x20;

/// Size of an Ethernet header, bytes.
const ETHERNET_HEADER: u64 = 14;
