//! Where things of a plan are.

use lab_plan::{
    address,
    model::{Link, LinkKind, Node, Plan, Port, Role},
};
use lab_units::{Bytes, LinkId, NodeId, PortId};

use super::{Clock, HostPlacement, LowerOptions};
use crate::step::{Mac, Place};

/// A plan with the options it is lowered with, and what follows from the two.
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

    /// All links with their ids.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &'a Link)> + use<'a> {
        (0..).map(LinkId).zip(&self.plan.links)
    }

    /// The ports whose cables go into the fiber.
    pub fn fiber_ports(&self) -> impl Iterator<Item = PortId> + use<'a> {
        let inter_dc = self
            .links()
            .filter(|(_, link)| link.kind == LinkKind::InterDc);
        inter_dc.flat_map(|(id, _)| [id.port_a(), id.port_b()])
    }

    /// A host is in the root namespace if its NIC is.
    pub fn place(&self, node: &Node) -> Place {
        match (node.role, self.options.hosts) {
            (Role::Host, HostPlacement::RootNamespace) => Place::Root,
            (Role::Host, HostPlacement::OwnNamespace)
            | (Role::DciSwitch | Role::Spine | Role::Leaf, _) => {
                Place::Netns(self.options.lab.netns(&node.short))
            }
        }
    }

    /// The place of the node a port is on.
    pub fn port_place(&self, port: PortId) -> Place {
        self.place(self.node(self.port(port).node))
    }

    /// The namespace of the inter-DC links' delay lines.
    pub fn fiber(&self) -> Place {
        Place::Netns(self.options.lab.netns(FIBER))
    }

    /// The end in the fiber of the cable that is plugged into a DCI switch's port.
    pub fn fiber_dev(&self, port: PortId) -> String {
        format!("f{}", port.0)
    }

    pub fn mac(&self, port: PortId) -> Mac {
        self.port(port).mac
    }

    /// The hardware address of the end in the fiber: the port's with one more bit set.
    pub fn fiber_mac(&self, port: PortId) -> Mac {
        let Mac(mut bytes) = self.port(port).mac;
        bytes[1] |= FIBER_MAC_BIT;
        Mac(bytes)
    }

    /// The largest frame an interface sends.
    pub fn frame(&self) -> Bytes {
        Bytes::new(u64::from(self.plan.rdma.interface_mtu) + ETHERNET_HEADER)
    }

    /// The routing table of a host whose NIC is in the root namespace.
    pub fn table(&self, host: NodeId) -> u32 {
        address::routing_table(self.plan.slot, host)
    }

    /// The CPUs that may receive packets, where more than one do.
    pub fn receiving_cpus(&self) -> Option<u64> {
        match (self.options.clock, self.options.cpus) {
            (Clock::Virtual, _) | (Clock::Real, 0 | 1) => None,
            (Clock::Real, cpus) => Some(u64::MAX >> 64u32.saturating_sub(cpus)),
        }
    }
}

/// The fiber's name among the nodes. No node is called so: a datacenter's name is shorter, and what
/// follows the hyphen of other nodes ends with a number.
pub(crate) const FIBER: &str = "delay-lines";

/// Not in the second byte of any port's hardware address, see [`address::mac`].
const FIBER_MAC_BIT: u8 = 0x20;

const ETHERNET_HEADER: u64 = 14;
