//! Namespaces, and what a node's interfaces get after their queues.

use lab_plan::model::{Node, Prefix, Role};
use lab_units::PortId;

use super::{Layout, host};
use crate::{
    name::NetnsName,
    step::{MAIN_TABLE, NextHop, Place, Route, Step, Way},
};

/// A whole window of every QP may arrive at one CPU at once; the kernel's default of 1,000 packets
/// drops silently then.
pub(super) fn backlog() -> Step {
    Step::SharedSysctl {
        key: "net.core.netdev_max_backlog".into(),
        at_least: 20_000,
    }
}

/// A namespace for each switch, for each host that is to have one, and for the delay lines.
pub(super) fn namespaces(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    for node in layout.nodes() {
        if let Place::Netns(name) = layout.place(node) {
            let settings = match node.role {
                Role::DciSwitch | Role::Spine | Role::Leaf => ROUTER,
                Role::Host => HOST,
            };
            namespace(name, settings, steps);
        }
    }
    if layout.fiber_ports().next().is_some()
        && let Place::Netns(name) = layout.fiber()
    {
        namespace(name, &[], steps);
    }
}

fn namespace(name: NetnsName, settings: &[(&str, &str)], steps: &mut Vec<Step>) {
    let place = Place::Netns(name.clone());
    let sysctl = |optional| {
        let place = place.clone();
        move |&(key, value): &(&str, &str)| Step::Sysctl {
            place: place.clone(),
            key: key.into(),
            value: value.into(),
            optional,
        }
    };
    steps.push(Step::Netns { name });
    steps.extend(settings.iter().map(sysctl(false)));
    steps.extend(NO_IPV6.iter().map(sysctl(true)));
}

/// Brings a node's interfaces up and tells it where everything is.
pub(super) fn interfaces(layout: &Layout<'_>, node: &Node, steps: &mut Vec<Step>) {
    let place = layout.place(node);
    if place == Place::Root {
        return host::in_root(layout, node, steps);
    }
    steps.push(Step::LinkUp {
        place: place.clone(),
        dev: "lo".into(),
    });
    if node.role != Role::Host {
        steps.push(Step::Address {
            place: place.clone(),
            dev: "lo".into(),
            addr: node.addr,
        });
    }
    for &id in &node.ports {
        let port = layout.port(id);
        steps.push(Step::LinkUp {
            place: place.clone(),
            dev: port.interface.clone(),
        });
        steps.push(Step::Address {
            place: place.clone(),
            dev: port.interface.clone(),
            addr: port.addr,
        });
        steps.push(neighbour(layout, &place, id));
    }
    for route in &node.routes {
        steps.push(Step::Route(Route {
            place: place.clone(),
            table: MAIN_TABLE,
            to: route.to,
            way: way(layout, route.to, &route.via),
            src: None,
        }));
    }
}

/// Who is at the other end of a port's link.
pub(super) fn neighbour(layout: &Layout<'_>, place: &Place, port: PortId) -> Step {
    let peer = layout.port(port.peer());
    Step::Neighbour {
        place: place.clone(),
        dev: layout.port(port).interface.clone(),
        addr: peer.addr,
        mac: peer.mac,
    }
}

/// How a plan's route gets there: a host that is at the other end of a link needs no gateway.
pub(super) fn way(layout: &Layout<'_>, to: Prefix, via: &[PortId]) -> Way {
    if let [port] = *via
        && to.len == 32
        && to.addr == layout.port(port.peer()).addr
    {
        return Way::Link {
            dev: layout.port(port).interface.clone(),
        };
    }
    let hop = |&port: &PortId| NextHop {
        gateway: layout.port(port.peer()).addr,
        dev: layout.port(port).interface.clone(),
    };
    Way::Via(via.iter().map(hop).collect())
}

/// A switch forwards, hashes flows by their 5-tuple over equal routes (RoCEv2's UDP source port
/// tells QPs apart), does not use a route whose cable is cut, and does not second-guess where a
/// packet comes from. `ip_forward` is first because writing it resets others.
const ROUTER: &[(&str, &str)] = &[
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv4.fib_multipath_hash_policy", "1"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.conf.all.send_redirects", "0"),
    ("net.ipv4.conf.default.send_redirects", "0"),
    ("net.ipv4.conf.all.ignore_routes_with_linkdown", "1"),
    ("net.ipv4.conf.default.ignore_routes_with_linkdown", "1"),
];

const HOST: &[(&str, &str)] = &[
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
];

/// The lab speaks IPv4; IPv6's own chatter would be the only traffic nobody planned. Set before
/// there are interfaces, so that each is born with it.
const NO_IPV6: &[(&str, &str)] = &[
    ("net.ipv6.conf.all.disable_ipv6", "1"),
    ("net.ipv6.conf.default.disable_ipv6", "1"),
];
