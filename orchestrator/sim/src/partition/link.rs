//! Egress queues of a port, and the wires at its link.

use lab_plan::Role;
use lab_records::StoryEvent;

use super::Partition;
use crate::{
    cc::{CongestionControl, IntHop},
    event::EventKind,
    fifo::WirePacket,
    fifo::prefetch,
    packet::{Kind, Packet},
    semantics::SemanticsRules,
    time::SimTime,
    trace::{PfcSignal, TraceEvent},
};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Puts `packet` into the egress queue of its class at `port`.
    #[inline]
    pub(super) fn enqueue(&mut self, port: u32, packet: Packet) {
        let bytes = self.size_of(&packet);
        let egress = &mut self.ports[(port - self.first_port) as usize];
        egress.enqueue(&mut self.queued, packet, bytes);
    }

    /// Removes and returns the first packet of `class` in the egress queue of `port`.
    #[inline]
    pub(super) fn dequeue(&mut self, port: u32, class: u8) -> Option<Packet> {
        let egress = &mut self.ports[(port - self.first_port) as usize];
        let queue = &mut egress.queues[usize::from(class)];
        let packet: Packet = queue.pop(&mut self.queued)?;
        queue.prefetch(&mut self.queued);
        if queue.is_empty() {
            egress.ready &= !(1 << class);
        }
        egress.set_last_class(class);
        let bytes = self.size_of(&packet);
        let egress = self.port(port);
        egress.queue_bytes[usize::from(class)] -= bytes;
        egress.total_bytes -= bytes;
        Some(packet)
    }

    /// Schedules a wake-up of `port` at `at`, unless it has an earlier one.
    #[inline]
    pub(super) fn wake_at(&mut self, port: u32, at: SimTime) {
        let egress = self.port(port);
        if egress.wake_at > at {
            egress.wake_at = at;
            self.events.push(at, EventKind::Wake, port);
        }
    }

    /// Wakes `port` up. Its scheduled event stays in the queue until the next wake-up replaces it, so that a busy port
    /// needs one queue update instead of two.
    pub(super) fn wake_up(&mut self, port: u32) {
        self.port(port).wake_at = SimTime::MAX;
        self.kick(port);
        if self.port(port).wake_at == SimTime::MAX {
            self.events.clear(EventKind::Wake, port);
        }
    }

    /// Sends the next packet of `port` if no transmission is in progress and a packet is queued.
    #[inline]
    pub(super) fn kick(&mut self, port: u32) {
        if self.port(port).role == Role::Host {
            self.kick_nic(port);
        } else {
            self.kick_switch_port(port);
        }
    }

    #[inline]
    fn kick_switch_port(&mut self, port: u32) {
        let now = self.now;
        let egress = self.port(port);
        if !egress.is_up {
            return;
        }
        let Some(class) = egress.next_class() else {
            return;
        };
        let busy_until = egress.busy_until;
        if busy_until > now {
            return self.wake_at(port, busy_until);
        }
        let Some(packet) = self.dequeue(port, class) else {
            return;
        };
        self.leave_switch(port, packet);
        let egress = self.port(port);
        if egress.next_class().is_some() {
            let busy_until = egress.busy_until;
            self.wake_at(port, busy_until);
        }
    }

    /// Sends `packet` through `port`, and releases its bytes in the switch's shared buffer.
    #[inline]
    pub(super) fn leave_switch(&mut self, port: u32, packet: Packet) {
        self.release_buffer(port, &packet);
        self.leave(port, packet);
    }

    /// Sends `packet` through the switch port `port`, after marking it according to the queue behind it and writing its
    /// telemetry. In profile `rxe`, the packet was marked on arrival instead, according to the queue in front of it.
    #[inline]
    pub(super) fn leave(&mut self, port: u32, mut packet: Packet) {
        let egress = self.port(port);
        let queued = egress.queue_bytes[usize::from(packet.class())];
        let counted = if S::COUNTS_REJECTED {
            queued + egress.rejected_bytes
        } else {
            queued
        };
        if !S::IS_RXE {
            self.mark_by(port, &mut packet, counted);
        }
        if C::HAS_INT && packet.kind() == Kind::Data {
            self.write_telemetry(port, &packet, queued);
        }
        self.send(port, packet);
    }

    /// Marks `packet`, which leaves through `port`, if a queue of `queue_bytes` requires a mark.
    #[inline]
    pub(super) fn mark_by(&mut self, port: u32, packet: &mut Packet, queue_bytes: u64) {
        let egress = self.port(port);
        // A CNP is not ECN-capable, even in a class that switches mark.
        let is_capable = packet.is_counted() && packet.kind() != Kind::Cnp;
        if !is_capable || !egress.marks_packet(queue_bytes) {
            return;
        }
        egress.counts.marks += 1 + packet.followers();
        packet.mark();
        if packet.kind() == Kind::Data {
            self.trace_flow_detail(
                packet.flow,
                self.node_of(port),
                StoryEvent::Marked,
                None,
                Some(packet.seq),
            );
        }
    }

    fn write_telemetry(&mut self, port: u32, packet: &Packet, queue_bytes: u64) {
        let now = self.now;
        let egress = self.port(port);
        let hop = IntHop {
            time: now,
            tx_bytes: egress.counts.tx_bytes,
            queue_bytes,
            rate_bps: egress.rate.get(),
        };
        let room = self.world.transport.int_hops;
        if let Some(telemetry) = self.telemetry.get_mut(packet.telemetry_slot()) {
            telemetry.push(port, hop, room);
        }
    }

    /// Puts `packet` on the wire of `port`, unless the link loses it.
    #[inline]
    pub(super) fn send(&mut self, port: u32, mut packet: Packet) {
        let now = self.now;
        let followers = packet.followers();
        let bytes = self.size_of(&packet);
        let unit = self.unit_of(&packet);
        self.work.packet_hops += 1 + followers;
        let last_in = if followers > 0 {
            self.last_in(port, &packet)
        } else {
            SimTime::ZERO
        };
        let egress = self.port(port);
        let last_time = S::clock(egress.clock.on_wire(u32::from(packet.bytes)));
        let mut time = last_time;
        egress.busy_until = now + time;
        if followers > 0 {
            time = S::clock(egress.clock.on_wire(unit));
            egress.busy_until += time.times(followers);
            if packet.kind() == Kind::Data {
                // The last packet leaves after its predecessor, which arrived `last_in` earlier.
                let behind = time.saturating_sub(last_in);
                let last_leaves = egress.busy_until.max(packet.last_at() + behind + last_time);
                packet = packet.leading_until(last_leaves + egress.delay);
            }
        }
        egress.counts.tx_bytes += bytes;
        egress.counts.tx_packets += 1 + followers;
        // A lost PFC frame would pause a port forever: the model neither repeats pauses nor lets them expire, as real
        // ports do.
        if egress.loses_packet() && !packet.kind().is_pfc() {
            return self.drop_packet(port, &packet);
        }
        packet.set_cut_count(egress.cuts);
        let empty_link = time + egress.delay;
        let packet = WirePacket::new(now + empty_link, packet);
        let peer = egress.peer;
        let channel = egress.channel;
        if Self::carries_telemetry(packet.packet.kind())
            && let Some(telemetry) = self.telemetry.get_mut(packet.packet.telemetry_slot())
        {
            telemetry.path.base_rtt += empty_link;
        }
        match channel {
            None => self.put_on_wire(peer, packet),
            Some(channel) => self.send_to_channel(channel, packet),
        }
    }

    /// Adds a packet to the wire that ends at `port`.
    #[inline]
    pub(super) fn put_on_wire(&mut self, port: u32, packet: WirePacket) {
        let ingress = &mut self.ports[(port - self.first_port) as usize];
        if ingress.wire.push(&mut self.on_wires, packet)
            && let Some(first) = ingress.wire.front(&mut self.on_wires)
        {
            let at = ingress.arrival::<S>(&first);
            self.events.push(at, EventKind::Arrive, port);
        }
    }

    /// Processes the arrival of the first packet on the wire that ends at `port`.
    #[inline]
    pub(super) fn arrive(&mut self, port: u32) {
        let ingress = &mut self.ports[(port - self.first_port) as usize];
        let Some(sent) = ingress.wire.pop(&mut self.on_wires) else {
            return self.events.clear(EventKind::Arrive, port);
        };
        let mut packet = sent.packet;
        let is_lost = !ingress.is_up || packet.was_cut_off(ingress.cuts);
        if !is_lost {
            let mut received = self.now;
            if packet.followers() > 0 && packet.kind() == Kind::Data {
                // A train that waited for others is also later with its last packet.
                let last_at = packet.last_at() + self.now.saturating_sub(sent.at());
                packet = packet.leading_until(last_at);
                received = last_at;
            }
            ingress.wire.receive(received);
        }
        match ingress.wire.front(&mut self.on_wires) {
            Some(next) => {
                let at = ingress.arrival::<S>(&next);
                self.events.push(at, EventKind::Arrive, port);
                prefetch(&self.world.flows[next.packet.flow as usize]);
            }
            None => self.events.clear(EventKind::Arrive, port),
        }
        ingress.wire.prefetch(&mut self.on_wires);
        let role = ingress.role;
        if is_lost {
            ingress.counts.lost_on_wire += 1 + packet.followers();
            return self.drop_packet(port, &packet);
        }
        match packet.kind() {
            Kind::Pause | Kind::Resume => self.pause(port, &packet),
            _ if role == Role::Host => self.arrive_at_host(port, packet),
            _ => self.forward(port, packet),
        }
    }

    fn pause(&mut self, port: u32, packet: &Packet) {
        let is_pause = packet.kind() == Kind::Pause;
        let class = u8::try_from(packet.seq).unwrap_or(0);
        let now = self.now;
        self.port(port).pause(class, is_pause, now);
        self.trace.push(TraceEvent::Pfc(PfcSignal {
            at: now,
            port,
            class,
            is_pause,
        }));
        self.trace_pause(port, is_pause);
        if !is_pause {
            self.kick(port);
        }
    }

    /// Counts and traces `packet` as dropped at `port`.
    pub(super) fn drop_packet(&mut self, port: u32, packet: &Packet) {
        let packets = 1 + packet.followers();
        self.work.drops += packets;
        self.port(port).counts.drops += packets;
        self.take_telemetry(packet);
        if packet.kind() == Kind::Data {
            self.trace_flow_detail(
                packet.flow,
                self.node_of(port),
                StoryEvent::Dropped,
                None,
                Some(packet.seq),
            );
        }
    }
}
