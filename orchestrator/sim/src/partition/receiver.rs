//! Receiving side of a host: answers data packets, and passes answers on to the sending QP.

use lab_dcqcn::notification::next_cnp;

use super::{Partition, train::count_of};
use crate::{
    cc::{CongestionControl, Notification},
    packet::{DATA_CLASS, Kind, Packet, STRICT},
    semantics::SemanticsRules,
    time::SimTime,
    world::Transport,
};

/// State of a flow at its receiving host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiver {
    /// Number of the next expected packet.
    pub expected: u32,
    /// Number of the missing packet in the last NACK; `u32::MAX` before the first NACK.
    pub nacked: u32,
    /// Earliest time at which the same NACK may be repeated; `MAX` if it is never repeated.
    next_nack: SimTime,
    /// Earliest time at which another CNP may be sent.
    next_cnp: SimTime,
    /// Time at which the last packet of the flow's latest train arrives.
    pub last_at: SimTime,
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            expected: 0,
            nacked: u32::MAX,
            next_nack: SimTime::ZERO,
            next_cnp: SimTime::ZERO,
            last_at: SimTime::ZERO,
        }
    }
}

impl Receiver {
    /// Returns the kind of answer to the data packet `packet`; `None` if the packet gets no answer.
    fn answer(&mut self, packet: &Packet, now: SimTime, transport: &Transport) -> Option<Kind> {
        let end = packet.seq + count_of(packet);
        if (packet.seq..end).contains(&self.expected) {
            self.expected = end;
            Some(Kind::Ack)
        } else if packet.seq > self.expected {
            let is_new = self.nacked != self.expected || now >= self.next_nack;
            self.nacked = self.expected;
            if is_new {
                let interval = transport.nack_interval;
                self.next_nack = interval.map_or(SimTime::MAX, |interval| now + interval);
            }
            is_new.then_some(Kind::Nack)
        } else {
            // The packet is a duplicate whose ACK was lost. Without time-outs, a lost ACK causes no retransmission, and
            // the artifact does not answer duplicates.
            transport.timer.map(|_| Kind::Ack)
        }
    }
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Processes a packet that arrived at the host of `port`.
    pub(super) fn receive(&mut self, port: u32, packet: Packet) {
        match packet.kind() {
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
        let kind = if S::IS_RXE {
            receiver.rxe_answer(packet)
        } else {
            receiver.answer(packet, now, &self.world.transport)
        };
        let expected = receiver.expected;
        let notification = match C::notification(&self.world.control) {
            // SoftRoCE acknowledges only every 66th packet, so a host's programs send a CNP for each marked packet
            // instead.
            Notification::Echo if S::IS_RXE && C::PACES => Notification::Cnp(SimTime::ZERO),
            other => other,
        };
        let mut is_cnp_due = false;
        if let Notification::Cnp(interval) = notification
            && packet.is_marked()
            && let Some(next) = next_cnp(receiver.next_cnp.picos(), now.picos(), interval.picos())
        {
            receiver.next_cnp = SimTime::from_picos(next);
            is_cnp_due = true;
        }
        if is_cnp_due {
            let bytes = u16::try_from(S::CNP_BYTES).unwrap_or(u16::MAX);
            // In the lab, all packets of a port share one queue.
            let class = if S::IS_RXE { DATA_CLASS } else { STRICT };
            let cnp = Packet::new(Kind::Cnp, class, packet.flow, 0, bytes, 0);
            self.enqueue(port, cnp.to_host(sender));
        }
        let Some(kind) = kind else {
            self.take_telemetry(packet);
            if is_cnp_due {
                self.kick_nic(port);
            }
            return;
        };
        let transport = &self.world.transport;
        let bytes = u16::try_from(transport.ack_bytes).unwrap_or(u16::MAX);
        let class = transport.ack_class;
        let mut answer =
            Packet::new(kind, class, packet.flow, expected, bytes, packet.stamp).to_host(sender);
        if kind == Kind::Nack {
            // A NACK answers one packet, an ACK all of a train.
            answer = answer.leading(1, now);
        }
        if packet.is_marked() && notification == Notification::Echo {
            answer.echo_mark();
        }
        self.answer(port, answer);
    }
}
