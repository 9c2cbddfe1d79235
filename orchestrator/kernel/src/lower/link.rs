//! Links: pairs of interfaces, their queues, and the fiber between datacenters.

use lab_plan::model::{Link, LinkKind, Node, Role, WirePlan};
use lab_units::{Bytes, Nanos, PortId};

use super::{Clock, Layout};
use crate::step::{Handle, Netem, Parent, Place, Qdisc, QdiscAt, Red, Step, Tbf, Veth, VethEnd};

/// Makes all pairs of interfaces, each end where it stays: moving one later costs milliseconds.
pub(super) fn pairs(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    let pair = |a, b| {
        Step::Veth(Veth {
            a,
            b,
            mtu: layout.plan.rdma.interface_mtu,
            queue_len: QUEUE_LEN,
        })
    };
    for (id, link) in layout.links() {
        let (a, b) = (id.port_a(), id.port_b());
        match link.kind {
            LinkKind::InterDc => {
                steps.push(pair(end(layout, a), fiber_end(layout, a)));
                steps.push(pair(end(layout, b), fiber_end(layout, b)));
            }
            LinkKind::Fabric | LinkKind::Host => {
                steps.push(pair(end(layout, a), end(layout, b)));
            }
        }
    }
}

fn end(layout: &Layout<'_>, port: PortId) -> VethEnd {
    let place = layout.port_place(port);
    let (group, index) = match place {
        Place::Root => (ROOT_GROUP + u32::from(layout.plan.slot), 0),
        Place::Netns(_) => (0, FIRST_INDEX + port.0),
    };
    VethEnd {
        place,
        dev: layout.port(port).interface.clone(),
        mac: layout.mac(port),
        group,
        index,
    }
}

fn fiber_end(layout: &Layout<'_>, port: PortId) -> VethEnd {
    let ports = u32::try_from(layout.plan.ports.len()).unwrap_or_default();
    VethEnd {
        place: layout.fiber(),
        dev: layout.fiber_dev(port),
        mac: layout.fiber_mac(port),
        group: 0,
        index: FIRST_INDEX + ports + port.0,
    }
}

/// Readies the interfaces of a node before they are up: attaching a queue to one that is up waits
/// for the packets of all CPUs, milliseconds each time.
pub(super) fn ends(layout: &Layout<'_>, node: &Node, steps: &mut Vec<Step>) {
    let place = layout.place(node);
    let devs = node.ports.iter().map(|&id| &layout.port(id).interface);
    steps.extend(devs.map(|dev| offloads(&place, dev)));
    for &id in &node.ports {
        let dev = &layout.port(id).interface;
        let link = layout.link(id.link());
        steps.extend(egress(layout, &place, dev, link, node.role).map(Step::Qdisc));
    }
}

/// The fibers' ends, each sending all that comes in out at the other, after its time in the fiber.
pub(super) fn fiber(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    let place = layout.fiber();
    for port in layout.fiber_ports() {
        steps.push(offloads(&place, &layout.fiber_dev(port)));
    }
    for port in layout.fiber_ports() {
        let (from, to) = (layout.fiber_dev(port), layout.fiber_dev(port.peer()));
        let wire = &layout.link(port.link()).emu;
        steps.extend(fiber_line(layout, port, wire).map(Step::Qdisc));
        steps.push(Step::Qdisc(QdiscAt {
            place: place.clone(),
            dev: from.clone(),
            parent: Parent::Clsact,
            handle: CLSACT,
            qdisc: Qdisc::Clsact,
        }));
        steps.push(Step::Redirect {
            place: place.clone(),
            from,
            to,
        });
    }
    for port in layout.fiber_ports() {
        steps.push(Step::LinkUp {
            place: place.clone(),
            dev: layout.fiber_dev(port),
        });
    }
}

/// Lets flows choose their CPU on every interface, where there is a choice.
pub(super) fn receiving_cpus(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    let Some(cpus) = layout.receiving_cpus() else {
        return;
    };
    let rps = |place, dev| Step::Rps { place, dev, cpus };
    for node in layout.nodes() {
        let devs = node
            .ports
            .iter()
            .map(|&id| layout.port(id).interface.clone());
        steps.extend(devs.map(|dev| rps(layout.place(node), dev)));
    }
    let fibers = layout.fiber_ports();
    steps.extend(fibers.map(|port| rps(layout.fiber(), layout.fiber_dev(port))));
}

