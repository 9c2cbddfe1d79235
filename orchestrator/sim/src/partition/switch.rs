//! Switches: forwarding, shared buffers and priority flow control (PFC).

use lab_plan::Role;
use lab_policy::flow_hash;

use super::{Partition, Telemetry};
use crate::{
    cc::CongestionControl,
    mmu::Mmu,
    packet::{CONTROL, Kind, Packet},
    semantics::SemanticsRules,
    world::SimFlow,
};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Forwards `packet`, which has arrived at port `ingress` of a switch.
    #[inline]
    pub(super) fn forward(&mut self, ingress: u32, mut packet: Packet) {
        let node = self.node_of(ingress);
        let index = self.index_at_node(node, ingress);
        packet.ingress = u16::try_from(index).unwrap_or(u16::MAX);
        let egress = if self.port(ingress).role == Role::DciSwitch {
            if self.has_old_tables() && !packet.count_detour() {
                return self.drop_packet(ingress, &packet);
            }
            self.dci_egress(node, ingress, &packet)
        } else {
            self.hash_next_hop(node, &packet)
        };
        let Some(egress) = egress else {
            let port = self.dead_end(ingress, &packet);
            return self.drop_packet(port, &packet);
        };
        if !self.has_room(egress, &packet) {
            match self.split_at_limit(egress, &packet) {
                Some((fits, rest)) => {
                    self.reject(egress, &rest);
                    packet = fits;
                }
                None => return self.reject(egress, &packet),
            }
        }
        let now = self.now;
        let port = self.port(egress);
        if port.is_free(packet.class(), now) && self.bypasses_buffer(node, &packet) {
            self.port(egress).set_last_class(packet.class());
            return self.leave(egress, packet);
        }
        if !self.admit(node, &packet) {
            self.work.buffer_drops += 1 + packet.followers();
            return self.drop_packet(ingress, &packet);
        }
        self.pause_if_full(node, &packet);
        let port = self.port(egress);
        if port.is_free(packet.class(), now) {
            port.set_last_class(packet.class());
            self.leave_switch(egress, packet);
        } else {
            if S::IS_RXE {
                let met = self.port(egress).bytes_ahead(now);
                self.mark_by(egress, &mut packet, met);
            }
            self.enqueue(egress, packet);
            self.kick(egress);
        }
    }

    /// Drops `packet` because the egress queue at `egress` has no room.
    #[cold]
    fn reject(&mut self, egress: u32, packet: &Packet) {
        let node = self.node_of(egress);
        if S::COUNTS_REJECTED && packet.is_counted() && self.admit(node, packet) {
            self.pause_if_full(node, packet);
            let bytes = self.size_of(packet);
            self.port(egress).rejected_bytes += bytes;
        }
        if self.port(egress).is_up {
            self.work.queue_drops += 1 + packet.followers();
        }
        self.drop_packet(egress, packet);
    }

    /// Returns the egress port of `node` for `packet`: with n next hops that are up, the one at index flow hash modulo
    /// n. A sole next hop is returned even if it is down.
    #[inline]
    pub(super) fn hash_next_hop(&self, node: u32, packet: &Packet) -> Option<u32> {
        let hops = self.world.network.next_hops_to(node, packet.to);
        if let [only] = hops {
            return Some(*only);
        }
        let up = hops.iter().filter(|&&port| self.is_up(port)).count();
        let hash = self.hash(node, packet) as usize;
        if up == hops.len() {
            return hops.get(hash % up.max(1)).copied();
        }
        let mut alive = hops.iter().filter(|&&port| self.is_up(port));
        alive.nth(hash.checked_rem(up)?).copied()
    }

    /// Returns the hash of the packet's flow with the seed of `node`.
    #[inline]
    pub(super) fn hash(&self, node: u32, packet: &Packet) -> u32 {
        let flow: &SimFlow = &self.world.flows[packet.flow as usize];
        let tuple = if packet.kind() == Kind::Data {
            flow.identity.data
        } else {
            flow.identity.ack
        };
        flow_hash(tuple, self.world.hash_seeds[node as usize])
    }

    /// Returns true if the egress queue at `egress` has room for `packet`. A train that leaves at once needs room for one
    /// packet.
    #[inline]
    fn has_room(&self, egress: u32, packet: &Packet) -> bool {
        let queue = &self.ports[(egress - self.first_port) as usize];
        let is_train = packet.followers() > 0;
        let bytes = if is_train && queue.is_free(packet.class(), self.now) {
            self.unit_of(packet).into()
        } else {
            self.size_of(packet)
        };
        queue.is_up && queue.total_bytes.saturating_add(bytes) <= queue.limit
    }

    /// Returns true if `packet`, which leaves at once, need not be counted in the shared buffer: see [`Mmu::bypasses`].
    #[inline]
    fn bypasses_buffer(&self, node: u32, packet: &Packet) -> bool {
        let class = packet.class();
        let mmu = &self.mmus[(node - self.first_node) as usize];
        let port = usize::from(packet.ingress);
        let bytes = self.size_of(packet);
        let bypasses = |mmu: &Mmu<S>| mmu.bypasses(port, class, bytes);
        !packet.is_counted() || mmu.as_ref().is_none_or(bypasses)
    }

    /// Counts `packet` in the shared buffer; returns false if it does not fit.
    #[inline]
    fn admit(&mut self, node: u32, packet: &Packet) -> bool {
        if !packet.is_counted() {
            return true;
        }
        let port = usize::from(packet.ingress);
        let bytes = self.size_of(packet);
        match &mut self.mmus[(node - self.first_node) as usize] {
            Some(mmu) => mmu.admit(port, packet.class(), bytes),
            None => true,
        }
    }

    /// Releases the shared-buffer bytes of `packet`, which leaves through `egress`, and resumes the packet's upstream
    /// neighbour if enough is free.
    #[inline]
    pub(super) fn release_buffer(&mut self, egress: u32, packet: &Packet) {
        if !packet.is_counted() {
            return;
        }
        let class = packet.class();
        let node = self.node_of(egress);
        let port = usize::from(packet.ingress);
        let bytes = self.size_of(packet);
        let Some(mmu) = &mut self.mmus[(node - self.first_node) as usize] else {
            return;
        };
        mmu.release(port, class, bytes);
        if mmu.may_resume(port, class) {
            let first = self.world.network.nodes[node as usize].ports.start;
            self.send_pfc(first + u32::from(packet.ingress), class, Kind::Resume);
        }
    }

    /// Pauses the upstream neighbour of `packet`, which has just been counted, if the buffer threshold is exceeded.
    #[inline]
    fn pause_if_full(&mut self, node: u32, packet: &Packet) {
        if !packet.is_counted() {
            return;
        }
        let class = packet.class();
        let port = usize::from(packet.ingress);
        let Some(mmu) = &mut self.mmus[(node - self.first_node) as usize] else {
            return;
        };
        if mmu.must_pause(port, class) {
            let first = self.world.network.nodes[node as usize].ports.start;
            self.send_pfc(first + u32::from(packet.ingress), class, Kind::Pause);
        }
    }

    /// Sends a PFC frame of `kind`, which makes the peer of `port` pause or resume `class`.
    fn send_pfc(&mut self, port: u32, class: u8, kind: Kind) {
        if self.revokes_pfc(port, class) {
            return;
        }
        let bytes = u16::try_from(S::PFC_BYTES).unwrap_or(u16::MAX);
        let frame = Packet::new(kind, S::PFC_CLASS, 0, u32::from(class), bytes, 0);
        self.enqueue(port, frame);
        self.kick(port);
    }

    /// Removes the PFC frame for `class` that waits at `port` behind the packet in transmission; returns false if no
    /// such frame waits. A pause and its resume then cancel out and leave the peer in the right state; queues of such
    /// pairs would delay the last pause.
    fn revokes_pfc(&mut self, port: u32, class: u8) -> bool {
        let egress = &self.ports[(port - self.first_port) as usize];
        let waiting = egress.queues[usize::from(CONTROL)].front(&mut self.queued);
        let is_revoked = waiting.is_some_and(|frame| frame.seq == u32::from(class));
        is_revoked && self.dequeue(port, CONTROL).is_some()
    }

    /// Returns the index of `port` among the ports of `node`.
    #[inline]
    pub(super) fn index_at_node(&self, node: u32, port: u32) -> usize {
        (port - self.world.network.nodes[node as usize].ports.start) as usize
    }

    /// Removes and returns the telemetry of `packet`; `None` if it carries none.
    pub(super) fn take_telemetry(&mut self, packet: &Packet) -> Option<Telemetry> {
        Self::carries_telemetry(packet.kind())
            .then(|| self.telemetry.remove(packet.telemetry_slot()))
            .flatten()
    }
}
