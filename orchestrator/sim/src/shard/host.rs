//! Hosts: the NIC's round over its QPs, sending and receiving of reliable connections.
//!
//! RC transport with go-back-N: the receiver acknowledges every packet in order, asks once for the
//! first one missing, and the sender goes back to it. A sender that hears nothing for the
//! retransmission time-out goes back too (InfiniBand volume 1, 9.7.6); the artifact's never does.

use lab_records::StoryEvent;

use super::{
    Shard,
    qp::{self, Qp},
};
use crate::{
    cc::{Ack, CongestionControl, Notification, QpFacts},
    event::What,
    network::WireClock,
    note::{FlowEnd, Note},
    packet::{DATA_CLASS, Kind, Packet, STRICT},
    physics::Physics,
    time::SimTime,
};

/// A host's round over the QPs that have something to send, in the order they came.
#[derive(Default)]
pub(super) struct Nic {
    round: Vec<u32>,
    /// The place in the round that had its turn last.
    turn: usize,
    /// Until when it sleeps, if that is to come: the artifact's one event for it.
    sleeps_until: SimTime,
}

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

/// What a NIC may send of its QPs.
enum Turn {
    Send(u32),
    /// All are held until then at least.
    Wait(SimTime),
    Nothing,
}

impl<P: Physics, C: CongestionControl> Shard<'_, P, C> {
    fn nic(&mut self, node: u32) -> &mut Nic {
        &mut self.nics[(node - self.first_node) as usize]
    }

    fn nic_port(&self, node: u32) -> u32 {
        self.world.network.nodes[node as usize].ports.start
    }

    /// The next flow of the schedule gets its QP.
    pub(super) fn start_flow(&mut self) {
        let Some(&id) = self.starts.get(self.started) else {
            return;
        };
        self.started += 1;
        if let Some(&next) = self.starts.get(self.started) {
            let at = self.world.flows[next as usize].start;
            self.events
                .push(at, What::Start, crate::network::count(self.started));
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

    /// Gives a QP with something to send its turns.
    fn join_round(&mut self, place: u32) {
        let Some(qp) = self.qps.get_mut(place) else {
            return;
        };
        if !qp.is_in_round {
            qp.is_in_round = true;
            let node = self.world.flows[qp.flow as usize].src;
            self.nic(node).round.push(place);
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
            if queued.is_some() || !self.nic(node).round.is_empty() {
                self.wake_at(port, busy_until);
            }
            return;
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

    /// The artifact's sleep: see [`Physics::NIC_OVERSLEEPS`].
    fn sleep(&mut self, node: u32, port: u32) {
        let now = self.now;
        let nic = &self.nics[(node - self.first_node) as usize];
        if nic.sleeps_until > now {
            return;
        }
        let times = nic.round.iter().filter_map(|&place| self.qps.get(place));
        let Some(at) = times.map(|qp| qp.next_at).min().filter(|&at| at > now) else {
            return;
        };
        self.nic(node).sleeps_until = at;
        self.events.push(at, What::Wake, port);
    }

    /// Whether the NIC of `port` has slept until now.
    pub(super) fn has_slept(&self, port: u32) -> bool {
        let node = self.node_of(port);
        P::NIC_OVERSLEEPS && self.nics[(node - self.first_node) as usize].sleeps_until == self.now
    }

    /// Looks at the NIC again when what it sends is sent, if there is more.
    #[inline]
    fn wake_after_packet(&mut self, port: u32, node: u32) {
        let nic = self.port(port);
        let busy_until = nic.busy_until;
        if nic.next_class().is_some() || !self.nic(node).round.is_empty() {
            self.wake_at(port, busy_until);
        }
    }

    /// Sends an ACK, NACK or CNP, before any data.
    #[inline]
    fn answer(&mut self, port: u32, packet: Packet) {
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
        if self.port(port).paused & (1 << DATA_CLASS) != 0 {
            return Turn::Nothing;
        }
        let payload = self.world.transport.payload;
        let nic = &mut self.nics[(node - self.first_node) as usize];
        let count = nic.round.len();
        let mut earliest = SimTime::MAX;
        for step in 1..=count {
            let at = (nic.turn + step) % count;
            let Some(qp) = self.qps.get_mut(nic.round[at]) else {
                continue;
            };
            if qp.is_full(payload) {
                if !qp.is_window_full {
                    qp.is_window_full = true;
                    let flow = qp.flow;
                    self.tell(flow, node, StoryEvent::WindowFull);
                    return self.next_turn(node, port);
                }
                continue;
            }
            if qp.next_at > self.now {
                earliest = earliest.min(qp.next_at);
                continue;
            }
            nic.turn = at;
            return Turn::Send(nic.round[at]);
        }
        if earliest == SimTime::MAX {
            Turn::Nothing
        } else {
            Turn::Wait(earliest)
        }
    }

    /// Sends the next packet of a QP.
    fn send_data(&mut self, port: u32, place: u32) {
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
            self.leave_round(flow.src, place);
        }
        let stamp = if C::HAS_INT {
            self.telemetry.insert(super::Telemetry::default())
        } else {
            low_nanos(now)
        };
        let wire_bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
        let packet = Packet::new(Kind::Data, DATA_CLASS, id, seq, wire_bytes, stamp);
        self.work.data_packets += 1;
        self.after_control(place);
        self.send(port, packet);
    }

    fn leave_round(&mut self, node: u32, place: u32) {
        let nic = self.nic(node);
        let Some(at) = nic.round.iter().position(|&other| other == place) else {
            return;
        };
        nic.round.remove(at);
        // The one after it is next.
        if at <= nic.turn {
            nic.turn = nic
                .turn
                .checked_sub(1)
                .unwrap_or(nic.round.len().saturating_sub(1));
        }
    }

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
            self.enqueue(
                port,
                Packet::new(Kind::Cnp, STRICT, packet.flow, 0, bytes, 0),
            );
        }
        let Some(kind) = kind else {
            self.take_telemetry(packet);
            return;
        };
        let transport = &self.world.transport;
        let bytes = u16::try_from(transport.ack_bytes).unwrap_or(u16::MAX);
        let class = transport.ack_class;
        let mut answer = Packet::new(kind, class, packet.flow, expected, bytes, packet.stamp);
        if packet.is_marked() && notification == Notification::Echo {
            answer.echo_mark();
        }
        self.answer(port, answer);
    }

    fn receive_answer(&mut self, packet: &Packet) {
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
            hops: telemetry.as_ref().map_or(&[], super::Telemetry::hops),
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
    fn go_back(&mut self, place: u32, node: u32) {
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

    fn after_answer(&mut self, place: u32, node: u32) {
        self.after_control(place);
        let port = self.nic_port(node);
        if let Some(qp) = self.qps.get_mut(place) {
            qp.is_window_full = false;
        }
        self.kick_nic(port);
    }

    /// Follows what congestion control may have changed.
    fn after_control(&mut self, place: u32) {
        let world = self.world;
        let Some(qp) = self.qps.get_mut(place) else {
            return;
        };
        if qp.follow_rate::<P>() {
            qp.window = world.window_of(&qp.control, qp.line_rate);
            let (flow, rate) = (qp.flow, qp.rate.get());
            let node = world.flows[flow as usize].src;
            self.tell_more(flow, node, StoryEvent::RateSet, Some(rate), None);
        } else if let Some(window) = qp.control.window_bytes() {
            qp.window = window.min(world.window(qp.rate, qp.line_rate));
        }
        self.watch_control(place);
    }

    /// Schedules the next step of congestion control, while there is something to pace.
    fn watch_control(&mut self, place: u32) {
        let now = self.now;
        let Some(qp) = self.qps.get_mut(place) else {
            return;
        };
        let payload = self.world.transport.payload;
        let is_held = !qp.is_in_round || qp.is_full(payload);
        let Some(at) = qp.control.next_timer().filter(|_| !is_held) else {
            return;
        };
        let at = at.max(now);
        if at != qp.control_at {
            qp.control_at = at;
            self.events.push(at, What::Control, place);
        }
    }

    pub(super) fn control_due(&mut self, place: u32) {
        let now = self.now;
        let Some(qp) = self.qps.get_mut(place) else {
            return;
        };
        if qp.control_at != now {
            return;
        }
        qp.control_at = SimTime::MAX;
        if !qp.is_in_round {
            return;
        }
        qp.catch_up(now, &self.world.control);
        let node = self.world.flows[qp.flow as usize].src;
        self.after_control(place);
        let port = self.nic_port(node);
        self.kick_nic(port);
    }

    fn watch_timeout(&mut self, place: u32) {
        let Some(timeout) = self.world.transport.timeout else {
            return;
        };
        if let Some(qp) = self.qps.get_mut(place) {
            qp.timeout_at = qp.heard_at + timeout;
            self.events.push(qp.timeout_at, What::Timeout, place);
        }
    }

    pub(super) fn timeout_due(&mut self, place: u32) {
        let (now, timeout) = (self.now, self.world.transport.timeout);
        let (Some(qp), Some(timeout)) = (self.qps.get_mut(place), timeout) else {
            return;
        };
        if qp.timeout_at != now {
            return;
        }
        // Nothing is missing while nothing is unacknowledged.
        let is_silent = qp.heard_at + timeout <= now && qp.next > qp.acked;
        if is_silent && qp.tries == MOST_TRIES {
            return self.give_up(place);
        }
        if is_silent {
            qp.tries += 1;
            qp.heard_at = now;
            qp.catch_up(now, &self.world.control);
            qp.control.timed_out(now, &self.world.control);
            let (flow, seq) = (qp.flow, qp.acked);
            let node = self.world.flows[flow as usize].src;
            self.tell_more(flow, node, StoryEvent::TimedOut, None, Some(seq));
            self.go_back(place, node);
            self.after_answer(place, node);
        } else if qp.next == qp.acked {
            qp.heard_at = now;
        }
        self.watch_timeout(place);
    }

    /// Takes a QP out; its flow.
    fn close_qp(&mut self, place: u32) -> Option<u32> {
        let qp = self.qps.remove(place)?;
        let facts = &self.world.flows[qp.flow as usize];
        if qp.is_in_round {
            self.leave_round(facts.src, place);
        }
        self.qp_of[facts.sending as usize] = qp::NONE;
        Some(qp.flow)
    }

    /// The QP has tried often enough: it breaks and its flow never finishes.
    fn give_up(&mut self, place: u32) {
        let flow = self.close_qp(place);
        self.given_up.extend(flow);
    }

    fn finish(&mut self, place: u32, flow: u32) {
        let facts = &self.world.flows[flow as usize];
        self.close_qp(place);
        self.work.finished += 1;
        self.tell(flow, facts.src, StoryEvent::Finished);
        self.notes
            .push(Note::Finished(FlowEnd { at: self.now, flow }));
    }

    /// Tells the flows of the host at `port` that it was paused, or may go on.
    pub(super) fn tell_paused(&mut self, port: u32, is_pause: bool) {
        if *self.told == super::Told::None {
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
            .filter(|(place, _)| round.contains(place))
            .map(|(_, qp)| qp.flow)
            .collect();
        for flow in flows {
            self.tell(flow, node, event);
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

/// Time-outs in a row after which a QP breaks: the largest retry count of InfiniBand (volume 1,
/// 9.7.5.2.8 has three bits), which perftest asks for.
const MOST_TRIES: u8 = 7;

impl<C: CongestionControl> Qp<C> {
    /// Does the steps of congestion control that were due while there was nothing to send.
    fn catch_up(&mut self, now: SimTime, parameters: &C::Parameters) {
        if self.control.next_timer().is_some_and(|due| due <= now) {
            self.control.timer(now, parameters);
        }
    }
}