fn offloads(place: &Place, dev: &str) -> Step {
    Step::Offloads {
        place: place.clone(),
        dev: dev.to_owned(),
    }
}

/// The queueing disciplines of the egress of one end of a link.
pub(super) fn egress(
    layout: &Layout<'_>,
    place: &Place,
    dev: &str,
    link: &Link,
    role: Role,
) -> impl Iterator<Item = QdiscAt> + use<> {
    let wire = &link.emu;
    let full = layout.options.delay_lines;
    let first = match link.kind {
        LinkKind::InterDc => Qdisc::Tbf(shaper(layout, wire, wire.buffer_bytes)),
        LinkKind::Fabric | LinkKind::Host if full => Qdisc::Netem(Netem {
            limit: link.netem_packets(role),
            ..line(wire)
        }),
        LinkKind::Fabric | LinkKind::Host => {
            Qdisc::Tbf(shaper(layout, wire, link.queue_bytes(role)))
        }
    };
    let marks = wire.ecn.filter(|_| full && link.kind == LinkKind::InterDc);
    let second = marks.map(|ecn| QdiscAt {
        place: place.clone(),
        dev: dev.to_owned(),
        parent: Parent::Of(ROOT),
        handle: CHILD,
        qdisc: Qdisc::Red(Red {
            limit: wire.buffer_bytes,
            min: ecn.k_min,
            max: ecn.k_max,
            probability: ecn.p_max,
        }),
    });
    [Some(root(place, dev, first)), second]
        .into_iter()
        .flatten()
}

fn root(place: &Place, dev: &str, qdisc: Qdisc) -> QdiscAt {
    QdiscAt {
        place: place.clone(),
        dev: dev.to_owned(),
        parent: Parent::Root,
        handle: ROOT,
        qdisc,
    }
}

/// Rate and queue of a switch's egress.
///
/// A bucket of one frame would do if timers were never late: tokens that come while a full bucket
/// waits for its timer are lost, and with them rate. The bucket holds what comes in the time a timer
/// may be late by. So much may leave the queue early; it waits in the delay line's `netem` instead,
/// which sends at the same rate to the nanosecond.
fn shaper(layout: &Layout<'_>, wire: &WirePlan, limit: Bytes) -> Tbf {
    let late = match layout.options.clock {
        Clock::Virtual => LATEST_VIRTUAL_TIMER,
        Clock::Real => LATEST_REAL_TIMER,
    };
    Tbf {
        rate: wire.rate_bps,
        burst: layout.frame() + wire.rate_bps.bytes_in(late),
        limit: limit.max(layout.frame()),
    }
}

/// The delay line towards the switch whose port's cable ends here.
pub(super) fn fiber_line(layout: &Layout<'_>, port: PortId, wire: &WirePlan) -> Option<QdiscAt> {
    let line = Qdisc::Netem(line(wire));
    let at = || root(&layout.fiber(), &layout.fiber_dev(port), line);
    layout.options.delay_lines.then(at)
}

fn line(wire: &WirePlan) -> Netem {
    Netem {
        delay: wire.delay_ns,
        rate: wire.rate_bps,
        limit: wire.delay_line_packets,
        loss: wire.loss,
    }
}

const ROOT: Handle = Handle(1);
const CHILD: Handle = Handle(0x10);
/// The kernel's own number for it.
const CLSACT: Handle = Handle(0xffff);

/// Interfaces are numbered by their ports: alike in every run, and never alike at both ends of a
/// pair, which would make the kernel wait up to a second before it tells that the pair is up
/// (<https://github.com/torvalds/linux/blob/v6.1/net/core/link_watch.c>, `linkwatch_urgent_event`).
const FIRST_INDEX: u32 = 1_000;

/// Interface groups of the slots, whose members in the root namespace are deleted in one go: one by
/// one costs tens of milliseconds each. A number nobody types.
const ROOT_GROUP: u32 = 0x6c63_6d00;

/// Interfaces queue in their disciplines, which have limits of their own.
const QUEUE_LEN: u32 = 1_000;

/// Timers of a guest in virtual time wait for the instructions of packets before them: 15 µs for
/// each.
const LATEST_VIRTUAL_TIMER: Nanos = Nanos::new(1_000_000);

/// Later than nearly all timers of a loaded software-emulated guest.
const LATEST_REAL_TIMER: Nanos = Nanos::new(30_000_000);
