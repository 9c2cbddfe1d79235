//! Construction of nodes, links and ports, with names and addresses.
//!
//! Nodes are numbered by tier: all DCI switches, so that a DCI switch has its datacenter's number, then all spines,
//! leaves and hosts. Links are numbered from the outside in: inter-DC links, then the links of each datacenter. Inside
//! a DC, a link's end `a` is at the upper switch, and end `b` at the node below it.

use std::collections::BTreeMap;

use lab_parameters::LinkConfig;
use lab_scenario::{Agent, Fabric, Topology};
use lab_units::{DcId, LinkId, NodeId, Twin};

use crate::{
    address::{self, NodePosition},
    error::PlanError,
    model::{Dc, Link, LinkKind, Node, Port, Role, Scale},
    network::Network,
};

/// Builds the network of `topology`, with names and addresses in slot 0.
pub(crate) fn build(topology: &Topology, scale: &Scale) -> Result<Network, PlanError> {
    check_bounds(topology)?;
    let mut builder = Builder::new(topology, scale);
    builder.add_nodes();
    builder.add_inter_dc_links()?;
    for dc in 0..builder.network.dcs.len() {
        builder.add_dc_links(dc)?;
    }
    Ok(builder.network)
}

struct Builder<'a> {
    topology: &'a Topology,
    scale: &'a Scale,
    network: Network,
    /// Positions of the nodes created so far, by node id.
    positions: Vec<NodePosition>,
    /// Number of link-end addresses assigned so far inside each datacenter.
    ends: Vec<u32>,
    /// Number of links created so far between each pair of nodes.
    twins: BTreeMap<(NodeId, NodeId), Twin>,
}

impl<'a> Builder<'a> {
    fn new(topology: &'a Topology, scale: &'a Scale) -> Self {
        let dcs = (0u32..).zip(&topology.dcs).map(|(number, dc)| Dc {
            name: dc.name.clone(),
            label: dc.label.clone(),
            dci: NodeId(number),
            hosts: Vec::new(),
            prefix: address::dc_prefix(DcId(number)),
            legacy: dc.agent == Agent::Legacy,
        });
        Self {
            topology,
            scale,
            network: Network {
                dcs: dcs.collect(),
                nodes: Vec::new(),
                links: Vec::new(),
                ports: Vec::new(),
            },
            positions: Vec::new(),
            ends: vec![0; topology.dcs.len()],
            twins: BTreeMap::new(),
        }
    }

    fn add_nodes(&mut self) {
        for role in [Role::DciSwitch, Role::Spine, Role::Leaf, Role::Host] {
            for (dc, shape) in (0u32..).map(DcId).zip(&self.topology.dcs) {
                let numbers = match role {
                    Role::DciSwitch => 0..=0,
                    _ => 1..=count(&shape.fabric, role),
                };
                for number in numbers {
                    self.add_node(NodePosition { dc, role, number });
                }
            }
        }
    }

    fn add_node(&mut self, position: NodePosition) {
        let id = NodeId::from_index(self.network.nodes.len()).expect("bounded by the addresses");
        let dc = &mut self.network.dcs[position.dc.index()];
        if position.role == Role::Host {
            dc.hosts.push(id);
        }
        let inside = position.inside();
        let named = |separator: &str| match inside.as_str() {
            "" => dc.name.clone(),
            inside => format!("{}{separator}{inside}", dc.name),
        };
        let name = named("/");
        let short = named("-");
        self.network.nodes.push(Node {
            name,
            short,
            role: position.role,
            dc: position.dc,
            addr: position.addr(),
            further_addrs: Vec::new(),
            ports: Vec::new(),
            routes: Vec::new(),
        });
        self.positions.push(position);
    }

    fn add_inter_dc_links(&mut self) -> Result<(), PlanError> {
        for (index, link) in self.topology.links.iter().enumerate() {
            let path = format!("topology.links[{index}]");
            let end = |name: &String| {
                let dc = self
                    .network
                    .dc_named(name)
                    .ok_or_else(|| PlanError::Unknown {
                        path: format!("{path}.between"),
                        what: "datacenter",
                        name: name.clone(),
                        hint: String::new(),
                    })?;
                Ok(self.network.dcs[dc.index()].dci)
            };
            let a = end(&link.between[0])?;
            let b = end(&link.between[1])?;
            self.add_link(LinkKind::InterDc, a, b, &path, &link.wire)?;
        }
        Ok(())
    }

    fn add_dc_links(&mut self, dc: usize) -> Result<(), PlanError> {
        let fabric = &self.topology.dcs[dc].fabric;
        let path = |wire: &str| match fabric {
            Fabric::Direct { .. } => format!("topology.defaults.{wire}"),
            Fabric::LeafSpine { .. } => format!("topology.dcs[{dc}].fabric.{wire}"),
        };
        let dci = self.network.dcs[dc].dci;
        let hosts = self.network.dcs[dc].hosts.clone();
        match fabric {
            Fabric::Direct { host_link, .. } => {
                for host in hosts {
                    self.add_link(LinkKind::Host, dci, host, &path("host_link"), host_link)?;
                }
            }
            Fabric::LeafSpine {
                hosts_per_leaf,
                host_link,
                leaf_spine,
                spine_dci,
                ..
            } => {
                let spines = self.tier(dc, Role::Spine);
                let leaves = self.tier(dc, Role::Leaf);
                for &spine in &spines {
                    self.add_link(LinkKind::Fabric, dci, spine, &path("spine_dci"), spine_dci)?;
                }
                for &spine in &spines {
                    for &leaf in &leaves {
                        let path = path("leaf_spine");
                        self.add_link(LinkKind::Fabric, spine, leaf, &path, leaf_spine)?;
                    }
                }
                let racks = leaves
                    .iter()
                    .flat_map(|leaf| (0..*hosts_per_leaf).map(|_| *leaf));
                for (leaf, host) in racks.zip(hosts) {
                    self.add_link(LinkKind::Host, leaf, host, &path("host_link"), host_link)?;
                }
            }
        }
        Ok(())
    }

