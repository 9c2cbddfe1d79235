//! Plans node by node and link by link.

use std::{collections::VecDeque, net::Ipv4Addr};

use lab_plan::{
    CcPlan, Semantics, TransportPlan, WindowPlan,
    address::{self, Place},
    model::{
        Dc, Estimate, Link, LinkKind, MeasurePlan, Node, PLAN_FORMAT, Plan, Port, Rdma, Role,
        Route, Scale, Tool, WirePlan,
    },
};
use lab_units::{Bytes, DcId, LinkId, Nanos, NodeId, PortId, Ratio};

use super::plans::{Inside, wire};

pub(super) struct Builder {
    slot: u8,
    places: Vec<Place>,
    nodes: Vec<Node>,
    pub dcs: Vec<Dc>,
    links: Vec<Link>,
    ports: Vec<Port>,
    inter_dc_ends: u32,
    fabric_ends: Vec<u32>,
}

impl Builder {
    pub const fn new(slot: u8) -> Self {
        Self {
            slot,
            places: Vec::new(),
            nodes: Vec::new(),
            dcs: Vec::new(),
            links: Vec::new(),
            ports: Vec::new(),
            inter_dc_ends: 0,
            fabric_ends: Vec::new(),
        }
    }

    fn node(&mut self, dc: DcId, role: Role, number: u32) -> NodeId {
        let id = NodeId::from_index(self.nodes.len()).unwrap();
        let place = Place { dc, role, number };
        let (dc_name, inside) = (format!("dc{}", dc.0 + 1), place.inside());
        let join = |separator: &str| match inside.as_str() {
            "" => dc_name.clone(),
            inside => format!("{dc_name}{separator}{inside}"),
        };
        self.places.push(place);
        self.nodes.push(Node {
            name: join("/"),
            short: join("-"),
            role,
            dc,
            addr: place.addr(self.slot),
            ports: Vec::new(),
            routes: Vec::new(),
        });
        id
    }

    pub fn dc(&mut self, dc: DcId, inside: Inside) {
        let dci = self.node(dc, Role::DciSwitch, 0);
        for number in 1..=inside.spines {
            self.node(dc, Role::Spine, number);
        }
        for number in 1..=inside.leaves {
            self.node(dc, Role::Leaf, number);
        }
        let hosts = (1..=inside.hosts * inside.leaves.max(1))
            .map(|number| self.node(dc, Role::Host, number))
            .collect();
        self.dcs.push(Dc {
            name: format!("dc{}", dc.0 + 1),
            dci,
            hosts,
            prefix: address::dc_prefix(self.slot, dc),
            legacy: false,
        });
        self.fabric_ends.push(0);
    }

    fn of(&self, dc: DcId, role: Role) -> Vec<NodeId> {
        let ids = (0..).map(NodeId).zip(&self.nodes);
        ids.filter(|(_, node)| node.dc == dc && node.role == role)
            .map(|(id, _)| id)
            .collect()
    }

    pub fn fabric(&mut self, dc: DcId, inside: Inside) {
        let wire = wire("200 Mbit", "10 us", "1 MB");
        let dci = self.dcs[dc.index()].dci;
        let (spines, leaves) = (self.of(dc, Role::Spine), self.of(dc, Role::Leaf));
        let hosts = self.of(dc, Role::Host);
        for &spine in &spines {
            self.link(dci, spine, LinkKind::Fabric, wire);
            for &leaf in &leaves {
                self.link(spine, leaf, LinkKind::Fabric, wire);
            }
        }
        let each = inside.hosts as usize;
        for (index, &host) in hosts.iter().enumerate() {
            let switch = leaves.get(index / each).copied().unwrap_or(dci);
            self.link(switch, host, LinkKind::Host, wire);
        }
    }

    pub fn link(&mut self, a: NodeId, b: NodeId, kind: LinkKind, wire: WirePlan) {
        let id = LinkId::from_index(self.links.len()).unwrap();
        let name = |node: NodeId| self.nodes[node.index()].name.clone();
        self.links.push(Link {
            name: format!("{}-{}", name(a), name(b)),
            kind,
            a,
            b,
            paper: wire,
            emu: wire,
        });
        self.port(a, b, id.port_a(), kind);
        self.port(b, a, id.port_b(), kind);
    }

