//! Sending QPs, from a flow's start to its end: they send packets and process ACKs and NACKs.
//!
//! The transport is RC (reliable connection) with go-back-N: the receiver acknowledges every packet that arrives in
//! order, and requests the first missing packet once; the sender goes back to that packet. A sender that gets no answer
//! for the retransmission time-out also goes back (InfiniBand volume 1, 9.7.6); the artifact's sender never does.
//! SoftRoCE's own rules are in `rxe`.

use std::collections::VecDeque;

use lab_records::StoryEvent;
use lab_units::Nanos;

use super::{
    Partition, Telemetry,
    qp::{self, Qp},
};
use crate::{
    cc::{Ack, CongestionControl, PathFacts, QpFacts},
    event::EventKind,
    network::{WireClock, count},
    packet::{DATA_CLASS, Kind, Packet},
    semantics::SemanticsRules,
    time::SimTime,
    trace::{FlowEnd, TraceEvent},
};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Creates the QP of the partition's next flow.
    pub(super) fn start_flow(&mut self) {
        let Some(&id) = self.starts.get(self.started) else {
            return;
        };
        self.started += 1;
        if let Some(&next) = self.starts.get(self.started) {
            let at = self.world.flows[next as usize].start;
            self.events
                .push(at, EventKind::FlowStart, count(self.started));
        }
        let flow = &self.world.flows[id as usize];
        let port = self.nic_port(flow.src);
        let line_rate = self.port(port).rate;
        let facts = QpFacts {
            line_rate,
            base_rtt: self.world.common_base_rtt.unwrap_or(flow.base_rtt),
            full_window: match self.world.common_base_rtt {
                Some(_) => self.world.largest_window,
                None => S::bdp(flow.base_rtt, line_rate),
            },
            payload_bytes: self.world.transport.payload,
        };
        let control = C::new(&self.world.control, facts, self.now);
        let rate = control.rate();
        let slot = self.qps.insert(Qp {
            flow: id,
            acked: 0,
            next: 0,
            is_scheduled: false,
            is_window_full: false,
            window: self.world.window_of(&control, line_rate),
            line_rate,
            next_at: self.now,
            last_bytes: 0,
            rate,
            clock: WireClock::new(rate.get()),
            last_answer_at: self.now,
            cnps: 0,
            timeouts: 0,
            pacer: VecDeque::new(),
            has_ticket: false,
            not_acked: 0,
            has_retried: false,
            cc_timer_at: SimTime::MAX,
            paced_at: SimTime::MAX,
            timeout_at: SimTime::MAX,
            control,
        });
        self.qp_of[flow.sending as usize] = slot;
        self.trace_flow_detail(id, flow.src, StoryEvent::Started, Some(rate.get()), None);
        if S::IS_RXE {
            self.queue_window(slot);
        } else {
            self.schedule_qp(slot);
        }
        self.schedule_timeout(slot);
        self.kick_nic(port);
    }

    /// Sends the next packet of the QP in `slot` through the NIC at `port`.
    pub(super) fn send_data(&mut self, port: u32, slot: u32) {
        let now = self.now;
        let packets = self.train_length(slot);
        let Some(qp) = self.qps.get_mut(slot) else {
            return;
        };
        if qp.next == qp.acked {
            qp.last_answer_at = now; // The QP was not waiting for an answer before.
        }
        let id = qp.flow;
        let seq = qp.next;
        let flow = &self.world.flows[id as usize];
        qp.next += packets;
        let payload = flow.payload_of(qp.next - 1, self.world.transport.payload);
        let bytes = self.world.data_bytes(payload);
        let followers = packets - 1;
        let paced = S::clock(qp.clock.on_wire(self.world.full_bytes)).times(followers.into());
        let sent = bytes + followers * self.world.full_bytes;
        qp.last_bytes = sent;
        qp.next_at = now + paced + S::clock(qp.clock.on_wire(bytes));
        qp.control.on_sent(now, sent, &self.world.control);
        let is_last = qp.next == flow.packets;
        if is_last {
            qp.is_scheduled = false;
            self.nic(flow.src).scheduler.deactivate(slot);
        }
        let stamp = if C::HAS_INT {
            let room = self.world.transport.int_hops;
            let hops = self.spare_hops.pop();
            self.telemetry
                .insert(Telemetry {
                    hops: hops.unwrap_or_else(|| Vec::with_capacity(room)),
                    path: PathFacts::default(),
                })
                .into()
        } else {
            now.nanos_trunc().get()
        };
        let wire_bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
        let to = self.world.network.nodes[flow.dst as usize].host;
        let packet = Packet::new(Kind::Data, DATA_CLASS, id, seq, wire_bytes, stamp);
        let packets = u16::try_from(packets).unwrap_or(u16::MAX);
        let packet = packet.leading(packets, now + paced).to_host(to);
        self.work.data_packets += u64::from(packets);
        self.apply_control(slot);
        self.send(port, packet);
    }

    /// Processes an ACK, NACK or CNP at the sending QP.
    pub(super) fn receive_answer(&mut self, packet: &Packet) {
        let flow = &self.world.flows[packet.flow as usize];
        let node = flow.src;
        let packets = flow.packets;
        let telemetry = self.take_telemetry(packet);
        let slot = self.qp_of[flow.sending as usize];
        let now = self.now;
        let payload = u64::from(self.world.transport.payload);
        if S::IS_RXE && packet.kind() != Kind::Cnp && self.ignores_answer(slot, packet) {
            return;
        }
        let Some(qp) = self.qps.get_mut(slot) else {
            return; // The flow has ended.
        };
        let parameters = &self.world.control;
        qp.catch_up(now, parameters);
        if packet.kind() == Kind::Cnp {
            qp.cnps += 1;
            qp.control.on_cnp(now, parameters);
            self.trace_flow(packet.flow, node, StoryEvent::Cnp);
            return self.after_answer(slot, node);
        }
        qp.last_answer_at = now;
        let acked = packet.seq.max(qp.acked).min(packets);
        let newly = u64::from(acked - qp.acked) * payload;
        qp.acked = acked;
        qp.next = qp.next.max(acked);
        if newly > 0 {
            qp.timeouts = 0;
        }
        let ack = Ack {
            acked_bytes: u64::from(acked) * payload,
            next_bytes: u64::from(qp.next) * payload,
            newly_bytes: newly,
            is_marked: packet.echoes_mark(),
            round_trip: since(packet.stamp, now),
            hops: telemetry.as_ref().map_or(&[], |it| it.hops.as_slice()),
            path: telemetry
                .as_ref()
                .map_or_else(PathFacts::default, |it| it.path),
        };
        qp.control.on_ack(now, &ack, parameters);
        if let Some(Telemetry { mut hops, .. }) = telemetry {
            hops.clear();
            self.spare_hops.push(hops);
        }
        if packet.kind() == Kind::Nack {
            qp.control.on_nack(now, parameters);
        }
        if packet.echoes_mark() {
            self.trace_flow(packet.flow, node, StoryEvent::Cnp);
        }
        if acked == packets {
            return self.finish(slot, packet.flow);
        }
        if packet.kind() == Kind::Nack {
            self.trace_flow_detail(packet.flow, node, StoryEvent::Nacked, None, Some(acked));
        }
        if self.must_go_back(slot, packet.kind()) {
            self.go_back(slot, node);
        }
        self.after_answer(slot, node);
    }

    /// Makes the QP in `slot` retransmit from its first unacknowledged packet (go-back-N).
    pub(super) fn go_back(&mut self, slot: u32, node: u32) {
        let Some(qp) = self.qps.get_mut(slot) else {
            return;
        };
        if qp.next == qp.acked {
            return;
        }
        qp.next = qp.acked;
        self.work.go_backs += 1;
        let flow = qp.flow;
        let seq = qp.next;
        self.trace_flow_detail(flow, node, StoryEvent::Retransmitted, None, Some(seq));
        if !S::IS_RXE {
            self.schedule_qp(slot);
        }
    }

    pub(super) fn after_answer(&mut self, slot: u32, node: u32) {
        self.apply_control(slot);
        let port = self.nic_port(node);
        if let Some(qp) = self.qps.get_mut(slot) {
            qp.is_window_full = false;
        }
        if S::IS_RXE {
            self.queue_window(slot);
        }
        self.kick_nic(port);
    }

    /// Removes the QP in `slot` and returns its flow; `None` if the slot is empty.
    fn close_qp(&mut self, slot: u32) -> Option<u32> {
        let qp = self.qps.remove(slot)?;
        let facts = &self.world.flows[qp.flow as usize];
        self.nic(facts.src).scheduler.finish(slot);
        self.qp_of[facts.sending as usize] = qp::NONE;
        Some(qp.flow)
    }

    /// Fails a QP: its flow never finishes, and answers that are still in flight will be ignored.
    pub(super) fn give_up(&mut self, slot: u32) {
        let Some(flow) = self.close_qp(slot) else {
            return;
        };
        self.given_up.push(flow);
        let at = self.now;
        self.trace
            .push(TraceEvent::FlowGivenUp(FlowEnd { at, flow }));
    }

    fn finish(&mut self, slot: u32, flow: u32) {
        let facts = &self.world.flows[flow as usize];
        self.close_qp(slot);
        self.work.finished += 1;
        self.last_finish = self.now;
        self.trace_flow(flow, facts.src, StoryEvent::Finished);
        self.trace
            .push(TraceEvent::FlowFinished(FlowEnd { at: self.now, flow }));
        if S::SCHEDULER_KEEPS_QPS {
            self.kick_nic(self.nic_port(facts.src));
        }
    }

    /// Returns the flows that started in this partition and did not finish.
    pub fn unfinished(&self) -> impl Iterator<Item = u32> {
        let given_up = self.given_up.iter().copied();
        self.qps.iter().map(|(_, qp)| qp.flow).chain(given_up)
    }
}

/// Returns the time from a packet's sending until `now`, in whole nanoseconds, as TIMELY's NICs measure it.
fn since(stamp: u64, now: SimTime) -> SimTime {
    let sent = Nanos::new(stamp);
    now.nanos_trunc().saturating_sub(sent).into()
}
