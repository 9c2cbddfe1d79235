//! What hosts receive: data, which they answer, and answers, which go to the QP.

use super::Shard;
use crate::{
    cc::{CongestionControl, Notification},
    packet::{Kind, Packet, STRICT},
    semantics::Semantics,
    time::SimTime,
};

/// What a host knows of a flow it receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiver {
    /// The packet it expects next.
    expected: u32,
    /// The missing packet it last asked for.
    asked: u32,
    /// It asks for the same one again from then on.
    asks_again: SimTime,
    /// It sends no CNP before.
    next_cnp: SimTime,
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            expected: 0,
            asked: u32::MAX,
            asks_again: SimTime::ZERO,
            next_cnp: SimTime::ZERO,
        }
    }
}

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    /// A packet is for the host at the end of `port`'s wire.
    pub(super) fn receive(&mut self, port: u32, packet: Packet) {
        match packet.kind {
            Kind::Data => self.receive_data(port, &packet),
            Kind::Ack | Kind::Nack | Kind::Cnp => self.receive_answer(&packet),
            Kind::Pause | Kind::Resume => {}
        }
    }

    fn receive_data(&mut self, port: u32, packet: &Packet) {
        let flow = &self.world.flows[packet.flow as usize];
        let now = self.now;
        let sender = self.world.network.nodes[flow.src as usize].host;
        let receiver = &mut self.receivers[flow.receiving as usize];
        let kind = if packet.seq == receiver.expected {
            receiver.expected += 1;
            Some(Kind::Ack)
        } else if packet.seq > receiver.expected {
            let is_new = receiver.asked != receiver.expected || now >= receiver.asks_again;
            receiver.asked = receiver.expected;
            if is_new {
                receiver.asks_again = now + self.world.transport.nack_interval;
            }
            is_new.then_some(Kind::Nack)
        } else {
            // It has it: its ACK was lost. Where senders never time out nothing is sent twice for
            // want of an ACK, and the artifact keeps silent.
            self.world.transport.timeout.map(|_| Kind::Ack)
        };
        let expected = receiver.expected;
        let notification = C::notification(&self.world.control);
        let mut is_cnp_due = false;
        if let Notification::Cnp(interval) = notification
            && packet.is_marked()
            && now >= receiver.next_cnp
        {
            receiver.next_cnp = now + interval;
            is_cnp_due = true;
        }
        if is_cnp_due {
            let bytes = u16::try_from(P::CNP_BYTES).unwrap_or(u16::MAX);
            let cnp = Packet::new(Kind::Cnp, STRICT, packet.flow, 0, bytes, 0);
            self.enqueue(port, cnp.bound_for(sender));
        }
        let Some(kind) = kind else {
            self.take_telemetry(packet);
            return;
        };
        let transport = &self.world.transport;
        let bytes = u16::try_from(transport.ack_bytes).unwrap_or(u16::MAX);
        let class = transport.ack_class;
        let answer = Packet::new(kind, class, packet.flow, expected, bytes, packet.stamp);
        let mut answer = answer.bound_for(sender);
        if packet.is_marked() && notification == Notification::Echo {
            answer.echo_mark();
        }
        self.answer(port, answer);
    }
}