    fn port(&mut self, near: NodeId, far: NodeId, id: PortId, kind: LinkKind) {
        let (here, there) = (self.places[near.index()], self.places[far.index()]);
        let addr = match kind {
            LinkKind::InterDc => {
                self.inter_dc_ends += 1;
                address::inter_dc_end(self.slot, self.inter_dc_ends - 1)
            }
            LinkKind::Host if here.role == Role::Host => self.nodes[near.index()].addr,
            LinkKind::Fabric | LinkKind::Host => {
                let next = &mut self.fabric_ends[here.dc.index()];
                *next += 1;
                address::fabric_end(self.slot, here.dc, *next - 1)
            }
        };
        self.nodes[near.index()].ports.push(id);
        self.ports.push(Port {
            node: near,
            interface: address::interface(self.slot, here, there, 0),
            mac: address::mac(self.slot, id),
            addr,
        });
    }

    /// Shortest ways from every node to every host's DC or, in its own DC, every node.
    fn routes(&self, from: NodeId) -> Vec<Route> {
        let node = &self.nodes[from.index()];
        if node.role == Role::Host {
            return vec![Route {
                to: address::EVERYWHERE,
                via: node.ports.clone(),
            }];
        }
        let mut routes = Vec::new();
        for (id, dc) in (0..).map(DcId).zip(&self.dcs) {
            if id != node.dc {
                let via = self.towards(from, dc.dci);
                routes.push(Route { to: dc.prefix, via });
            }
        }
        for (id, other) in (0..).map(NodeId).zip(&self.nodes) {
            if other.dc == node.dc && id != from {
                let via = self.towards(from, id);
                let to = address::single(other.addr);
                routes.push(Route { to, via });
            }
        }
        routes
    }

    fn towards(&self, from: NodeId, to: NodeId) -> Vec<PortId> {
        let hops = self.hops(to);
        let next = |port: &PortId| self.ports[port.peer().index()].node;
        let ports = &self.nodes[from.index()].ports;
        let closer = |port: &&PortId| hops[next(port).index()] + 1 == hops[from.index()];
        ports.iter().filter(closer).copied().collect()
    }

    /// Links between each node and `to`; hosts do not forward.
    fn hops(&self, to: NodeId) -> Vec<u32> {
        let mut hops = vec![u32::MAX - 1; self.nodes.len()];
        hops[to.index()] = 0;
        let mut queue = VecDeque::from([to]);
        while let Some(node) = queue.pop_front() {
            for port in &self.nodes[node.index()].ports {
                let next = self.ports[port.peer().index()].node;
                if hops[next.index()] == u32::MAX - 1 {
                    hops[next.index()] = hops[node.index()] + 1;
                    if self.nodes[next.index()].role != Role::Host {
                        queue.push_back(next);
                    }
                }
            }
        }
        hops
    }

    pub fn finish(mut self) -> Plan {
        let ids = (0..).map(NodeId).take(self.nodes.len());
        let routes: Vec<_> = ids.map(|id| self.routes(id)).collect();
        for (node, routes) in self.nodes.iter_mut().zip(routes) {
            node.routes = routes;
        }
        assert!(
            self.ports
                .iter()
                .all(|port| port.addr != Ipv4Addr::UNSPECIFIED)
        );
        Plan {
            format: PLAN_FORMAT,
            name: "test".into(),
            description: String::new(),
            scenario_hash: String::new(),
            seed: 1,
            slot: self.slot,
            scale: Scale {
                rate: Ratio::ONE,
                time: Ratio::ONE,
                size: Ratio::ONE,
            },
            dcs: self.dcs,
            nodes: self.nodes,
            links: self.links,
            ports: self.ports,
            switches: Vec::new(),
            policies: Vec::new(),
            repetitions: 1,
            flows: Vec::new(),
            rdma: Rdma {
                tool: Tool::SendBw,
                path_mtu: 4096,
                interface_mtu: 4176,
                traffic_class: 106,
                qp_timeout: 18,
                flow_deadline_ns: Nanos::ZERO,
            },
            transport: TransportPlan {
                semantics: Semantics::Paper,
                payload_bytes: 4096,
                cc: CcPlan::None,
                window: WindowPlan::None,
                ack_priority: false,
                nack_interval_ns: Nanos::ZERO,
                retransmit_timeout_ns: None,
                pfc: false,
                fabric_buffer_bytes: Bytes::ZERO,
                dci_buffer_bytes: Bytes::ZERO,
            },
            measure: MeasurePlan {
                queues_ns: Nanos::ZERO,
                links_ns: Nanos::ZERO,
                switches_ns: Nanos::ZERO,
            },
            max_table_age_ns: Nanos::ZERO,
            faults: Vec::new(),
            estimate: Estimate {
                data_packets: 0,
                packet_hops: 0,
                cpu_ns: Nanos::ZERO,
                span_ns: Nanos::ZERO,
                memory_bytes: Bytes::ZERO,
                forwarding_percent: 0,
                sub_packet_flows_percent: 0,
                packet_vs_delay_percent: 0,
            },
            warnings: Vec::new(),
        }
    }
}
