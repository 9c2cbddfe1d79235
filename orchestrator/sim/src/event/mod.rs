//! Event queue of a partition, ordered by time.
//!
//! - `tournament`: earliest of many times that change independently

mod tournament;

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

pub use self::tournament::{NEVER, Tournament};
use crate::time::SimTime;

/// Kind of an event. Events at the same time are processed in the order of these variants, so a change of the order
/// changes results.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum EventKind {
    /// Fault, identified by its index in the partition's list of faults.
    Fault,
    /// Arrival, at a port, of the packet at the head of its incoming wire.
    Arrive,
    /// Wake-up of a port, which may have a packet to send.
    Wake,
    /// Arrival, at a host, of the last packet of a train.
    LastArrival,
    /// Wake-up of a host's NIC port ([`crate::semantics::SemanticsRules::NIC_OVERSLEEPS`]).
    NicAwake,
    /// Start of the partition's next flow.
    FlowStart,
    /// Due time of the congestion-control timer of a QP.
    CcTimer,
    /// Due time of the first packet in a QP's pacer.
    Paced,
    /// Retransmission time-out of a QP.
    Timeout,
    /// LCMP's periodic sample of the queues at the DCI switch.
    Monitor,
    /// Flow-cache garbage collection at the DCI switch.
    FlowGc,
    /// Eviction of the least recently seen flows from the DCI switch's flow table, which is over its capacity.
    Eviction,
    /// Sample of the links for the records.
    SampleLinks,
    /// Sample of the queues for the records.
    SampleQueues,
    /// Sample of the DCI switch's counters for the records.
    SampleSwitch,
    /// End of a traffic-engineering interval at the DCI switch.
    TeTick,
    /// Sample of the QPs' rates for the records.
    SampleRates,
}

const ALL: [EventKind; 17] = [
    EventKind::Fault,
    EventKind::Arrive,
    EventKind::Wake,
    EventKind::LastArrival,
    EventKind::NicAwake,
    EventKind::FlowStart,
    EventKind::CcTimer,
    EventKind::Paced,
    EventKind::Timeout,
    EventKind::Monitor,
    EventKind::FlowGc,
    EventKind::Eviction,
    EventKind::SampleLinks,
    EventKind::SampleQueues,
    EventKind::SampleSwitch,
    EventKind::TeTick,
    EventKind::SampleRates,
];

impl EventKind {
    /// Returns true if the event cannot send packets, so that a run without other events is over.
    const fn is_housekeeping(self) -> bool {
        self as u8 >= Self::Monitor as u8
    }
}

/// Scheduled event: time, kind and index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Event {
    /// Virtual time of the event.
    pub at: SimTime,
    /// Kind of event.
    pub kind: EventKind,
    /// Index of a port, a QP slot, a train or a fault, depending on the kind.
    pub index: u32,
}

/// Scheduled events, by time, then kind, then index. This order does not depend on the order of scheduling, so results
/// do not depend on the number of threads.
///
/// Of the packets on a wire, only the first has an arrival event in the queue. Each port has one arrival and one
/// wake-up, each with a slot in a [`Tournament`]. All other events are timers in a heap, with time, kind and index in
/// one number. There are thousands of timers, and about one expires per million packets.
pub struct EventQueue {
    packets: Tournament,
    first_port: u32,
    ports: u32,
    timers: BinaryHeap<Reverse<u128>>,
    /// Number of scheduled timers of the kinds that can send packets.
    work: usize,
}

impl EventQueue {
    /// Creates an empty queue for the ports in `ports`.
    #[must_use]
    pub fn new(ports: Range<u32>) -> Self {
        let count = ports.end - ports.start;
        Self {
            packets: Tournament::new(2 * count),
            first_port: ports.start,
            ports: count,
            timers: BinaryHeap::new(),
            work: 0,
        }
    }

    /// Schedules an event. For an arrival or wake-up, it replaces the port's event of the same kind.
    #[inline]
    pub fn push(&mut self, at: SimTime, kind: EventKind, index: u32) {
        match self.slot(kind, index) {
            Some(slot) => self.packets.set(slot, at),
            None => self.push_timer(at, kind, index),
        }
    }

    fn push_timer(&mut self, at: SimTime, kind: EventKind, index: u32) {
        self.work += usize::from(!kind.is_housekeeping());
        self.timers.push(Reverse(pack(at, kind, index)));
    }

    /// Returns the next event before `end`, without removing it; `None` if there is none.
    #[inline]
    #[must_use]
    pub fn next_before(&self, end: SimTime) -> Option<Event> {
        Some(self.next()).filter(|next| next.at < end.min(NEVER))
    }

