//! Sending QPs: packets out, ACKs and NACKs in, from a flow's start to its end.
//!
//! RC transport with go-back-N: the receiver acknowledges every packet in order, asks once for the
//! first one missing, and the sender goes back to it. A sender that hears nothing for the
//! retransmission time-out goes back too (InfiniBand volume 1, 9.7.6); the artifact's never does.

use lab_records::StoryEvent;

use super::{
    Shard, Telemetry,
    qp::{self, Qp},
};
use crate::{
    cc::{Ack, CongestionControl, QpFacts},
    event::What,
    network::{WireClock, count},
    note::{FlowEnd, Note},
    packet::{DATA_CLASS, Kind, Packet},
    semantics::Semantics,
    time::SimTime,
};

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    /// The next flow of the schedule gets its QP.
    pub(super) fn start_flow(&mut self) {
        let Some(&id) = self.starts.get(self.started) else {
            return;
        };
        self.started += 1;
        if let Some(&next) = self.starts.get(self.started) {
            let at = self.world.flows[next as usize].start;
            self.events.push(at, What::Start, count(self.started));
        }
        let flow = &self.world.flows[id as usize];
        let port = self.nic_port(flow.src);
        let line_rate = self.port(port).rate;
        let facts = QpFacts {
            line_rate,
            base_rtt: self.world.common_base_rtt.unwrap_or(flow.base_rtt),
            full_window: match self.world.common_base_rtt {
                Some(_) => self.world.largest_window,
                None => P::bdp(flow.base_rtt, line_rate),
            },
            payload_bytes: self.world.transport.payload,
        };
        let control = C::new(&self.world.control, facts, self.now);
        let rate = control.rate();
        let place = self.qps.insert(Qp {
            flow: id,
            acked: 0,
            next: 0,
            is_in_round: false,
            is_window_full: false,
            window: self.world.window_of(&control, line_rate),
            line_rate,
            next_at: self.now,
            last_bytes: 0,
            rate,
            clock: WireClock::new(rate.get()),
            heard_at: self.now,
            tries: 0,
            control_at: SimTime::MAX,
            timeout_at: SimTime::MAX,
            control,
        });
        self.qp_of[flow.sending as usize] = place;
        self.tell_more(id, flow.src, StoryEvent::Started, Some(rate.get()), None);
        self.join_round(place);
        self.watch_timeout(place);
        self.kick_nic(port);
    }

    /// Sends the next packet of a QP.
    pub(super) fn send_data(&mut self, port: u32, place: u32) {
        let now = self.now;
        let Some(qp) = self.qps.get_mut(place) else {
            return;
        };
        if qp.next == qp.acked {
            qp.heard_at = now; // Nothing was to be heard of before.
        }
        let (id, seq) = (qp.flow, qp.next);
        let flow = &self.world.flows[id as usize];
        let payload = flow.payload_of(seq, self.world.transport.payload);
        let bytes = self.world.data_bytes(payload);
        qp.next += 1;
        qp.last_bytes = bytes;
        qp.next_at = now + P::clock(qp.clock.on_wire(bytes));
        qp.control.sent(now, bytes, &self.world.control);
        let is_last = qp.next == flow.packets;
        if is_last {
            qp.is_in_round = false;
            self.nic(flow.src).round.leave(place);
        }
        let stamp = if C::HAS_INT {
            self.telemetry.insert(Telemetry::default())
        } else {
            low_nanos(now)
        };
        let wire_bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
        let to = self.world.network.nodes[flow.dst as usize].host;
        let packet = Packet::new(Kind::Data, DATA_CLASS, id, seq, wire_bytes, stamp).bound_for(to);
        self.work.data_packets += 1;
        self.after_control(place);
        self.send(port, packet);
    }

    /// An ACK, NACK or CNP is there.
    pub(super) fn receive_answer(&mut self, packet: &Packet) {
        let flow = &self.world.flows[packet.flow as usize];
        let (node, packets) = (flow.src, flow.packets);
        let telemetry = self.take_telemetry(packet);
        let place = self.qp_of[flow.sending as usize];
        let now = self.now;
        let payload = u64::from(self.world.transport.payload);
        let Some(qp) = self.qps.get_mut(place) else {
            return; // The flow has ended.
        };
        let parameters = &self.world.control;
        qp.catch_up(now, parameters);
        if packet.kind == Kind::Cnp {
            qp.control.notified(now, parameters);
            self.tell(packet.flow, node, StoryEvent::Cnp);
            return self.after_answer(place, node);
        }
        qp.heard_at = now;
        let acked = packet.seq.max(qp.acked).min(packets);
        let newly = u64::from(acked - qp.acked) * payload;
        qp.acked = acked;
        qp.next = qp.next.max(acked);
        if newly > 0 {
            qp.tries = 0;
        }
        let ack = Ack {
            acked_bytes: u64::from(acked) * payload,
            next_bytes: u64::from(qp.next) * payload,
            newly_bytes: newly,
            is_marked: packet.echoes_mark(),
            round_trip: since(packet.stamp, now),
            hops: telemetry.as_ref().map_or(&[], Telemetry::hops),
        };
        qp.control.acked(now, &ack, parameters);
        if packet.kind == Kind::Nack {
            qp.control.nacked(now, parameters);
        }
        if packet.echoes_mark() {
            self.tell(packet.flow, node, StoryEvent::Cnp);
        }
        if acked == packets {
            return self.finish(place, packet.flow);
        }
        if packet.kind == Kind::Nack {
            self.tell_more(packet.flow, node, StoryEvent::Nacked, None, Some(acked));
            self.go_back(place, node);
        }
        self.after_answer(place, node);
    }

    /// The sender begins again at the first packet that is not acknowledged.
    pub(super) fn go_back(&mut self, place: u32, node: u32) {
        let Some(qp) = self.qps.get_mut(place) else {
            return;
        };
        if qp.next == qp.acked {
            return;
        }
        qp.next = qp.acked;
        let (flow, seq) = (qp.flow, qp.next);
        self.tell_more(flow, node, StoryEvent::Retransmitted, None, Some(seq));
        self.join_round(place);
    }

    pub(super) fn after_answer(&mut self, place: u32, node: u32) {
        self.after_control(place);
        let port = self.nic_port(node);
        if let Some(qp) = self.qps.get_mut(place) {
            qp.is_window_full = false;
        }
        self.kick_nic(port);
    }

    /// Takes a QP out; its flow.
    fn close_qp(&mut self, place: u32) -> Option<u32> {
        let qp = self.qps.remove(place)?;
        let facts = &self.world.flows[qp.flow as usize];
        self.nic(facts.src).round.close(place);
        self.qp_of[facts.sending as usize] = qp::NONE;
        Some(qp.flow)
    }

    /// The QP has tried often enough: it breaks and its flow never finishes.
    pub(super) fn give_up(&mut self, place: u32) {
        let flow = self.close_qp(place);
        self.given_up.extend(flow);
    }

    fn finish(&mut self, place: u32, flow: u32) {
        let facts = &self.world.flows[flow as usize];
        self.close_qp(place);
        self.work.finished += 1;
        self.last_finish = self.now;
        self.tell(flow, facts.src, StoryEvent::Finished);
        self.notes
            .push(Note::Finished(FlowEnd { at: self.now, flow }));
        if P::ROUND_KEEPS {
            self.kick_nic(self.nic_port(facts.src));
        }
    }

    /// Flows that have started here and not ended.
    pub fn unfinished(&self) -> impl Iterator<Item = u32> {
        let given_up = self.given_up.iter().copied();
        self.qps.iter().map(|(_, qp)| qp.flow).chain(given_up)
    }
}

/// The clock as packets carry it.
#[expect(clippy::cast_possible_truncation, reason = "the low bits")]
const fn low_nanos(now: SimTime) -> u32 {
    now.nanos_trunc().get() as u32
}

/// The time from `stamp`, as [`low_nanos`] gives it, until `now`: to the nanosecond, and exact up
/// to 4.29 s.
fn since(stamp: u32, now: SimTime) -> SimTime {
    let nanos = low_nanos(now).wrapping_sub(stamp);
    SimTime::from(lab_units::Nanos::new(u64::from(nanos)))
}
