//! When a sending QP looks again: congestion control's steps and the retransmission time-out.

use lab_records::StoryEvent;

use super::Shard;
use crate::{cc::CongestionControl, event::What, semantics::Semantics, time::SimTime};

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    /// Follows what congestion control may have changed.
    pub(super) fn after_control(&mut self, place: u32) {
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
    pub(super) fn watch_control(&mut self, place: u32) {
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

    pub(super) fn watch_timeout(&mut self, place: u32) {
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
        if is_silent && qp.tries == MAX_TRIES {
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
}

/// Time-outs in a row after which a QP breaks: the largest retry count of InfiniBand (volume 1,
/// 9.7.5.2.8 has three bits), which perftest asks for.
const MAX_TRIES: u8 = 7;
