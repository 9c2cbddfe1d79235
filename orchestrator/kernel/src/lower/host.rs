//! Lowering of hosts whose NICs are in the root namespace, and of RDMA devices.
//!
//! A host's addresses are not in the `local` table, because packets to them from another host would then never leave
//! the machine. They are local in a separate table for each host, which three rules select: by the receiving interface,
//! by the interface to which a socket is bound (rxe passes it to route lookups), and by the source address. Rules of
//! the first kind precede the others, so that a packet from one host to another is received and not sent again. The
//! machine's own rules stay unchanged, and its other traffic matches none of the lab's rules.

use lab_plan::{
    address::{self, HostRule},
    model::{Node, Role},
};
use lab_units::{NodeId, PortId};

use super::{
    Layout,
    route::{neighbour, route_target},
};
use crate::step::{DeviceChange, Namespace, Route, RouteTarget, Rule, Selector, Step};

/// Appends the steps that configure a host's NICs in the root namespace.
pub(super) fn in_root(layout: &Layout<'_>, host: &Node, steps: &mut Vec<Step>) {
    for &id in &host.ports {
        nic(layout, host, id, steps);
    }
}

fn nic(layout: &Layout<'_>, host: &Node, id: PortId, steps: &mut Vec<Step>) {
    let port = layout.port(id);
    let dev = &port.interface;
    let table = layout.table(port.node);
    let route = |to, target, src| {
        Step::Route(Route {
            netns: Namespace::Root,
            table,
            to,
            target,
            src,
        })
    };

    let setting = |&(family, name, value, optional): &(&str, &str, &str, bool)| Step::Sysctl {
        netns: Namespace::Root,
        key: format!("net.{family}.conf.{dev}.{name}"),
        value: value.into(),
        optional,
    };
    steps.extend(NIC_SETTINGS.iter().map(setting));
    // Rules are added before the addresses, so that packets with these addresses never match other rules.
    let from = host
        .addrs()
        .map(|addr| (HostRule::From, Selector::From(addr)));
    let selectors = [
        (HostRule::In, Selector::Iif(dev.clone())),
        (HostRule::Out, Selector::Oif(dev.clone())),
    ];
    for (kind, selector) in selectors.into_iter().chain(from) {
        steps.push(Step::Rule(Rule {
            netns: Namespace::Root,
            priority: address::rule_priority(layout.plan.slot, kind),
            selector,
            table,
        }));
    }
    let root = Namespace::Root;
    let addresses = host
        .addrs()
        .flat_map(|addr| [DeviceChange::Address(addr), DeviceChange::NotLocal(addr)]);
    let changes = [DeviceChange::Up].into_iter().chain(addresses);
    steps.extend(changes.map(|change| Step::device(&root, dev, change)));
    steps.push(neighbour(layout, &root, id));
    // The kernel accepts a route's source address only if the address is local in the route's table.
    for addr in host.addrs() {
        let local = RouteTarget::Local { dev: dev.clone() };
        steps.push(route(address::single(addr), local, None));
    }
    for planned in &host.routes {
        let target = route_target(layout, planned.to, &planned.via);
        steps.push(route(planned.to, target, Some(port.addr)));
    }
}

/// Appends the steps that create an RDMA device on each NIC of every host.
pub(crate) fn rxe_devices(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    for host in layout.nodes().filter(|node| node.role == Role::Host) {
        for &id in &host.ports {
            let dev = &layout.port(id).interface;
            let rxe = DeviceChange::Rxe(address::rxe_device(dev));
            steps.push(Step::device(&layout.netns(host), dev, rxe));
        }
    }
}

/// Returns the name of a host's first RDMA device; `None` if the host has no port.
pub(crate) fn rdma_device(layout: &Layout<'_>, host: NodeId) -> Option<String> {
    let port = *layout.node(host).ports.first()?;
    Some(address::rxe_device(&layout.port(port).interface))
}

/// Sysctls of a NIC as (family, name, value, optional). With them, the NIC accepts packets from addresses that also
/// belong to this machine, and does not answer ARP requests for addresses of other interfaces.
const NIC_SETTINGS: &[(&str, &str, &str, bool)] = &[
    ("ipv6", "disable_ipv6", "1", true),
    ("ipv4", "rp_filter", "0", false),
    ("ipv4", "accept_local", "1", false),
    ("ipv4", "arp_ignore", "1", false),
];
