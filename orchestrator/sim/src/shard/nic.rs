//! A host's NIC: its round over the QPs that have something to send.

use lab_records::StoryEvent;

use super::{Shard, Told, round::Round};
use crate::{
    cc::CongestionControl,
    event::What,
    packet::{DATA_CLASS, Packet},
    semantics::Semantics,
    time::SimTime,
};

/// What a host sends with.
pub(super) struct Nic {
    pub round: Round,
    /// Until when it sleeps, if that is to come: the artifact's one event for it.
    sleeps_until: SimTime,
}

impl Nic {
    pub const fn new(keeps: bool) -> Self {
        Self {
            round: Round::new(keeps),
            sleeps_until: SimTime::ZERO,
        }
    }
}

/// What a NIC may send of its QPs.
enum Turn {
    Send(u32),
    /// All are held until then at least.
    Wait(SimTime),
    Nothing,
}

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    pub(super) fn nic(&mut self, node: u32) -> &mut Nic {
        &mut self.nics[(node - self.first_node) as usize]
    }

    pub(super) fn nic_port(&self, node: u32) -> u32 {
        self.world.network.nodes[node as usize].ports.start
    }

    /// Gives a QP with something to send its turns.
    pub(super) fn join_round(&mut self, place: u32) {
        let Some(qp) = self.qps.get_mut(place) else {
            return;
        };
        if !qp.is_in_round {
            qp.is_in_round = true;
            let node = self.world.flows[qp.flow as usize].src;
            self.nic(node).round.join(place);
        }
        self.watch_control(place);
    }

    /// Sends the next packet of a host, if its NIC is free: ACKs first, then the QPs in turn.
    pub(super) fn kick_nic(&mut self, port: u32) {
        let now = self.now;
        let nic = self.port(port);
        if !nic.is_up {
            return;
        }
        let busy_until = nic.busy_until;
        let queued = nic.next_class();
        let node = self.node_of(port);
        if busy_until > now {
            return self.wake_after_packet(port, node);
        }
        if let Some(class) = queued {
            if let Some(packet) = self.dequeue(port, class) {
                self.send(port, packet);
            }
        } else {
            match self.next_turn(node, port) {
                Turn::Send(place) => self.send_data(port, place),
                Turn::Wait(_) | Turn::Nothing if P::NIC_OVERSLEEPS => {
                    return self.sleep(node, port);
                }
                Turn::Wait(at) => return self.wake_at(port, at),
                Turn::Nothing => return,
            }
        }
        self.wake_after_packet(port, node);
    }

    /// The artifact's sleep: see [`Semantics::NIC_OVERSLEEPS`].
    fn sleep(&mut self, node: u32, port: u32) {
        let now = self.now;
        let nic = &self.nics[(node - self.first_node) as usize];
        if nic.sleeps_until > now {
            return;
        }
        let times = nic.round.ready().filter_map(|place| self.qps.get(place));
        let Some(at) = times.map(|qp| qp.next_at).min().filter(|&at| at > now) else {
            return;
        };
        self.nic(node).sleeps_until = at;
        self.events.push(at, What::Slept, port);
    }

    /// The NIC of `port` has slept until now.
    pub(super) fn slept(&mut self, port: u32) {
        self.kick_nic(port);
    }

    /// Looks at the NIC again when what it sends is sent, if there is more.
    #[inline]
    fn wake_after_packet(&mut self, port: u32, node: u32) {
        let nic = self.port(port);
        let busy_until = nic.busy_until;
        if nic.next_class().is_some() || self.nic(node).round.is_worth_a_look() {
            self.wake_at(port, busy_until);
        }
    }

    /// Sends an ACK, NACK or CNP, before any data.
    #[inline]
    pub(super) fn answer(&mut self, port: u32, packet: Packet) {
        let now = self.now;
        let nic = self.port(port);
        if !nic.is_up || !nic.is_free(packet.class(), now) {
            self.enqueue(port, packet);
            return self.kick_nic(port);
        }
        let node = nic.node;
        self.send(port, packet);
        self.wake_after_packet(port, node);
    }

    /// Whose turn it is: the next in the round whose window and pacing let it.
    fn next_turn(&mut self, node: u32, port: u32) -> Turn {
        let is_paused = self.port(port).is_paused(DATA_CLASS);
        if is_paused && !P::ROUND_KEEPS {
            return Turn::Nothing;
        }
        let (now, payload) = (self.now, self.world.transport.payload);
        let mut earliest = SimTime::MAX;
        let mut newly_full = Vec::new();
        let qps = &mut self.qps;
        let may_send = |place: u32| {
            let Some(qp) = qps.get_mut(place).filter(|_| !is_paused) else {
                return false;
            };
            if qp.is_full(payload) {
                if !qp.is_window_full {
                    qp.is_window_full = true;
                    newly_full.push(qp.flow);
                }
                return false;
            }
            let is_paced = qp.next_at > now;
            if is_paced {
                earliest = earliest.min(qp.next_at);
            }
            !is_paced
        };
        let nic = &mut self.nics[(node - self.first_node) as usize];
        let next = nic.round.next(may_send);
        for flow in newly_full {
            self.tell(flow, node, StoryEvent::WindowFull);
        }
        match next {
            Some(place) => Turn::Send(place),
            None if earliest == SimTime::MAX => Turn::Nothing,
            None => Turn::Wait(earliest),
        }
    }

    /// Tells the flows of the host at `port` that it was paused, or may go on.
    pub(super) fn tell_paused(&mut self, port: u32, is_pause: bool) {
        if *self.told == Told::None {
            return;
        }
        let node = self.node_of(port);
        let event = if is_pause {
            StoryEvent::Paused
        } else {
            StoryEvent::Resumed
        };
        let round = &self.nics[(node - self.first_node) as usize].round;
        let flows: Vec<u32> = self
            .qps
            .iter()
            .filter(|(place, _)| round.ready().any(|ready| ready == *place))
            .map(|(_, qp)| qp.flow)
            .collect();
        for flow in flows {
            self.tell(flow, node, event);
        }
    }
}
