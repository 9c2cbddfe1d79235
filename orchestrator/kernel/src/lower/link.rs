//! Lowering of links: pairs of interfaces, their queues, and the fibers between datacenters.

use lab_plan::model::{EcnConfig, Link, LinkKind, Node, Role, WirePlan};
use lab_units::{Bytes, Nanos, PortId, Ratio};

use super::{
    Clock, Layout,
    interface::{CLSACT, QUEUE_LEN, ROOT, offloads, root_group},
    pacer,
};
use crate::step::{
    DeviceChange, Handle, Namespace, Netem, Parent, Qdisc, QdiscAt, Red, Step, Tbf, Veth, VethEnd,
};

/// Appends the steps that create all veth pairs. Each end is created in its final namespace, because moving an
/// interface later takes milliseconds.
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
        let a = id.port_a();
        let b = id.port_b();
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
    let netns = layout.port_netns(port);
    let (group, index) = match netns {
        Namespace::Root => (root_group(layout), 0),
        Namespace::Named(_) => (0, FIRST_INDEX + port.0),
    };
    VethEnd {
        netns,
        dev: layout.port(port).interface.clone(),
        mac: layout.port(port).mac,
        group,
        index,
    }
}

fn fiber_end(layout: &Layout<'_>, port: PortId) -> VethEnd {
    let ports = u32::try_from(layout.plan.ports.len()).unwrap_or_default();
    VethEnd {
        netns: layout.fiber(),
        dev: layout.fiber_dev(port),
        mac: layout.fiber_mac(port),
        group: 0,
        index: FIRST_INDEX + ports + port.0,
    }
}

/// Appends the offload and queue settings of a node's interfaces. They must precede the steps that bring the interfaces
/// up, because attaching a queue to an interface that is up waits milliseconds for the packets of all CPUs.
pub(super) fn ends(layout: &Layout<'_>, node: &Node, steps: &mut Vec<Step>) {
    let netns = layout.netns(node);
    let devs = node.ports.iter().map(|&id| &layout.port(id).interface);
    steps.extend(devs.map(|dev| offloads(&netns, dev)));
    for &id in &node.ports {
        let dev = &layout.port(id).interface;
        let link = layout.link(id.link());
        steps.extend(egress(layout, &netns, dev, link, node).map(Step::Qdisc));
        if node.role == Role::Host {
            pacer::hooks(layout, &netns, dev, steps);
        }
    }
}

/// Appends the steps for the fibers, the delay lines of inter-DC links. Each end of a fiber forwards the packets that
/// it receives to the other end, after the fiber's delay.
pub(super) fn fiber(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    let netns = layout.fiber();
    let fibers = layout.fiber_ports();
    steps.extend(fibers.map(|port| offloads(&netns, &layout.fiber_dev(port))));
    for port in layout.fiber_ports() {
        let from = layout.fiber_dev(port);
        let to = layout.fiber_dev(port.peer());
        let wire = &layout.link(port.link()).emu;
        steps.extend(fiber_line(layout, port, wire).map(Step::Qdisc));
        let clsact = at(&netns, &from, Parent::Clsact, CLSACT, Qdisc::Clsact);
        steps.push(Step::Qdisc(clsact));
        steps.push(Step::device(&netns, &from, DeviceChange::Redirect(to)));
    }
    let up = |port| Step::device(&netns, &layout.fiber_dev(port), DeviceChange::Up);
    steps.extend(layout.fiber_ports().map(up));
}

/// Appends the steps that set receive packet steering on every interface, if more than one CPU receives packets.
pub(super) fn receiving_cpus(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    let Some(cpus) = layout.receiving_cpus() else {
        return;
    };
    let rps = |netns: &Namespace, dev: &str| Step::device(netns, dev, DeviceChange::Rps(cpus));
    for node in layout.nodes() {
        let netns = layout.netns(node);
        let ports = node.ports.iter();
        steps.extend(ports.map(|&id| rps(&netns, &layout.port(id).interface)));
    }
    let fibers = layout.fiber_ports();
    steps.extend(fibers.map(|port| rps(&layout.fiber(), &layout.fiber_dev(port))));
}

/// Returns the queueing disciplines for the egress of one end of a link.
pub(crate) fn egress(
    layout: &Layout<'_>,
    netns: &Namespace,
    dev: &str,
    link: &Link,
    node: &Node,
) -> impl Iterator<Item = QdiscAt> + use<> {
    let wire = &link.emu;
    let full = layout.options.delay_lines;
    if full && link.kind != LinkKind::InterDc {
        let line = Qdisc::Netem(Netem {
            limit: link.queue_packets(node.role, layout.frame()),
            ..wire.into()
        });
        return [Some(at(netns, dev, Parent::Root, ROOT, line)), None]
            .into_iter()
            .flatten();
    }
    let shaper = shaper(layout, wire, buffer(layout, link, node));
    // Agents mark packets at switches; a legacy switch has no agent and marks packets with `red`.
    let is_legacy = layout.plan.dcs[node.dc.index()].legacy;
    let marks = wire.ecn.filter(|_| full && is_legacy);
    let marking = marks.map(|ecn| {
        let red = Qdisc::Red(red(layout, &shaper, &ecn));
        at(netns, dev, Parent::Of(ROOT), CHILD, red)
    });
    let first = at(netns, dev, Parent::Root, ROOT, Qdisc::Tbf(shaper));
    [Some(first), marking].into_iter().flatten()
}

