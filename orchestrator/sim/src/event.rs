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
    /// This switch tells traffic engineering its demands and takes its tables.
    Engineer,
}

const ALL: [What; 11] = [
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
    What::Engineer,
];

impl What {
    /// Whether it is a packet that arrives or may leave.
    const fn is_of_packets(self) -> bool {
        matches!(self, Self::Arrive | Self::Wake)
    }

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
/// packet here, so there are about as many of its events as ports. Timers are a heap apart: there
/// are thousands, one of which is due where a million packets are.
#[derive(Default)]
pub struct EventQueue {
    packets: BinaryHeap<Reverse<u128>>,
    timers: BinaryHeap<Reverse<u128>>,
    /// Events that are not housekeeping.
    work: usize,
}

impl EventQueue {
    /// Schedules `what` for `index` at `at`.
    #[inline]
    pub fn push(&mut self, at: SimTime, what: What, index: u32) {
        self.work += usize::from(!what.is_housekeeping());
        let heap = if what.is_of_packets() {
            &mut self.packets
        } else {
            &mut self.timers
        };
        heap.push(Reverse(pack(at, what, index)));
    }

    /// The next event before `end`, which stays.
    #[inline]
    #[must_use]
    pub fn next_before(&self, end: SimTime) -> Option<Event> {
        let key = self.next_key();
        (time_of(key) < end).then(|| unpack(key))
    }

    /// Takes the next event out.
    #[inline]
    pub fn pop(&mut self) {
        let key = self.next_key();
        let heap = if key_of(self.packets.peek()) == key {
            &mut self.packets
        } else {
            &mut self.timers
        };
        if heap.pop().is_some() {
            self.work -= usize::from(!unpack(key).what.is_housekeeping());
        }
    }

    /// Puts the next event, which is a packet's, off until `at`: one walk down the heap instead of
    /// two.
    #[inline]
    pub fn put_off(&mut self, at: SimTime) {
        if let Some(mut top) = self.packets.peek_mut() {
            let event = unpack(top.0);
            *top = Reverse(pack(at, event.what, event.index));
        }
    }

    /// When the next event is.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<SimTime> {
        let key = self.next_key();
        (key != NEVER).then(|| time_of(key))
    }

    /// Whether anything but housekeeping is to come.
    #[must_use]
    pub const fn has_work(&self) -> bool {
        self.work > 0
    }

    #[inline]
    fn next_key(&self) -> u128 {
        key_of(self.packets.peek()).min(key_of(self.timers.peek()))
    }
}

/// Later than every event.
const NEVER: u128 = u128::MAX;

#[inline]
fn key_of(top: Option<&Reverse<u128>>) -> u128 {
    top.map_or(NEVER, |&Reverse(key)| key)
}

const fn pack(at: SimTime, what: What, index: u32) -> u128 {
    let low = (what as u64) << 32 | index as u64;
    (at.picos() as u128) << 64 | low as u128
}

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

    fn pop_before(queue: &mut EventQueue, end: SimTime) -> Option<Event> {
        let event = queue.next_before(end)?;
        queue.pop();
        Some(event)
    }

    #[test]
    fn the_order_is_time_kind_index_whoever_came_first() {
        let mut queue = EventQueue::default();
        let at = SimTime::from_picos;
        queue.push(at(5), What::Wake, 1);
        queue.push(at(5), What::Arrive, 9);
        queue.push(at(5), What::Arrive, 2);
        queue.push(at(4), What::SampleLinks, 0);
        let mut order = Vec::new();
        while let Some(event) = pop_before(&mut queue, at(6)) {
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
        assert_eq!(pop_before(&mut queue, SimTime::from_picos(7)), None);
        assert!(pop_before(&mut queue, SimTime::MAX).is_some());
        assert!(!queue.has_work());
    }

    #[test]
    fn an_event_put_off_is_found_at_its_new_time() {
        let mut queue = EventQueue::default();
        for (at, index) in [(1, 0), (2, 1), (4, 2)] {
            queue.push(SimTime::from_picos(at), What::Arrive, index);
        }
        queue.put_off(SimTime::from_picos(3));
        let order: Vec<_> = std::iter::from_fn(|| pop_before(&mut queue, SimTime::MAX))
            .map(|event| (event.at.picos(), event.index))
            .collect();
        assert_eq!(order, [(2, 1), (3, 0), (4, 2)]);
        assert!(!queue.has_work());
    }

    #[test]
    fn every_kind_survives_packing() {
        for what in ALL {
            let mut queue = EventQueue::default();
            queue.push(SimTime::from_picos(1), what, u32::MAX);
            let event = pop_before(&mut queue, SimTime::MAX).expect("pushed");
            assert_eq!((event.what, event.index), (what, u32::MAX));
        }
    }
}
