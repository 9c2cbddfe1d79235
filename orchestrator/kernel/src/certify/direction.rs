//! Directions of links, with the parameters that the plan specifies for each direction.

use lab_plan::model::{Link, WirePlan};
use lab_units::{Bytes, PortId};

use crate::{
    lower::{Layout, buffer, egress},
    step::Qdisc,
};

/// One direction of a link, with its ports and its queue.
#[derive(Clone, Debug)]
pub(super) struct LinkDirection<'a> {
    pub link: &'a Link,
    /// Port that sends in this direction.
    pub from: PortId,
    /// Port that receives in this direction.
    pub to: PortId,
    /// Names of the sending and the receiving node.
    pub names: [String; 2],
    pub queue: Queue,
    /// Size of the largest frame, bytes.
    pub frame: Bytes,
}

/// Egress queue of a link direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Queue {
    /// Queue that is limited in bytes. The shaper lets `burst` bytes through at once.
    Bytes { burst: Bytes, buffer: Bytes },
    /// Combined queue and delay line, limited in packets.
    Packets { limit: u64 },
}

impl LinkDirection<'_> {
    /// Returns the parameters of the emulated link.
    pub const fn wire(&self) -> &WirePlan {
        &self.link.emu
    }

    /// Returns the queue's capacity in frames of the largest size, not counting the frame that is leaving.
    pub fn queue_frames(&self) -> u64 {
        match self.queue {
            Queue::Bytes { buffer, .. } => buffer.get() / self.frame.get(),
            Queue::Packets { limit } => limit,
        }
    }

    /// Returns the number of frames of the largest size that the shaper's token bucket lets through at once.
    pub fn burst_frames(&self) -> u64 {
        match self.queue {
            Queue::Bytes { burst, .. } => burst.get().div_ceil(self.frame.get()),
            Queue::Packets { .. } => 0,
        }
    }
}

/// Returns both directions of every link.
pub(super) fn directions<'a>(layout: &Layout<'a>) -> Vec<LinkDirection<'a>> {
    layout
        .links()
        .flat_map(|(id, link)| {
            let a = id.port_a();
            let b = id.port_b();
            [(a, b), (b, a)].map(|(from, to)| direction(layout, link, from, to))
        })
        .collect()
}

fn direction<'a>(
    layout: &Layout<'a>,
    link: &'a Link,
    from: PortId,
    to: PortId,
) -> LinkDirection<'a> {
    let node = |port| layout.node(layout.port(port).node);
    let netns = layout.port_netns(from);
    let dev = &layout.port(from).interface;
    let root = egress(layout, &netns, dev, link, node(from)).next();
    let queue = match root.map(|at| at.qdisc) {
        // The queue must hold the plan's number of bytes, regardless of the limit that the shaper was given.
        Some(Qdisc::Tbf(tbf)) => Queue::Bytes {
            burst: tbf.burst,
            buffer: buffer(layout, link, node(from)),
        },
        Some(Qdisc::Netem(netem)) => Queue::Packets {
            limit: netem.limit.into(),
        },
        Some(Qdisc::Red(_) | Qdisc::Fq(_) | Qdisc::Clsact) | None => {
            Queue::Packets { limit: u64::MAX }
        }
    };
    LinkDirection {
        link,
        from,
        to,
        names: [from, to].map(|port| node(port).name.clone()),
        queue,
        frame: layout.frame(),
    }
}
