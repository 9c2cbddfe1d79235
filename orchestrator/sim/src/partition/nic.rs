//! NIC of a host: sends ACKs first, then packets of the QPs in round-robin order.

use std::collections::VecDeque;

use lab_records::StoryEvent;

use super::{Partition, qp_scheduler::QpScheduler};
use crate::{
    cc::CongestionControl,
    event::EventKind,
    packet::{DATA_CLASS, Packet},
    semantics::SemanticsRules,
    time::SimTime,
    trace::TraceFilter,
};

/// State of a NIC in addition to its port's state.
pub(super) struct Nic {
    pub scheduler: QpScheduler,
    /// QPs whose pacer's first packet is due and waits for the NIC, in order (profile `rxe` with PFC).
    pub tickets: VecDeque<u32>,
    /// Time until which the artifact's NIC sleeps ([`SemanticsRules::NIC_OVERSLEEPS`]); in the past if it is awake.
    asleep_until: SimTime,
}

impl Nic {
    pub const fn new(keeps_qps: bool) -> Self {
        Self {
            scheduler: QpScheduler::new(keeps_qps),
            tickets: VecDeque::new(),
            asleep_until: SimTime::ZERO,
        }
    }
}

/// Result of one iteration of a NIC's QP scheduler.
enum NextQp {
    Send(u32),
    /// No QP may send before this time, because of pacing.
    Wait(SimTime),
    Nothing,
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    pub(super) fn nic(&mut self, node: u32) -> &mut Nic {
        &mut self.nics[(node - self.first_node) as usize]
    }

    pub(super) fn nic_port(&self, node: u32) -> u32 {
        self.world.network.nodes[node as usize].ports.start
    }

    /// Adds the QP in `slot`, which has packets to send, to its NIC's scheduler.
    pub(super) fn schedule_qp(&mut self, slot: u32) {
        let Some(qp) = self.qps.get_mut(slot) else {
            return;
        };
        if !qp.is_scheduled {
            qp.is_scheduled = true;
            let node = self.world.flows[qp.flow as usize].src;
            self.nic(node).scheduler.activate(slot);
        }
        self.schedule_cc_timer(slot);
    }

    /// Sends the next packet of the host at `port`, if its NIC is free.
    pub(super) fn kick_nic(&mut self, port: u32) {
        let now = self.now;
        let nic = self.port(port);
        if !nic.is_up {
            return;
        }
        let busy_until = nic.busy_until;
        let queued = nic.next_answer::<S>();
        let node = self.node_of(port);
        if busy_until > now {
            return self.wake_after_packet(port, node);
        }
        if let Some(class) = queued {
            if let Some(packet) = self.dequeue(port, class) {
                self.send(port, packet);
            }
        } else if let Some(packet) = self.next_ticket(node, port) {
            self.send(port, packet);
        } else {
            match self.next_qp(node, port) {
                NextQp::Send(slot) => self.send_data(port, slot),
                NextQp::Wait(_) | NextQp::Nothing if S::NIC_OVERSLEEPS => {
                    return self.sleep(node, port);
                }
                NextQp::Wait(at) => return self.wake_at(port, at),
                NextQp::Nothing => return,
            }
        }
        self.wake_after_packet(port, node);
    }

    /// Lets the artifact's NIC sleep, as [`SemanticsRules::NIC_OVERSLEEPS`] describes.
    fn sleep(&mut self, node: u32, port: u32) {
        let now = self.now;
        let nic = &self.nics[(node - self.first_node) as usize];
        if nic.asleep_until > now {
            return;
        }
        let ready = nic.scheduler.ready();
        let times = ready.filter_map(|slot| self.qps.get(slot));
        let Some(at) = times.map(|qp| qp.next_at).min().filter(|&at| at > now) else {
            return;
        };
        self.nic(node).asleep_until = at;
        self.events.push(at, EventKind::NicAwake, port);
    }

    /// Schedules a wake-up of the NIC at the end of the current packet, if there is more to send.
    #[inline]
    fn wake_after_packet(&mut self, port: u32, node: u32) {
        let port_state = self.port(port);
        let has_queue = port_state.next_answer::<S>().is_some();
        let busy_until = port_state.busy_until;
        let nic = self.nic(node);
        if has_queue || !nic.tickets.is_empty() || nic.scheduler.needs_iteration() {
            self.wake_at(port, busy_until);
        }
    }

    /// Queues an ACK, NACK or CNP, which the NIC sends before data.
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

    /// Selects the next QP that has packets to send and whose window and pacing permit one.
    fn next_qp(&mut self, node: u32, port: u32) -> NextQp {
        let is_paused = self.port(port).is_paused(DATA_CLASS);
        if is_paused && !S::SCHEDULER_KEEPS_QPS {
            return NextQp::Nothing;
        }
        let now = self.now;
        let payload = self.world.transport.payload;
        let mut earliest = SimTime::MAX;
        let mut newly_full = Vec::new();
        let qps = &mut self.qps;
        let may_send = |slot: u32| {
            let Some(qp) = qps.get_mut(slot).filter(|_| !is_paused) else {
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
        let next = nic.scheduler.next(may_send);
        for flow in newly_full {
            self.trace_flow(flow, node, StoryEvent::WindowFull);
        }
        match next {
            Some(slot) => NextQp::Send(slot),
            None if earliest == SimTime::MAX => NextQp::Nothing,
            None => NextQp::Wait(earliest),
        }
    }

    /// Traces a PFC pause or resume of the host at `port` for each flow that the host sends.
    pub(super) fn trace_pause(&mut self, port: u32, is_pause: bool) {
        if *self.filter == TraceFilter::None {
            return;
        }
        let node = self.node_of(port);
        let event = if is_pause {
            StoryEvent::Paused
        } else {
            StoryEvent::Resumed
        };
        let scheduler = &self.nics[(node - self.first_node) as usize].scheduler;
        let flows: Vec<u32> = self
            .qps
            .iter()
            .filter(|(slot, _)| scheduler.ready().any(|ready| ready == *slot))
            .map(|(_, qp)| qp.flow)
            .collect();
        for flow in flows {
            self.trace_flow(flow, node, event);
        }
    }
}
