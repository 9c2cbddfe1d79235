//! Nodes, links and ports, and their adjacency.

use std::collections::BTreeSet;

use lab_scenario::Fault;
use lab_units::{DcId, LinkId, NodeId, PortId};

use crate::model::{Dc, Link, LinkKind, Node, Plan, Port, Role, next_hop};

/// Nodes, links and ports of a lab during resolution, when [`Node::routes`] is still empty.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub dcs: Vec<Dc>,
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    pub ports: Vec<Port>,
}

impl Network {
    /// Copies the nodes, links and ports of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self {
            dcs: plan.dcs.clone(),
            nodes: plan.nodes.clone(),
            links: plan.links.clone(),
            ports: plan.ports.clone(),
        }
    }

    /// Copies the network without the ports of the links in `down`; ids stay the same.
    pub fn without(&self, down: &BTreeSet<LinkId>) -> Self {
        let mut network = self.clone();
        for node in &mut network.nodes {
            node.ports.retain(|port| !down.contains(&port.link()));
        }
        network
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// Returns the id of the node at the other end of `port`'s link.
    pub fn far_end(&self, port: PortId) -> NodeId {
        self.ports[port.peer().index()].node
    }

    /// Returns the node at the other end of `port`'s link.
    pub fn neighbour(&self, port: PortId) -> &Node {
        self.node(self.far_end(port))
    }

    /// Returns the ports of `node` whose neighbour has `role`.
    pub fn ports_to(&self, node: NodeId, role: Role) -> impl Iterator<Item = PortId> {
        self.node(node)
            .ports
            .iter()
            .copied()
            .filter(move |port| self.neighbour(*port).role == role)
    }

    /// Returns the total rate of the links at `ports`, in bits per second at the paper's scale.
    pub fn rate_of(&self, ports: impl Iterator<Item = PortId>) -> u64 {
        ports
            .map(|port| self.link(port.link()).paper.rate_bps.get())
            .fold(0, u64::saturating_add)
    }

    pub fn dc_named(&self, name: &str) -> Option<DcId> {
        let index = self.dcs.iter().position(|dc| dc.name == name)?;
        DcId::from_index(index)
    }

    /// Returns the link that a fault of the scenario changes; `None` if there is none.
    pub fn link_of(&self, fault: &Fault) -> Option<LinkId> {
        let [a, b] = fault.link.each_ref().map(|name| self.dc_named(name));
        let place = usize::try_from(fault.twin.0).ok()?;
        self.links_between(a?, b?).nth(place)
    }

    /// Returns the name of the next hop through `port`, as in [`Plan::next_hop`].
    pub fn next_hop(&self, port: PortId) -> String {
        let dc = self.neighbour(port).dc;
        next_hop(&self.dcs[dc.index()], self.link(port.link()))
    }

    /// Returns the inter-DC links between two datacenters, in either direction, in the order of the scenario.
    pub fn links_between(&self, a: DcId, b: DcId) -> impl Iterator<Item = LinkId> {
        let between = move |link: &Link| {
            let ends = (self.node(link.a).dc, self.node(link.b).dc);
            link.kind == LinkKind::InterDc && (ends == (a, b) || ends == (b, a))
        };
        let numbered = (0u32..).map(LinkId).zip(&self.links);
        numbered
            .filter(move |(_, link)| between(link))
            .map(|(id, _)| id)
    }
}
