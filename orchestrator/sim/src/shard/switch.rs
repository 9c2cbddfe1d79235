//! Switches: next hops, buffers, PFC.

use lab_plan::Role;
use lab_policy::flow_hash;

use super::{Shard, Telemetry};
use crate::{
    cc::CongestionControl,
    mmu::Mmu,
    packet::{Kind, Packet, STRICT},
    semantics::Semantics,
    world::SimFlow,
};

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    /// Passes on a packet that came in by `ingress`.
    #[inline]
    pub(super) fn forward(&mut self, ingress: u32, mut packet: Packet) {
        let node = self.node_of(ingress);
        let place = self.place_at_node(node, ingress);
        packet.ingress = u16::try_from(place).unwrap_or(u16::MAX);
        let egress = if self.port(ingress).role == Role::DciSwitch {
            self.choose(node, &packet)
        } else {
            self.hash_next_hop(node, &packet)
        };
        let Some(egress) = egress else {
            return self.drop_packet(ingress, &packet);
        };
        if !self.has_room(egress, &packet) {
            return self.turn_away(egress, &packet);
        }
        let now = self.now;
        let port = self.port(egress);
        if port.is_free(packet.class(), now) && self.passes(node, &packet) {
            self.port(egress).took_turn(packet.class());
            return self.leave(egress, packet);
        }
        if !self.admit(node, &packet) {
            return self.drop_packet(ingress, &packet);
        }
        self.ask_to_stop(node, &packet);
        let port = self.port(egress);
        if port.is_free(packet.class(), now) {
            port.took_turn(packet.class());
            self.leave_switch(egress, packet);
        } else {
            self.enqueue(egress, packet);
            self.kick(egress);
        }
    }

    /// Drops `packet`, for which the queue of `egress` has no room.
    #[cold]
    fn turn_away(&mut self, egress: u32, packet: &Packet) {
        let node = self.node_of(egress);
        if P::COUNTS_TURNED_AWAY && packet.class() != STRICT && self.admit(node, packet) {
            self.ask_to_stop(node, packet);
            self.port(egress).lost_count += u64::from(packet.bytes);
        }
        self.drop_packet(egress, packet);
    }

    /// The next hop of `packet` from `node` by the flow hash, among those that are up.
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

    #[inline]
    pub(super) fn is_up(&self, port: u32) -> bool {
        self.ports[(port - self.first_port) as usize].is_up
    }

    /// The flow hash of `packet` at `node`.
    #[inline]
    pub(super) fn hash(&self, node: u32, packet: &Packet) -> u32 {
        let flow: &SimFlow = &self.world.flows[packet.flow as usize];
        let tuple = if packet.kind == Kind::Data {
            flow.who.data
        } else {
            flow.who.ack
        };
        flow_hash(tuple, self.world.hash_seeds[node as usize])
    }

    /// Whether the queue of `egress` has room for `packet`.
    #[inline]
    fn has_room(&self, egress: u32, packet: &Packet) -> bool {
        let queue = &self.ports[(egress - self.first_port) as usize];
        let bytes = u64::from(packet.bytes);
        queue.is_up && queue.total_bytes.saturating_add(bytes) <= queue.limit
    }

    /// Whether the buffer need not know of `packet`, which leaves at once: see [`Mmu::passes`]. The
    /// strict class is never counted: its packets are the switch's own, or must not wait.
    #[inline]
    fn passes(&self, node: u32, packet: &Packet) -> bool {
        let class = packet.class();
        let mmu = &self.mmus[(node - self.first_node) as usize];
        let port = usize::from(packet.ingress);
        let passes = |mmu: &Mmu<P>| mmu.passes(port, class, packet.bytes.into());
        class == STRICT || mmu.as_ref().is_none_or(passes)
    }

    /// Whether the buffer has room for `packet`, which then is taken.
    #[inline]
    fn admit(&mut self, node: u32, packet: &Packet) -> bool {
        if packet.class() == STRICT {
            return true;
        }
        let port = usize::from(packet.ingress);
        match &mut self.mmus[(node - self.first_node) as usize] {
            Some(mmu) => mmu.admit(port, packet.class(), packet.bytes.into()),
            None => true,
        }
    }

    /// Gives back what `packet`, which leaves by `egress`, took, and lets the neighbour go on that
    /// it came from.
    #[inline]
    pub(super) fn release_buffer(&mut self, egress: u32, packet: &Packet) {
        let class = packet.class();
        if class == STRICT {
            return;
        }
        let node = self.node_of(egress);
        let port = usize::from(packet.ingress);
        let Some(mmu) = &mut self.mmus[(node - self.first_node) as usize] else {
            return;
        };
        mmu.release(port, class, u64::from(packet.bytes));
        if mmu.resumes(port, class) {
            let first = self.world.network.nodes[node as usize].ports.start;
            self.send_pfc(first + u32::from(packet.ingress), class, Kind::Resume);
        }
    }

    /// Has the neighbour wait that `packet`, which is in the buffer now, came from, if it has to.
    #[inline]
    fn ask_to_stop(&mut self, node: u32, packet: &Packet) {
        let class = packet.class();
        if class == STRICT {
            return;
        }
        let port = usize::from(packet.ingress);
        let Some(mmu) = &mut self.mmus[(node - self.first_node) as usize] else {
            return;
        };
        if mmu.stops(port, class) {
            let first = self.world.network.nodes[node as usize].ports.start;
            self.send_pfc(first + u32::from(packet.ingress), class, Kind::Pause);
        }
    }

    fn send_pfc(&mut self, port: u32, class: u8, kind: Kind) {
        let bytes = u16::try_from(P::PFC_BYTES).unwrap_or(u16::MAX);
        let frame = Packet::new(kind, STRICT, 0, u32::from(class), bytes, 0);
        self.enqueue(port, frame);
        self.kick(port);
    }

    /// The port's place among its node's.
    #[inline]
    pub(super) fn place_at_node(&self, node: u32, port: u32) -> usize {
        (port - self.world.network.nodes[node as usize].ports.start) as usize
    }

    /// Takes out what switches wrote into `packet`, if they do and it is a packet that carries it.
    pub(super) fn take_telemetry(&mut self, packet: &Packet) -> Option<Telemetry> {
        Self::carries_telemetry(packet.kind)
            .then(|| self.telemetry.remove(packet.stamp))
            .flatten()
    }
}
