//! Hosts whose NIC is in the root namespace, and RDMA devices.
//!
//! A host's address is not in the `local` table: the packets to it that another host sends would
//! never leave the machine. It is local in a table of the host's own, which three rules select: by
//! the interface packets came in by, by the interface a socket is bound to (rxe's route lookups
//! name it), and by source address. Rules of the first kind come before the others, so that a
//! packet from one host to another is received, not sent again. The root's own rules stay where
//! they are and the machine's other traffic matches none of ours.

use lab_plan::{
    address::{self, HostRule},
    model::{Node, Role},
};
use lab_units::{NodeId, PortId};

use super::{Layout, node};
use crate::step::{Matches, Place, Route, Rule, Step, Way};

/// Brings up a host's NIC in the root namespace.
pub(super) fn in_root(layout: &Layout<'_>, host: &Node, steps: &mut Vec<Step>) {
    for &id in &host.ports {
        nic(layout, host, id, steps);
    }
}

fn nic(layout: &Layout<'_>, host: &Node, id: PortId, steps: &mut Vec<Step>) {
    let port = layout.port(id);
    let dev = &port.interface;
    let table = layout.table(port.node);
    let route = |to, way, src| {
        Step::Route(Route {
            place: Place::Root,
            table,
            to,
            way,
            src,
        })
    };

    let setting = |&(family, name, value, optional): &(&str, &str, &str, bool)| Step::Sysctl {
        place: Place::Root,
        key: format!("net.{family}.conf.{dev}.{name}"),
        value: value.into(),
        optional,
    };
    steps.extend(NIC_SETTINGS.iter().map(setting));
    // Rules before the address: packets to and from it are never anyone else's.
    for (kind, matches) in [
        (HostRule::In, Matches::In(dev.clone())),
        (HostRule::Out, Matches::Out(dev.clone())),
        (HostRule::From, Matches::From(port.addr)),
    ] {
        steps.push(Step::Rule(Rule {
            place: Place::Root,
            priority: address::rule_priority(layout.plan.slot, kind),
            matches,
            table,
        }));
    }
    steps.push(Step::LinkUp {
        place: Place::Root,
        dev: dev.clone(),
    });
    steps.push(Step::Address {
        place: Place::Root,
        dev: dev.clone(),
        addr: port.addr,
    });
    steps.push(Step::NotLocal {
        place: Place::Root,
        dev: dev.clone(),
        addr: port.addr,
    });
    steps.push(node::neighbour(layout, &Place::Root, id));
    // First, because routes with a source address need it to be local in their own table.
    let local = Way::Local { dev: dev.clone() };
    steps.push(route(address::single(port.addr), local, None));
    for planned in &host.routes {
        let way = node::way(layout, planned.to, &planned.via);
        steps.push(route(planned.to, way, Some(port.addr)));
    }
}

/// An RDMA device on every host's NIC.
pub(crate) fn rxe_devices(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    for host in layout.nodes().filter(|node| node.role == Role::Host) {
        for &id in &host.ports {
            let dev = layout.port(id).interface.clone();
            steps.push(Step::Rxe {
                place: layout.place(host),
                name: address::rxe_device(&dev),
                dev,
            });
        }
    }
}

/// The RDMA device of a host.
pub(crate) fn rdma_device(layout: &Layout<'_>, host: NodeId) -> Option<String> {
    let port = *layout.node(host).ports.first()?;
    Some(address::rxe_device(&layout.port(port).interface))
}

/// Of this interface alone: packets may come from addresses that are this machine's too, and what
/// is asked on one interface about another's address is not answered.
const NIC_SETTINGS: &[(&str, &str, &str, bool)] = &[
    ("ipv6", "disable_ipv6", "1", true),
    ("ipv4", "rp_filter", "0", false),
    ("ipv4", "accept_local", "1", false),
    ("ipv4", "arp_ignore", "1", false),
];