    fn tier(&self, dc: usize, role: Role) -> Vec<NodeId> {
        let numbered = (0u32..).map(NodeId).zip(&self.positions);
        numbered
            .filter(|(_, position)| position.dc.index() == dc && position.role == role)
            .map(|(id, _)| id)
            .collect()
    }

    fn add_link(
        &mut self,
        kind: LinkKind,
        a: NodeId,
        b: NodeId,
        path: &str,
        wire: &LinkConfig,
    ) -> Result<(), PlanError> {
        let id = LinkId::from_index(self.network.links.len()).expect("bounded by the addresses");
        let paper = Scale::PAPER.wire(path, wire)?;
        let emu = self.scale.wire(path, wire)?;
        let pair = (a.min(b), a.max(b));
        let twins = self.twins.entry(pair).or_default();
        let twin = *twins;
        *twins = Twin(twin.0 + 1);
        let [near, far] = [a, b].map(|node| &self.network.node(node).name);
        let name = format!("{near}-{far}{twin}");
        for (near, far, port) in [(a, b, id.port_a()), (b, a, id.port_b())] {
            let port = Port {
                node: near,
                interface: address::interface(
                    self.positions[near.index()],
                    self.positions[far.index()],
                    twin,
                ),
                mac: address::mac(0, port),
                addr: self.end_addr(kind, near)?,
            };
            self.network.ports.push(port);
        }
        self.network.nodes[a.index()].ports.push(id.port_a());
        self.network.nodes[b.index()].ports.push(id.port_b());
        self.network.links.push(Link {
            name,
            kind,
            a,
            b,
            paper,
            emu,
        });
        Ok(())
    }

    fn end_addr(&mut self, kind: LinkKind, near: NodeId) -> Result<std::net::Ipv4Addr, PlanError> {
        let node = self.network.node(near);
        if kind == LinkKind::InterDc {
            let number = u32::try_from(self.network.ports.len()).expect("bounded by the addresses");
            return Ok(address::inter_dc_end(number));
        }
        if node.role == Role::Host {
            return Ok(node.addr);
        }
        let dc = node.dc;
        let used = self.ends[node.dc.index()];
        if used >= address::MAX_FABRIC_ENDS {
            return Err(PlanError::TooMany {
                object: format!("datacenter `{}`", self.network.dcs[dc.index()].name),
                what: "ends of internal links",
                count: u64::from(used) + 1,
                max: u64::from(address::MAX_FABRIC_ENDS),
            });
        }
        self.ends[dc.index()] += 1;
        Ok(address::fabric_end(dc, used))
    }
}

/// Returns the number of nodes with `role` in one datacenter's fabric.
fn count(fabric: &Fabric, role: Role) -> u32 {
    match (fabric, role) {
        (_, Role::DciSwitch) => 1,
        (Fabric::Direct { hosts, .. }, Role::Host) => *hosts,
        (Fabric::Direct { .. }, Role::Spine | Role::Leaf) => 0,
        (Fabric::LeafSpine { spines, .. }, Role::Spine) => *spines,
        (Fabric::LeafSpine { leaves, .. }, Role::Leaf) => *leaves,
        (
            Fabric::LeafSpine {
                leaves,
                hosts_per_leaf,
                ..
            },
            Role::Host,
        ) => leaves.saturating_mul(*hosts_per_leaf),
    }
}

fn check_bounds(topology: &Topology) -> Result<(), PlanError> {
    let within = |object: String, what, count: u64, max: u32| {
        if count <= u64::from(max) {
            return Ok(());
        }
        Err(PlanError::TooMany {
            object,
            what,
            count,
            max: u64::from(max),
        })
    };
    let whole = || "the topology".to_owned();
    let counted = |items: usize| u64::try_from(items).unwrap_or(u64::MAX);
    let dcs = counted(topology.dcs.len());
    let links = counted(topology.links.len());
    within(whole(), "datacenters", dcs, address::MAX_DCS)?;
    let max_links = address::MAX_INTER_DC_LINKS;
    within(whole(), "inter-DC links", links, max_links)?;
    for dc in &topology.dcs {
        let of = |role| u64::from(count(&dc.fabric, role));
        let object = || format!("datacenter `{}`", dc.name);
        within(object(), "hosts", of(Role::Host), address::MAX_HOSTS)?;
        within(object(), "spines", of(Role::Spine), address::MAX_TIER)?;
        within(object(), "leaves", of(Role::Leaf), address::MAX_TIER)?;
    }
    Ok(())
}
