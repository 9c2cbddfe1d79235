//! Lowering of nodes: their namespaces, and the addresses, neighbours and routes of their interfaces.

use lab_plan::model::{Node, Role};

use super::{
    Layout, host,
    route::{neighbour, route_target},
};
use crate::{
    name::NetnsName,
    step::{DeviceChange, MAIN_TABLE, Namespace, Route, Step},
};

/// Returns the step that raises each CPU's receive backlog. The windows of all QPs may arrive at the same time, and the
/// kernel's default backlog of 1,000 packets would then drop packets silently.
pub(super) fn backlog() -> Step {
    Step::SharedSysctl {
        key: "net.core.netdev_max_backlog".into(),
        at_least: 20_000,
    }
}

/// Appends the steps that make a namespace for every switch, for every host outside the root namespace, and for the
/// delay lines.
pub(super) fn namespaces(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    for node in layout.nodes() {
        if let Namespace::Named(name) = layout.netns(node) {
            let settings = match node.role {
                Role::DciSwitch | Role::Spine | Role::Leaf => ROUTER,
                Role::Host => HOST,
            };
            namespace(name, settings, steps);
        }
    }
    if layout.fiber_ports().next().is_some()
        && let Namespace::Named(name) = layout.fiber()
    {
        namespace(name, &[], steps);
    }
}

fn namespace(name: NetnsName, settings: &[(&str, &str)], steps: &mut Vec<Step>) {
    let netns = Namespace::Named(name.clone());
    let sysctl = |optional| {
        let netns = netns.clone();
        move |&(key, value): &(&str, &str)| Step::Sysctl {
            netns: netns.clone(),
            key: key.into(),
            value: value.into(),
            optional,
        }
    };
    steps.push(Step::Netns { name });
    steps.extend(settings.iter().map(sysctl(false)));
    steps.extend(NO_IPV6.iter().map(sysctl(true)));
}

/// Appends the steps that bring a node's interfaces up and add its addresses and routes.
pub(super) fn interfaces(layout: &Layout<'_>, node: &Node, steps: &mut Vec<Step>) {
    let netns = layout.netns(node);
    if netns == Namespace::Root {
        return host::in_root(layout, node, steps);
    }
    steps.push(Step::device(&netns, "lo", DeviceChange::Up));
    if node.role != Role::Host {
        let address = DeviceChange::Address(node.addr);
        steps.push(Step::device(&netns, "lo", address));
    }
    for &id in &node.ports {
        let port = layout.port(id);
        let addrs = [port.addr].into_iter().chain(node.further_addrs.clone());
        let changes = [DeviceChange::Up]
            .into_iter()
            .chain(addrs.map(DeviceChange::Address));
        steps.extend(changes.map(|change| Step::device(&netns, &port.interface, change)));
        steps.push(neighbour(layout, &netns, id));
    }
    for route in &node.routes {
        steps.push(Step::Route(Route {
            netns: netns.clone(),
            table: MAIN_TABLE,
            to: route.to,
            target: route_target(layout, route.to, &route.via),
            src: None,
        }));
    }
}

/// Sysctls of a switch. It forwards packets, hashes the 5-tuple over equal routes (the UDP source port of RoCEv2
/// differs between QPs), ignores routes whose cable is cut, and does not filter by source address. `ip_forward` comes
/// first because writing it resets other sysctls.
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

/// Sysctls of a host that has its own namespace.
const HOST: &[(&str, &str)] = &[
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
];

/// Sysctls that disable IPv6, whose control packets would be the only unplanned traffic. They are set before any
/// interface exists and therefore apply to every interface.
const NO_IPV6: &[(&str, &str)] = &[
    ("net.ipv6.conf.all.disable_ipv6", "1"),
    ("net.ipv6.conf.default.disable_ipv6", "1"),
];
