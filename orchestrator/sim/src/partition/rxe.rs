//! Differences of SoftRoCE QPs, whose rules [`crate::semantics::rxe`] lists.

use lab_plan::{Tool, frame};
use lab_records::StoryEvent;

use super::{Partition, qp::Qp, receiver::Receiver};
use crate::{
    cc::CongestionControl,
    packet::{DATA_CLASS, Kind, Packet},
    semantics::{
        SemanticsRules,
        rxe::{MAX_NOT_ACKED, MAX_UNACKED},
    },
    world::{SimFlow, Transport},
};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Puts all packets that the window of a QP allows into its host's egress queue.
    pub(super) fn queue_window(&mut self, slot: u32) {
        let world = self.world;
        let Some(qp) = self.qps.get_mut(slot) else {
            return;
        };
        let id = qp.flow;
        let flow = &world.flows[id as usize];
        if qp.next == qp.acked {
            qp.last_answer_at = self.now; // No answer was due before.
        }
        let first = qp.next;
        while let Some(packet) = qp.next_packet(flow, &world.transport, S::DATA_HEADER_BYTES) {
            let to = world.network.nodes[flow.dst as usize].host;
            self.work.data_packets += 1;
            let port = world.network.nodes[flow.src as usize].ports.start;
            let egress = &mut self.ports[(port - self.first_port) as usize];
            egress.enqueue(&mut self.queued, packet.to_host(to));
        }
        let is_held = qp.next < flow.packets && qp.next > first;
        if is_held {
            self.trace_flow(id, flow.src, StoryEvent::WindowFull);
        }
    }

    /// Returns true if the sender ignores an answer: one to packets acknowledged before. The answer
    /// restarts the QP's timer even so.
    pub(super) fn ignores_answer(&mut self, slot: u32, answer: &Packet) -> bool {
        let now = self.now;
        let Some(qp) = self.qps.get_mut(slot) else {
            return true;
        };
        qp.last_answer_at = now;
        match answer.kind {
            Kind::Nack => answer.seq < qp.acked,
            _ => answer.seq <= qp.acked,
        }
    }

    /// Returns true if a QP goes back to its first unacknowledged packet at an answer of `kind`.
    pub(super) fn must_go_back(&mut self, slot: u32, kind: Kind) -> bool {
        let is_nack = kind == Kind::Nack;
        if !S::IS_RXE {
            return is_nack;
        }
        self.qps.get_mut(slot).is_some_and(|qp| {
            let had_retried = std::mem::replace(&mut qp.has_retried, is_nack);
            is_nack && !had_retried
        })
    }
}

impl<C> Qp<C> {
    /// Returns the next packet of the QP, unless its window is full or it has sent all.
    fn next_packet(
        &mut self,
        flow: &SimFlow,
        transport: &Transport,
        headers: u32,
    ) -> Option<Packet> {
        if self.next == flow.packets || self.next - self.acked >= MAX_UNACKED {
            return None;
        }
        let seq = self.next;
        let in_message = seq % flow.message_packets;
        let is_last = in_message + 1 == flow.message_packets;
        let payload = if is_last {
            flow.last_payload(transport.payload)
        } else {
            transport.payload
        };
        let extended = match transport.tool {
            Tool::WriteBw | Tool::Verbs if in_message == 0 => small(frame::RETH),
            Tool::SendBw | Tool::WriteBw | Tool::ReadBw | Tool::Verbs => 0,
        };
        // The last message of a verbs flow is a write with immediate data.
        let immediate = match transport.tool {
            Tool::Verbs if seq + 1 == flow.packets => small(frame::IMMDT),
            _ => 0,
        };
        let bytes = headers + extended + immediate + payload.next_multiple_of(4);
        let bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
        let mut packet = Packet::new(Kind::Data, DATA_CLASS, self.flow, seq, bytes, 0);
        if is_last || self.not_acked >= MAX_NOT_ACKED {
            self.not_acked = 0;
            packet.request_ack();
        } else {
            self.not_acked += 1;
        }
        self.next += 1;
        Some(packet)
    }
}

impl Receiver {
    /// Returns the answer to data packet `packet`, if it has one.
    pub(super) fn rxe_answer(&mut self, packet: &Packet) -> Option<Kind> {
        if packet.seq == self.expected {
            self.expected += 1;
            return packet.requests_ack().then_some(Kind::Ack);
        }
        if packet.seq < self.expected {
            return Some(Kind::Ack);
        }
        let is_first = self.nacked != self.expected;
        self.nacked = self.expected;
        is_first.then_some(Kind::Nack)
    }
}

/// Bytes of a header.
#[expect(
    clippy::cast_possible_truncation,
    reason = "headers are under a hundred bytes"
)]
const fn small(bytes: u64) -> u32 {
    bytes as u32
}