/// Returns the `red` qdisc that marks packets below the shaper of a legacy switch. The bytes that wait in the delay
/// line's `netem` are subtracted from the qdisc's thresholds and limit.
///
/// With probability p, `red` marks one packet after every 1 to 1/p packets, uniformly distributed, and so marks a share
/// of 2p/(1 + p). The plan specifies the share p; probability p/2 gives the share p/(1 + p/2), which is close.
/// <https://github.com/torvalds/linux/blob/v6.1/include/net/red.h>, `red_mark_probability`.
fn red(layout: &Layout<'_>, shaper: &Tbf, ecn: &EcnConfig) -> Red {
    let half = Ratio::new(1, 2);
    let early = shaper.burst.get() - layout.frame().get();
    let min = ecn.k_min.get().saturating_sub(early);
    let max = ecn.k_max.get().saturating_sub(early).max(min + 1);
    Red {
        limit: shaper.limit,
        min: Bytes::new(min),
        max: Bytes::new(max),
        probability: half
            .and_then(|half| ecn.p_max.times(half))
            .unwrap_or(ecn.p_max),
    }
}

/// Returns the size of the buffer that the plan assigns to a node for a link, in bytes, in addition to the packet that
/// is being sent.
pub(crate) fn buffer(layout: &Layout<'_>, link: &Link, node: &Node) -> Bytes {
    match link.kind {
        LinkKind::InterDc => layout.plan.transport.queue_limit(&link.emu),
        LinkKind::Fabric | LinkKind::Host => link.queue_bytes(node.role),
    }
}

fn at(netns: &Namespace, dev: &str, parent: Parent, handle: Handle, qdisc: Qdisc) -> QdiscAt {
    QdiscAt {
        netns: netns.clone(),
        dev: dev.to_owned(),
        parent,
        handle,
        qdisc,
    }
}

/// Returns the rate and queue of a switch's egress port, which holds `buffer` bytes in addition to the packet that is
/// being sent.
///
/// A bucket of one frame would suffice if timers were never late: tokens that arrive while a full bucket waits for its
/// timer are lost, which lowers the rate. The bucket therefore also holds the frames that leave within the maximum
/// timer delay. These frames may leave the queue early; they wait in the delay line's `netem`, which sends at exactly
/// the same rate. Queue and `netem` together hold the buffer, so the queue is shorter by the frames in `netem`. Only
/// whole frames leave early, so that all other frames leave at the same time as on an ideal link. A buffer that holds
/// fewer frames than the bucket cannot be emulated, and the link measurement reports this.
fn shaper(layout: &Layout<'_>, wire: &WirePlan, buffer: Bytes) -> Tbf {
    let late = match layout.options.clock {
        Clock::Virtual => LATEST_VIRTUAL_TIMER,
        Clock::Real => LATEST_REAL_TIMER,
    };
    let frame = layout.frame().get();
    let early = wire.rate_bps.bytes_in(late).get().next_multiple_of(frame);
    Tbf {
        rate: wire.rate_bps,
        burst: Bytes::new(frame + early),
        limit: Bytes::new(buffer.get().saturating_sub(early).max(frame)),
    }
}

/// Returns the delay line that leads to the switch of `port`; `None` if the lab has no delay lines.
pub(super) fn fiber_line(layout: &Layout<'_>, port: PortId, wire: &WirePlan) -> Option<QdiscAt> {
    let line = Qdisc::Netem(wire.into());
    let netns = layout.fiber();
    let dev = layout.fiber_dev(port);
    let at = at(&netns, &dev, Parent::Root, ROOT, line);
    layout.options.delay_lines.then_some(at)
}

const CHILD: Handle = Handle(0x10);

/// First interface index in namespaces of the lab; the port id is added.
///
/// The indices are the same in every run and differ between the ends of a pair; with equal indices, the kernel would
/// delay the carrier by up to a second (<https://github.com/torvalds/linux/blob/v6.1/net/core/link_watch.c>,
/// `linkwatch_urgent_event`). No interface of the root namespace has such an index, because the kernel counts from 1
/// there. rxe of Linux 6.1 looks up routes in the root namespace by the index of a host's interface; if there were an
/// interface with that index, rxe would send the flow to the user's network.
const FIRST_INDEX: u32 = 0x4c43_0000;

/// Maximum timer delay in virtual time: a timer waits for the instructions of earlier packets, which take 15 µs each.
const LATEST_VIRTUAL_TIMER: Nanos = Nanos::new(1_000_000);

/// Maximum timer delay in real time: timers of a loaded, emulated guest are almost never later than this.
const LATEST_REAL_TIMER: Nanos = Nanos::new(30_000_000);
