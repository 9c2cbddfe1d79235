//! Rules that only SoftRoCE's QPs have; [`crate::semantics::rxe`] lists them.

use lab_plan::{Tool, frame};
use lab_records::StoryEvent;

use super::{Partition, qp::Qp, receiver::Receiver};
use crate::{
    cc::CongestionControl,
    event::EventKind,
    packet::{DATA_CLASS, Kind, Packet},
    semantics::{
        SemanticsRules,
        rxe::{MAX_NOT_ACKED, MAX_PACED, MAX_UNACKED, REFILL_PACED},
    },
    time::SimTime,
    world::{SimFlow, Transport},
};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Puts all packets that the QP's window permits into the host's egress queue. Under congestion control, puts as
    /// many as fit into the QP's pacer instead.
    pub(super) fn queue_window(&mut self, slot: u32) {
        let world = self.world;
        let Some(qp) = self.qps.get_mut(slot) else {
            return;
        };
        let id = qp.flow;
        let flow = &world.flows[id as usize];
        if qp.next == qp.acked {
            qp.last_answer_at = self.now; // The QP was not waiting for an answer before.
        }
        let first = qp.next;
        let to = world.network.nodes[flow.dst as usize].host;
        while qp.pacer.len() < MAX_PACED
            && let Some(packet) = qp.next_packet(flow, &world.transport, S::DATA_HEADER_BYTES)
        {
            self.work.data_packets += 1;
            let packet = packet.to_host(to);
            if C::PACES {
                qp.pacer.push_back(packet);
            } else {
                let port = world.network.nodes[flow.src as usize].ports.start;
                let egress = &mut self.ports[(port - self.first_port) as usize];
                egress.enqueue(&mut self.queued, packet, packet.bytes.into());
            }
        }
        let is_held = qp.next < flow.packets && qp.next > first && qp.pacer.len() < MAX_PACED;
        if is_held {
            self.trace_flow(id, flow.src, StoryEvent::WindowFull);
        }
        self.schedule_pacer(slot);
        self.schedule_cc_timer(slot);
    }

    /// Schedules the first packet in a QP's pacer for the time that the QP's rate permits.
    pub(super) fn schedule_pacer(&mut self, slot: u32) {
        let now = self.now;
        if !(S::IS_RXE && C::PACES) {
            return;
        }
        let Some(qp) = self.qps.get_mut(slot).filter(|qp| !qp.has_ticket) else {
            return;
        };
        qp.is_scheduled = !qp.pacer.is_empty();
        let at = qp.next_at.max(now);
        if qp.is_scheduled && at != qp.paced_at {
            qp.paced_at = at;
            self.events.push(at, EventKind::Paced, slot);
        }
    }

    /// Moves the first packet of a QP's pacer, which is due, into the host's egress queue. With PFC, the packet stays
    /// in the pacer until the NIC is free and not paused, so that the QPs of a NIC take turns.
    pub(super) fn paced_due(&mut self, slot: u32) {
        let now = self.now;
        let world = self.world;
        let Some(qp) = self.qps.get_mut(slot).filter(|qp| qp.paced_at == now) else {
            return;
        };
        qp.paced_at = SimTime::MAX;
        qp.has_ticket = world.transport.pfc;
        let node = world.flows[qp.flow as usize].src;
        let port = self.nic_port(node);
        if world.transport.pfc {
            self.nic(node).tickets.push_back(slot);
        } else if let Some(packet) = self.leave_pacer(slot) {
            self.enqueue(port, packet);
        }
        self.kick_nic(port);
    }

    /// Returns the due packet of the QP that has waited longest for the NIC; `None` if the NIC is paused or no QP
    /// waits.
    pub(super) fn next_ticket(&mut self, node: u32, port: u32) -> Option<Packet> {
        if self.port(port).is_paused(DATA_CLASS) {
            return None;
        }
        while let Some(slot) = self.nic(node).tickets.pop_front() {
            // A QP that has ended may still be in the list.
            let has_ticket = self.qps.get_mut(slot).is_some_and(|qp| qp.has_ticket);
            if let Some(packet) = has_ticket.then(|| self.leave_pacer(slot)).flatten() {
                return Some(packet);
            }
        }
        None
    }

    /// Removes and returns the first packet of a QP's pacer, which is due.
    fn leave_pacer(&mut self, slot: u32) -> Option<Packet> {
        let now = self.now;
        let world = self.world;
        let qp = self.qps.get_mut(slot)?;
        qp.has_ticket = false;
        let packet = qp.pacer.pop_front()?;
        let bytes = u32::from(packet.bytes);
        qp.last_bytes = bytes;
        qp.next_at = now + S::clock(qp.clock.on_wire(bytes));
        qp.control.on_sent(now, bytes, &world.control);
        if qp.pacer.len() < REFILL_PACED {
            self.queue_window(slot);
        }
        self.apply_control(slot);
        Some(packet)
    }

    /// Returns true if the sender ignores an ACK or NACK whose packets were already acknowledged. Such an answer still
    /// restarts the QP's timer.
    pub(super) fn ignores_answer(&mut self, slot: u32, answer: &Packet) -> bool {
        let now = self.now;
        let Some(qp) = self.qps.get_mut(slot) else {
            return true;
        };
        qp.last_answer_at = now;
        match answer.kind() {
            Kind::Nack => answer.seq < qp.acked,
            _ => answer.seq <= qp.acked,
        }
    }

    /// Returns true if an answer of `kind` makes the QP go back to its first unacknowledged packet.
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
    /// Returns the next packet of the QP; `None` if its window is full or all packets have been sent.
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
    /// Returns the kind of SoftRoCE's answer to the data packet `packet`; `None` if the packet gets no answer.
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

/// Converts a header size to 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "headers are under a hundred bytes"
)]
const fn small(bytes: u64) -> u32 {
    bytes as u32
}
