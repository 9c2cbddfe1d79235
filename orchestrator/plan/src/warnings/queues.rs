//! Queues that drop.

use lab_units::Bytes;

use super::{Inspection, warning};
use crate::{
    frame,
    model::{Link, LinkKind, Warning},
    schedule,
};

pub(super) fn short_queues(inspection: &Inspection<'_>) -> Option<Warning> {
    let sent = schedule::most_wire_bytes(inspection.flows);
    let is_short = |link: &&Link| {
        let wire = &link.emu;
        let way = wire.rate_bps.bytes_in(wire.delay_ns);
        wire.buffer_bytes < way.min(sent)
    };
    let links = inspection.network.links.iter();
    let inter_dc = links.filter(|link| link.kind == LinkKind::InterDc);
    let short: Vec<&Link> = inter_dc.clone().filter(is_short).collect();
    let first = short.first()?;
    let text = format!(
        "{} of {} inter-DC links have egress queues that hold less than the link itself; SoftRoCE \
         has no congestion control, so bursts can drop packets and be sent again (`{}`: {} of \
         buffer, {} under way; hint: raise `buffer`)",
        short.len(),
        inter_dc.count(),
        first.name,
        first.paper.buffer_bytes,
        first.paper.rate_bps.bytes_in(first.paper.delay_ns),
    );
    Some(warning("short-queues", text))
}

pub(super) fn tiny_queues(inspection: &Inspection<'_>) -> Option<Warning> {
    let packet = frame::data(u64::from(inspection.rdma.path_mtu), 0);
    let least = Bytes::new(packet * LEAST_QUEUE_PACKETS);
    let mut links = inspection.network.links.iter();
    let tiny = links.find(|link| link.emu.buffer_bytes < least)?;
    let text = format!(
        "`{}` queues {} after scaling, less than {LEAST_QUEUE_PACKETS} packets, so any burst drops \
         (hint: scale sizes less, or raise `buffer`)",
        tiny.name, tiny.emu.buffer_bytes,
    );
    Some(warning("tiny-queues", text))
}

pub(super) fn ecn_not_capable(inspection: &Inspection<'_>) -> Option<Warning> {
    let mut links = inspection.network.links.iter();
    let marked = links.find(|link| link.emu.ecn.is_some())?;
    let capable = matches!(inspection.rdma.traffic_class & 3, 1 | 2);
    (!capable).then(|| {
        let text = format!(
            "`{}` marks ECN but traffic class {} says that flows are not ECN-capable, so their \
             packets are dropped instead (hint: set the lowest two bits to 2)",
            marked.name, inspection.rdma.traffic_class
        );
        warning("ecn-not-capable", text)
    })
}

/// Fewer packets are not a queue.
const LEAST_QUEUE_PACKETS: u64 = 8;
