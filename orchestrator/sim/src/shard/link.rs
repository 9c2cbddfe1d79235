//! Egress queues and wires.

use lab_plan::Role;
use lab_records::StoryEvent;

use super::Shard;
use crate::{
    cc::{CongestionControl, IntHop},
    event::What,
    fifo::Queued,
    note::{Note, PfcNote},
    packet::{Kind, Packet, STRICT},
    prefetch::prefetch,
    semantics::Semantics,
    time::SimTime,
};

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    /// Puts `packet` into the egress queue of `port`.
    #[inline]
    pub(super) fn enqueue(&mut self, port: u32, packet: Packet) {
        let place = (port - self.first_port) as usize;
        let egress = &mut self.ports[place];
        let class = packet.class();
        egress.queues[usize::from(class)].push(&mut self.queued, packet);
        egress.queue_bytes[usize::from(class)] += u64::from(packet.bytes);
        egress.total_bytes += u64::from(packet.bytes);
        egress.counts.peak_bytes = egress.counts.peak_bytes.max(egress.total_bytes);
        egress.ready |= 1 << class;
    }

    /// Takes the next packet of `class` out of the egress queue of `port`.
    #[inline]
    pub(super) fn dequeue(&mut self, port: u32, class: u8) -> Option<Packet> {
        let place = (port - self.first_port) as usize;
        let egress = &mut self.ports[place];
        let queue = &mut egress.queues[usize::from(class)];
        let packet: Packet = queue.pop(&mut self.queued)?;
        queue.prefetch(&mut self.queued);
        if queue.is_empty() {
            egress.ready &= !(1 << class);
        }
        egress.queue_bytes[usize::from(class)] -= u64::from(packet.bytes);
        egress.total_bytes -= u64::from(packet.bytes);
        egress.took_turn(class);
        Some(packet)
    }

    /// Looks at `port` again at `at`, if it would not before.
    #[inline]
    pub(super) fn wake_at(&mut self, port: u32, at: SimTime) {
        let egress = self.port(port);
        if egress.wake_at > at {
            egress.wake_at = at;
            self.events.push(at, What::Wake, port);
        }
    }

    /// Looks at `port`. What is scheduled for it stays until another takes its place or none does: a
    /// busy port is put off once, not taken out and put in.
    pub(super) fn wake_up(&mut self, port: u32) {
        self.port(port).wake_at = SimTime::MAX;
        self.kick(port);
        if self.port(port).wake_at == SimTime::MAX {
            self.events.clear(What::Wake, port);
        }
    }

    /// Sends the next packet of `port`, if it is free and has one.
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

    /// Sends `packet`, which is in its switch's buffer and may have been in the queue of `port`.
    #[inline]
    pub(super) fn leave_switch(&mut self, port: u32, packet: Packet) {
        self.release_buffer(port, &packet);
        self.leave(port, packet);
    }

    /// Sends `packet`, which is in no queue any more, from its switch.
    #[inline]
    pub(super) fn leave(&mut self, port: u32, mut packet: Packet) {
        let egress = self.port(port);
        let left = egress.queue_bytes[usize::from(packet.class())];
        let counted = if P::COUNTS_TURNED_AWAY {
            left + egress.lost_count
        } else {
            left
        };
        if packet.class() != STRICT && egress.marks(counted) {
            egress.counts.marks += 1;
            packet.mark();
            if packet.kind == Kind::Data {
                self.tell_more(
                    packet.flow,
                    self.node_of(port),
                    StoryEvent::Marked,
                    None,
                    Some(packet.seq),
                );
            }
        }
        if C::HAS_INT && packet.kind == Kind::Data {
            self.write_telemetry(port, &packet, left);
        }
        self.send(port, packet);
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
        if let Some(telemetry) = self.telemetry.get_mut(packet.stamp) {
            telemetry.push(hop);
        }
    }

    /// Puts `packet` on the wire.
    #[inline]
    pub(super) fn send(&mut self, port: u32, mut packet: Packet) {
        self.work.packet_hops += 1;
        let now = self.now;
        let egress = self.port(port);
        let time = P::clock(egress.clock.on_wire(u32::from(packet.bytes)));
        egress.busy_until = now + time;
        egress.counts.tx_bytes += u64::from(packet.bytes);
        egress.counts.tx_packets += 1;
        // A lost PFC frame would be a pause without an end; real ones are repeated and expire.
        if egress.loses() && !packet.kind.is_pfc() {
            return self.drop_packet(port, &packet);
        }
        packet.board(egress.cuts);
        // A wire is first in, first out, also while its delay is being cut.
        let at = (egress.busy_until + egress.delay).max(egress.last_arrival);
        egress.last_arrival = at;
        let queued = Queued::new(at, packet);
        let peer = egress.peer;
        match egress.outbox {
            None => self.put_on_wire(peer, queued),
            Some(outbox) => self.post(outbox, queued),
        }
    }

    /// Puts a packet on the wire that ends at `port`.
    #[inline]
    pub(super) fn put_on_wire(&mut self, port: u32, queued: Queued) {
        let ingress = &mut self.ports[(port - self.first_port) as usize];
        if ingress.wire.is_empty() {
            self.events.push(queued.at(), What::Arrive, port);
        }
        ingress.wire.push(&mut self.on_wires, queued);
    }

    /// The first packet on the wire to `port` is there.
    #[inline]
    pub(super) fn arrive(&mut self, port: u32) {
        let ingress = &mut self.ports[(port - self.first_port) as usize];
        let Some(Queued { packet, .. }) = ingress.wire.pop(&mut self.on_wires) else {
            return self.events.clear(What::Arrive, port);
        };
        match ingress.wire.front(&mut self.on_wires) {
            Some(next) => {
                self.events.push(next.at(), What::Arrive, port);
                prefetch(&self.world.flows[next.packet.flow as usize]);
            }
            None => self.events.clear(What::Arrive, port),
        }
        ingress.wire.prefetch(&mut self.on_wires);
        let role = ingress.role;
        if !ingress.is_up || packet.was_cut_off(ingress.cuts) {
            return self.drop_packet(port, &packet);
        }
        match packet.kind {
            Kind::Pause | Kind::Resume => self.pause(port, &packet),
            _ if role == Role::Host => self.receive(port, packet),
            _ => self.forward(port, packet),
        }
    }

    fn pause(&mut self, port: u32, packet: &Packet) {
        let is_pause = packet.kind == Kind::Pause;
        let class = u8::try_from(packet.seq).unwrap_or(0);
        let now = self.now;
        self.port(port).pause(class, is_pause, now);
        self.notes.push(Note::Pfc(PfcNote {
            at: now,
            port,
            class,
            is_pause,
        }));
        self.tell_paused(port, is_pause);
        if !is_pause {
            self.kick(port);
        }
    }

    /// A packet is lost at `port`.
    pub(super) fn drop_packet(&mut self, port: u32, packet: &Packet) {
        self.work.drops += 1;
        self.port(port).counts.drops += 1;
        self.take_telemetry(packet);
        if packet.kind == Kind::Data {
            self.tell_more(
                packet.flow,
                self.node_of(port),
                StoryEvent::Dropped,
                None,
                Some(packet.seq),
            );
        }
    }
}
