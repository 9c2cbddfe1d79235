//! Trains: several packets of one flow that are one event at each port.
//!
//! A train is a [`Packet`] with followers. Its arrival is that of its first packet, which a switch forwards at once; the
//! time at which its last packet arrives travels with it. Queues, buffers and counters count all its bytes, and a link
//! is busy for as long as it takes to send them. A host processes a train when its last packet has arrived, and answers
//! with an ACK that keeps the links busy like the ACKs of all its packets.

use lab_plan::Role;

use super::Partition;
use crate::{
    cc::CongestionControl,
    event::EventKind,
    network::WireClock,
    packet::{Kind, Packet},
    semantics::SemanticsRules,
    time::SimTime,
};

/// Part of its window that a QP sends as one train at most.
const WINDOW_PART: u64 = 8;

/// Train at a host whose last packet has not arrived yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    port: u32,
    packet: Packet,
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Returns the wire bytes of `packet` and its followers.
    #[inline]
    pub(super) fn size_of(&self, packet: &Packet) -> u64 {
        let last = u64::from(packet.bytes);
        match packet.followers() {
            0 => last,
            followers => last + followers * u64::from(self.unit_of(packet)),
        }
    }

    /// Returns the wire bytes of every packet but the last in the train of `packet`.
    #[inline]
    pub(super) fn unit_of(&self, packet: &Packet) -> u32 {
        if packet.kind() == Kind::Data {
            self.world.full_bytes
        } else {
            u32::from(packet.bytes)
        }
    }

    /// Returns how many packets the QP in `slot` sends next as one train: at most an eighth of its window, so that ACKs
    /// return while it sends. The window, the flow's end and the sizes at which UCMP chooses again end a train. A longer
    /// train leaves no last packet alone behind it.
    #[inline]
    pub(super) fn train_length(&self, slot: u32) -> u32 {
        let trains = &self.world.trains;
        if trains.max == 1 {
            return 1;
        }
        let Some(qp) = self.qps.get(slot) else {
            return 1;
        };
        let flow = &self.world.flows[qp.flow as usize];
        let payload = u64::from(self.world.transport.payload);
        let unacked = u64::from(qp.next - qp.acked) * payload;
        let room = qp.window.saturating_sub(unacked).div_ceil(payload).max(1);
        let to_dc = self.world.network.nodes[flow.dst as usize].dc;
        let end = trains.next_cut(to_dc, qp.next).min(flow.packets);
        let turn = if trains.shares_round {
            let nic = &self.nics[(flow.src - self.first_node) as usize];
            trains.shared_turn(nic.scheduler.ready().count())
        } else {
            trains.max
        };
        let part = (qp.window / payload / WINDOW_PART).max(1);
        let most = u32::try_from(room.min(part)).unwrap_or(u32::MAX);
        let length = (end - qp.next).min(turn).min(most);
        // A switch forwards a train when its first packet arrives. A short last packet in a train of its own could
        // therefore pass the end of the train before it at a faster link.
        let leaves_one = qp.next + length + 1 == flow.packets;
        if leaves_one && length > 1 {
            length - 1
        } else {
            length
        }
    }

    /// Returns the serialisation time of `packet` and its followers at the link of `port`.
    #[inline]
    pub(super) fn time_on_wire(&self, port: u32, packet: &Packet) -> SimTime {
        let clock = &self.ports[(port - self.first_port) as usize].clock;
        let last = S::clock(clock.on_wire(packet.bytes.into()));
        match packet.followers() {
            0 => last,
            followers => S::clock(clock.on_wire(self.unit_of(packet))).times(followers) + last,
        }
    }

    /// Returns the time that the last packet in the train of `packet` took to arrive at the node that sends it through
    /// `port`; for a host's own packets, the time of a full one.
    #[inline]
    pub(super) fn last_in(&self, port: u32, packet: &Packet) -> SimTime {
        let state = &self.ports[(port - self.first_port) as usize];
        if state.role == Role::Host {
            return S::clock(state.clock.on_wire(self.world.full_bytes));
        }
        let clock = self.ingress_clock(port, packet);
        S::clock(clock.on_wire(packet.bytes.into()))
    }

    /// Returns the clock of the link over which `packet` has come to the switch of `port`.
    #[inline]
    fn ingress_clock(&self, port: u32, packet: &Packet) -> WireClock {
        let node = self.node_of(port);
        let first = self.world.network.nodes[node as usize].ports.start;
        let ingress = first + u32::from(packet.ingress) - self.first_port;
        self.ports[ingress as usize].clock
    }

    /// Processes a packet that arrives at the host of `port`. A train waits for its last packet, which arrives after
    /// those of the flow's earlier trains.
    #[inline]
    pub(super) fn arrive_at_host(&mut self, port: u32, packet: Packet) {
        if self.world.trains.max == 1 || packet.kind() != Kind::Data {
            return self.receive(port, packet);
        }
        let taken = self.time_on_wire(port, &packet);
        let flow = &self.world.flows[packet.flow as usize];
        let receiver = &mut self.receivers[flow.receiving as usize];
        let last_at = match packet.followers() {
            0 => self.now,
            _ => packet.last_at(),
        };
        // The host's link takes this time to deliver the train after the flow's previous one.
        let last_at = last_at.max(receiver.last_at + taken);
        receiver.last_at = last_at;
        if last_at <= self.now {
            return self.receive(port, packet);
        }
        let slot = self.held.insert(Held { port, packet });
        self.events.push(last_at, EventKind::LastArrival, slot);
    }

    /// Processes the train in `slot`, whose last packet has arrived.
    pub(super) fn last_arrival_due(&mut self, slot: u32) {
        if let Some(Held { port, packet }) = self.held.remove(slot) {
            self.receive(port, packet);
        }
    }

    /// Splits a train that the egress queue at `egress` has no room for into the packets that fit and the rest; `None`
    /// if none fits.
    #[cold]
    pub(super) fn split_at_limit(&self, egress: u32, packet: &Packet) -> Option<(Packet, Packet)> {
        let queue = &self.ports[(egress - self.first_port) as usize];
        let followers = packet.followers();
        if !queue.is_up || followers == 0 || packet.kind() != Kind::Data {
            return None;
        }
        let unit = self.unit_of(packet);
        let fits = queue.limit.saturating_sub(queue.total_bytes) / u64::from(unit);
        let fits = u16::try_from(fits.min(followers))
            .ok()
            .filter(|it| *it > 0)?;
        let rest = u16::try_from(followers + 1).ok()? - fits;
        let between = S::clock(self.ingress_clock(egress, packet).on_wire(unit));
        let missing = between.times(rest.into());
        let last_at = packet.last_at().saturating_sub(missing).max(self.now);
        let mut first = packet.leading(fits, last_at);
        first.bytes = u16::try_from(unit).unwrap_or(u16::MAX);
        let mut second = packet.leading(rest, packet.last_at());
        second.seq += u32::from(fits);
        Some((first, second))
    }
}

/// Returns the number of packets in the train of `packet`.
#[inline]
pub(super) fn count_of(packet: &Packet) -> u32 {
    u32::try_from(1 + packet.followers()).unwrap_or(u32::MAX)
}
