//! What happens next.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::time::SimTime;

/// What happens; the order is that of events at one time, and changing it changes results.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum What {
    /// The fault of this place in the shard's list.
    Fault,
    /// The first packet on the wire to this port is there.
    Arrive,
    /// This port may have something to send.
    Wake,
    /// The next flow of the shard's schedule starts.
    Start,
    /// Congestion control of this QP.
    Control,
    /// Retransmission time-out of this QP.
    Timeout,
    /// This switch samples its queues.
    Monitor,
    /// This switch looks for idle flows.
    Collect,
    /// Links are recorded.
    SampleLinks,
    /// Queues are recorded.
    SampleQueues,
}

const ALL: [What; 10] = [
    What::Fault,
    What::Arrive,
    What::Wake,
    What::Start,
    What::Control,
    What::Timeout,
    What::Monitor,
    What::Collect,
    What::SampleLinks,
    What::SampleQueues,
];

impl What {
    /// Whether it happens for ever, flows or not.
    const fn is_housekeeping(self) -> bool {
        self as u8 >= Self::Monitor as u8
    }
}

/// Something that happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Event {
    /// When.
    pub at: SimTime,
    /// What.
    pub what: What,
    /// To which port, QP or switch.
    pub index: u32,
}

/// Events to come, by time, then kind, then index: an order that does not depend on who scheduled
/// first, so that it is the same however the work is split.
///
/// Time, kind and index are one number and nothing else is stored. Wires keep only their first
/// packet here, so there are about as many events as ports.
#[derive(Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<u128>>,
    /// Events that are not housekeeping.
    work: usize,
}

impl EventQueue {
    /// Schedules `what` for `index` at `at`.
    #[inline]
    pub fn push(&mut self, at: SimTime, what: What, index: u32) {
        self.work += usize::from(!what.is_housekeeping());
        let low = (what as u64) << 32 | u64::from(index);
        self.heap
            .push(Reverse(u128::from(at.picos()) << 64 | u128::from(low)));
    }

    /// Takes the next event before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: SimTime) -> Option<Event> {
        if self.next_time()? >= end {
            return None;
        }
        let Reverse(key) = self.heap.pop()?;
        let event = unpack(key);
        self.work -= usize::from(!event.what.is_housekeeping());
        Some(event)
    }

    /// When the next event is.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<SimTime> {
        self.heap.peek().map(|&Reverse(key)| time_of(key))
    }

    /// Whether anything but housekeeping is to come.
    #[must_use]
    pub const fn has_work(&self) -> bool {
        self.work > 0
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the parts of the key")]
const fn time_of(key: u128) -> SimTime {
    SimTime::from_picos((key >> 64) as u64)
}

#[expect(clippy::cast_possible_truncation, reason = "the parts of the key")]
const fn unpack(key: u128) -> Event {
    Event {
        at: time_of(key),
        what: ALL[(key >> 32) as u32 as usize],
        index: key as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_time_kind_index_whoever_came_first() {
        let mut queue = EventQueue::default();
        let at = SimTime::from_picos;
        queue.push(at(5), What::Wake, 1);
        queue.push(at(5), What::Arrive, 9);
        queue.push(at(5), What::Arrive, 2);
        queue.push(at(4), What::SampleLinks, 0);
        let mut order = Vec::new();
        while let Some(event) = queue.pop_before(at(6)) {
            order.push((event.at.picos(), event.what, event.index));
        }
        let expected = [
            (4, What::SampleLinks, 0),
            (5, What::Arrive, 2),
            (5, What::Arrive, 9),
            (5, What::Wake, 1),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn the_end_is_not_before_itself_and_samples_are_no_work() {
        let mut queue = EventQueue::default();
        queue.push(SimTime::from_picos(7), What::SampleQueues, 0);
        assert!(!queue.has_work());
        queue.push(SimTime::from_picos(7), What::Timeout, 0);
        assert!(queue.has_work());
        assert_eq!(queue.pop_before(SimTime::from_picos(7)), None);
        assert!(queue.pop_before(SimTime::MAX).is_some());
        assert!(!queue.has_work());
    }

    #[test]
    fn every_kind_survives_packing() {
        for what in ALL {
            let mut queue = EventQueue::default();
            queue.push(SimTime::from_picos(1), what, u32::MAX);
            let event = queue.pop_before(SimTime::MAX).expect("pushed");
            assert_eq!((event.what, event.index), (what, u32::MAX));
        }
    }
}