    /// Removes the next event, which must be a timer.
    pub fn pop_timer(&mut self) {
        if let Some(Reverse(key)) = self.timers.pop() {
            self.work -= usize::from(!unpack(key).kind.is_housekeeping());
        }
    }

    /// Removes the scheduled arrival or wake-up of `port`.
    #[inline]
    pub fn clear(&mut self, kind: EventKind, port: u32) {
        if let Some(slot) = self.slot(kind, port) {
            self.packets.set(slot, NEVER);
        }
    }

    /// Returns the time of the next event.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<SimTime> {
        Some(self.next().at).filter(|&at| at < NEVER)
    }

    /// Returns true if any event that can send packets is scheduled.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.work > 0 || self.packets.earliest().0 < NEVER
    }

    /// Returns the next event; if none is scheduled, an arrival at [`NEVER`].
    #[inline]
    fn next(&self) -> Event {
        let (at, slot) = self.packets.earliest();
        let (kind, here) = match slot.checked_sub(self.ports) {
            None => (EventKind::Arrive, slot),
            Some(here) => (EventKind::Wake, here),
        };
        let index = self.first_port + here;
        match self.timers.peek() {
            Some(&Reverse(timer)) if timer < pack(at, kind, index) => unpack(timer),
            _ => Event { at, kind, index },
        }
    }

    /// Returns the tournament slot for an arrival or wake-up; `None` for a timer.
    #[inline]
    fn slot(&self, kind: EventKind, port: u32) -> Option<u32> {
        let here = port.wrapping_sub(self.first_port);
        match kind {
            EventKind::Arrive => Some(here),
            EventKind::Wake => Some(self.ports + here),
            _ => None,
        }
    }
}

const fn pack(at: SimTime, kind: EventKind, index: u32) -> u128 {
    let low = (kind as u64) << 32 | index as u64;
    (at.picos() as u128) << 64 | low as u128
}

const fn time_of(key: u128) -> SimTime {
    SimTime::from_picos((key >> 64) as u64)
}

#[expect(clippy::cast_possible_truncation, reason = "the parts of the key")]
const fn unpack(key: u128) -> Event {
    Event {
        at: time_of(key),
        kind: ALL[(key >> 32) as u32 as usize],
        index: key as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> EventQueue {
        EventQueue::new(0..16)
    }

    fn pop_before(queue: &mut EventQueue, end: SimTime) -> Option<Event> {
        let event = queue.next_before(end)?;
        match event.kind {
            EventKind::Arrive | EventKind::Wake => queue.clear(event.kind, event.index),
            _ => queue.pop_timer(),
        }
        Some(event)
    }

    #[test]
    fn events_are_ordered_by_time_kind_and_index() {
        let mut queue = queue();
        let at = SimTime::from_picos;
        queue.push(at(5), EventKind::Wake, 1);
        queue.push(at(5), EventKind::Arrive, 9);
        queue.push(at(5), EventKind::Arrive, 2);
        queue.push(at(4), EventKind::SampleLinks, 0);
        let mut order = Vec::new();
        while let Some(event) = pop_before(&mut queue, at(6)) {
            order.push((event.at.picos(), event.kind, event.index));
        }
        let expected = [
            (4, EventKind::SampleLinks, 0),
            (5, EventKind::Arrive, 2),
            (5, EventKind::Arrive, 9),
            (5, EventKind::Wake, 1),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn the_end_is_exclusive_and_samples_are_no_work() {
        let mut queue = queue();
        queue.push(SimTime::from_picos(7), EventKind::SampleQueues, 0);
        assert!(!queue.has_work());
        queue.push(SimTime::from_picos(7), EventKind::Timeout, 0);
        assert!(queue.has_work());
        assert_eq!(pop_before(&mut queue, SimTime::from_picos(7)), None);
        assert!(pop_before(&mut queue, SimTime::MAX).is_some());
        assert!(!queue.has_work());
    }

    #[test]
    fn a_rescheduled_event_has_its_new_time() {
        let mut queue = queue();
        for (at, index) in [(1, 0), (2, 1), (4, 2)] {
            queue.push(SimTime::from_picos(at), EventKind::Arrive, index);
        }
        queue.push(SimTime::from_picos(3), EventKind::Arrive, 0);
        let order: Vec<_> = std::iter::from_fn(|| pop_before(&mut queue, SimTime::MAX))
            .map(|event| (event.at.picos(), event.index))
            .collect();
        assert_eq!(order, [(2, 1), (3, 0), (4, 2)]);
        assert!(!queue.has_work());
    }

    #[test]
    fn every_kind_survives_packing() {
        for kind in ALL {
            let event = unpack(pack(SimTime::from_picos(1), kind, u32::MAX));
            assert_eq!((event.kind, event.index), (kind, u32::MAX));
        }
    }
}
