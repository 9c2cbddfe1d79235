//! Warnings about queues that may overflow, and about ECN marking without effect.

use lab_abi::{dcqcn::MAX_THRESHOLD, rows::WAIT_UNIT_BITS};
use lab_units::{
    Bytes, Nanos,
    show::{about_bytes, about_time},
};

use super::inspection::{Inspection, LARGER_SIZES, warning};
use crate::{
    frame,
    model::{EcnConfig, Link, LinkKind, Warning},
    round_trip,
};

pub(super) fn short_queues(inspection: &Inspection<'_>) -> Option<Warning> {
    let sent = round_trip::max_wire_bytes(inspection.flows);
    let is_short = |link: &&Link| {
        let wire = &link.emu;
        let in_flight = wire.rate_bps.bytes_in(wire.delay_ns);
        wire.buffer_bytes < in_flight.min(sent)
    };
    let links = inspection.network.links.iter();
    let inter_dc = links.filter(|link| link.kind == LinkKind::InterDc);
    let short: Vec<&Link> = inter_dc.clone().filter(is_short).collect();
    let first = short.first()?;
    let reaction = match inspection.transport.cc.in_lab() {
        None => "SoftRoCE has no congestion control",
        Some(_) => "DCQCN reacts a round trip later",
    };
    let text = format!(
        "{} of {} inter-DC links have egress queues that are smaller than the data in flight on the link; \
         {reaction}, so bursts can overflow the queues and cause retransmissions (`{}`: {} of buffer, {} in \
         flight; hint: raise `buffer`)",
        short.len(),
        inter_dc.count(),
        first.name,
        first.paper.buffer_bytes,
        first.paper.rate_bps.bytes_in(first.paper.delay_ns),
    );
    Some(warning("short-queues", text))
}

pub(super) fn tiny_queues(inspection: &Inspection<'_>) -> Option<Warning> {
    // Under PFC, a switch's ports share its buffer.
    if inspection.transport.has_pfc_in_lab() {
        return None;
    }
    let packet = frame::data(u64::from(inspection.rdma.path_mtu), 0);
    let min = Bytes::new(packet * MIN_QUEUE_PACKETS);
    let tiny = inspection
        .network
        .links
        .iter()
        .find(|link| link.emu.buffer_bytes < min)?;
    let text = format!(
        "`{}` can queue {} after scaling, less than {MIN_QUEUE_PACKETS} packets, so any burst loses packets (hint: \
         {LARGER_SIZES}, or raise `buffer`)",
        tiny.name, tiny.emu.buffer_bytes,
    );
    Some(warning("tiny-queues", text))
}

pub(super) fn ecn_not_capable(inspection: &Inspection<'_>) -> Option<Warning> {
    let mut links = inspection.network.links.iter();
    // The kernel engine marks packets only at inter-DC links.
    let is_marked = |link: &&Link| link.kind == LinkKind::InterDc && link.emu.ecn.is_some();
    let marked = links.find(is_marked)?;
    let capable = matches!(inspection.rdma.traffic_class & 3, 1 | 2);
    (!capable).then(|| {
        let text = format!(
            "`{}` marks ECN, but packets of traffic class {} are not ECN-capable, so they are dropped instead of \
             marked (hint: set the lowest two bits of the class to 2)",
            marked.name, inspection.rdma.traffic_class
        );
        warning("ecn-not-capable", text)
    })
}

/// Returns a warning about queues that mark earlier than configured, because a switch program measures waiting times
/// only up to a maximum.
pub(super) fn capped_ecn(inspection: &Inspection<'_>) -> Option<Warning> {
    let max = Nanos::new(MAX_THRESHOLD << WAIT_UNIT_BITS);
    let is_capped = |link: &&Link| {
        let wait = |ecn: EcnConfig| link.emu.rate_bps.serialize(ecn.k_max);
        link.emu
            .ecn
            .filter(|_| link.kind == LinkKind::InterDc)
            .is_some_and(|ecn| wait(ecn).is_none_or(|wait| wait > max))
    };
    let link = inspection.network.links.iter().find(is_capped)?;
    let wire = &link.emu;
    let text = format!(
        "`{}` has a `k_max` of {} after scaling, which takes more than {} to send, the longest waiting time that a \
         switch program can measure, so thresholds above {} count as this size (hint: lower `k_min` and `k_max`; the \
         simulator has no such limit)",
        link.name,
        about_bytes(wire.ecn?.k_max),
        about_time(max),
        about_bytes(wire.rate_bps.bytes_in(max)),
    );
    Some(warning("ecn-capped", text))
}

/// Returns a warning about ECN inside datacenters, where the kernel engine does not mark: each end of such a link has
/// only one qdisc, which limits the rate.
pub(super) fn ecn_inside_dcs(inspection: &Inspection<'_>) -> Option<Warning> {
    let marking = inspection
        .network
        .links
        .iter()
        .filter(|link| link.kind != LinkKind::InterDc && link.emu.ecn.is_some());
    let names: Vec<String> = marking.map(|link| format!("`{}`", link.name)).collect();
    if names.is_empty() {
        return None;
    }
    let shown = names.len().min(NAMED_LINKS);
    let mut text = names[..shown].join(", ");
    if names.len() > shown {
        text += &format!(" and {} more", names.len() - shown);
    }
    text += " have `ecn` but are inside datacenters, where only the simulator marks packets, not the kernel engine \
    (hint: leave it out for `up`, or compare with `sim`)";
    Some(warning("ecn-inside-dc", text))
}

/// Maximum number of links that a warning names.
const NAMED_LINKS: usize = 8;

/// Number of packets below which a queue overflows at any burst.
const MIN_QUEUE_PACKETS: u64 = 8;
