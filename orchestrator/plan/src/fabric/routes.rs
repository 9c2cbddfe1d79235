//! Kernel routes of every node, with plain ECMP over all candidates; with tunnels, over the best path alone, because a
//! kernel route cannot follow a tunnel.

use lab_units::{DcId, NodeId};

use crate::{
    address,
    error::PlanError,
    model::{Role, Route},
    network::Network,
    paths::Paths,
};

/// Fills in the routing table of every node.
pub(crate) fn add(network: &mut Network, paths: &Paths) -> Result<(), PlanError> {
    for index in 0..network.nodes.len() {
        let node = NodeId::from_index(index).expect("nodes are numbered in 32 bits");
        network.nodes[index].routes = of_node(network, paths, node)?;
    }
    Ok(())
}

fn of_node(network: &Network, paths: &Paths, node: NodeId) -> Result<Vec<Route>, PlanError> {
    match network.node(node).role {
        Role::Host => Ok(vec![Route {
            to: address::EVERYWHERE,
            via: network.node(node).ports.clone(),
        }]),
        Role::Leaf => Ok(leaf_routes(network, node)),
        Role::Spine => Ok(spine_routes(network, node)),
        Role::DciSwitch => dci_routes(network, paths, node),
    }
}

/// Returns the routes of a leaf: down to each of its hosts, and up for every other address.
fn leaf_routes(network: &Network, leaf: NodeId) -> Vec<Route> {
    let up: Vec<_> = network.ports_to(leaf, Role::Spine).collect();
    let mut routes = below(network, leaf, Role::Host);
    routes.extend(network.dcs.iter().map(|dc| Route {
        to: dc.prefix,
        via: up.clone(),
    }));
    routes
}

/// Returns the routes of a spine: down to leaves and their hosts, and up for every other address.
fn spine_routes(network: &Network, spine: NodeId) -> Vec<Route> {
    let up: Vec<_> = network.ports_to(spine, Role::DciSwitch).collect();
    let mut routes = below(network, spine, Role::Leaf);
    for down in network.ports_to(spine, Role::Leaf) {
        let hosts = network.ports_to(network.far_end(down), Role::Host);
        routes.extend(hosts.map(|port| Route {
            to: address::single(network.neighbour(port).addr),
            via: vec![down],
        }));
    }
    routes.extend(network.dcs.iter().map(|dc| Route {
        to: dc.prefix,
        via: up.clone(),
    }));
    routes
}

/// Returns the routes of a DCI switch: down into its own DC, and over all candidates to each other DC.
fn dci_routes(network: &Network, paths: &Paths, dci: NodeId) -> Result<Vec<Route>, PlanError> {
    let own = network.node(dci).dc;
    let down: Vec<_> = network.ports_to(dci, Role::Spine).collect();
    let mut routes = below(network, dci, Role::Host);
    routes.extend(below(network, dci, Role::Spine));
    let behind = network.nodes.iter().filter(|node| {
        node.dc == own && !down.is_empty() && matches!(node.role, Role::Leaf | Role::Host)
    });
    routes.extend(behind.map(|node| Route {
        to: address::single(node.addr),
        via: down.clone(),
    }));
    for (id, dc) in (0u32..).map(DcId).zip(&network.dcs) {
        if id != own {
            paths.check_reaches(network, own, id)?;
            let mut via = paths.next_ports(own, id).to_vec();
            if !paths.tunnels(own, id).is_empty() {
                via = paths.ports(network, own, id);
                via.truncate(1);
            }
            via.sort_unstable();
            let to = dc.prefix;
            routes.push(Route { to, via });
        }
    }
    Ok(routes)
}

/// Returns a route to each neighbour with `role`, through the port towards it.
fn below(network: &Network, node: NodeId, role: Role) -> Vec<Route> {
    let ports = network.ports_to(node, role);
    ports
        .map(|port| Route {
            to: address::single(network.neighbour(port).addr),
            via: vec![port],
        })
        .collect()
}
