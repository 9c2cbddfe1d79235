//! Timers of a sending QP: congestion control steps and the retransmission time-out.

use lab_records::StoryEvent;

use super::Partition;
use crate::{cc::CongestionControl, event::EventKind, semantics::SemanticsRules, time::SimTime};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Applies the rate and the window that the congestion control has set for the QP in `slot`.
    pub(super) fn apply_control(&mut self, slot: u32) {
        let world = self.world;
        let Some(qp) = self.qps.get_mut(slot) else {
            return;
        };
        if qp.apply_rate::<S>() {
            qp.window = world.window_of(&qp.control, qp.line_rate);
            let flow = qp.flow;
            let rate = qp.rate.get();
            let node = world.flows[flow as usize].src;
            self.trace_flow_detail(flow, node, StoryEvent::RateSet, Some(rate), None);
        } else if let Some(window) = qp.control.window_bytes() {
            qp.window = window.min(world.window(qp.rate, qp.line_rate));
        }
        self.schedule_pacer(slot);
        self.schedule_cc_timer(slot);
    }

    /// Schedules the next congestion-control step, if the QP has packets to pace.
    pub(super) fn schedule_cc_timer(&mut self, slot: u32) {
        let now = self.now;
        let Some(qp) = self.qps.get_mut(slot) else {
            return;
        };
        let payload = self.world.transport.payload;
        let is_held = !qp.is_scheduled || qp.is_full(payload);
        let next = qp.control.next_timer(&self.world.control);
        let Some(at) = next.filter(|_| !is_held) else {
            return;
        };
        let at = at.max(now);
        if at != qp.cc_timer_at {
            qp.cc_timer_at = at;
            self.events.push(at, EventKind::CcTimer, slot);
        }
    }

    pub(super) fn cc_timer_due(&mut self, slot: u32) {
        let now = self.now;
        let Some(qp) = self.qps.get_mut(slot) else {
            return;
        };
        if qp.cc_timer_at != now {
            return;
        }
        qp.cc_timer_at = SimTime::MAX;
        if !qp.is_scheduled {
            return;
        }
        qp.catch_up(now, &self.world.control);
        let node = self.world.flows[qp.flow as usize].src;
        self.apply_control(slot);
        let port = self.nic_port(node);
        self.kick_nic(port);
    }

    pub(super) fn schedule_timeout(&mut self, slot: u32) {
        let Some(timer) = self.world.transport.timer else {
            return;
        };
        if let Some(qp) = self.qps.get_mut(slot) {
            qp.timeout_at = timer.expiry(qp.last_answer_at);
            self.events.push(qp.timeout_at, EventKind::Timeout, slot);
        }
    }

    pub(super) fn timeout_due(&mut self, slot: u32) {
        let now = self.now;
        let timer = self.world.transport.timer;
        let (Some(qp), Some(timer)) = (self.qps.get_mut(slot), timer) else {
            return;
        };
        if qp.timeout_at != now {
            return;
        }
        // Without unacknowledged packets, the QP expects no answer.
        let is_silent = timer.expiry(qp.last_answer_at) <= now && qp.next > qp.acked;
        let has_tried_enough = if S::IS_RXE {
            let start = self.world.flows[qp.flow as usize].start;
            now >= start + self.world.transport.flow_deadline
        } else {
            qp.timeouts == MAX_TIMEOUTS
        };
        if is_silent && has_tried_enough {
            return self.give_up(slot);
        }
        if is_silent {
            qp.timeouts = qp.timeouts.saturating_add(1);
            qp.has_retried = true;
            qp.last_answer_at = now;
            qp.catch_up(now, &self.world.control);
            qp.control.on_timeout(now, &self.world.control);
            let flow = qp.flow;
            let seq = qp.acked;
            let node = self.world.flows[flow as usize].src;
            self.work.timeouts += 1;
            self.trace_flow_detail(flow, node, StoryEvent::TimedOut, None, Some(seq));
            self.go_back(slot, node);
            self.after_answer(slot, node);
        } else if qp.next == qp.acked {
            qp.last_answer_at = now;
        }
        self.schedule_timeout(slot);
    }
}

/// Number of consecutive time-outs after which a QP fails: InfiniBand's maximum retry count (volume 1, 9.7.5.2.8: three
/// bits), which perftest sets. rxe treats this value as no limit; the lab aborts such a flow after its deadline.
pub const MAX_TIMEOUTS: u8 = 7;
