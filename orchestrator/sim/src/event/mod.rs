//! What happens next.
//!
//! - `tournament`: the least of many keys, each of which changes in its place

mod tournament;

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

pub use self::tournament::{NEVER, Tournament};
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
    /// The NIC of this port has slept ([`crate::semantics::Semantics::NIC_OVERSLEEPS`]).
    Slept,
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
    /// This switch is recorded.
    SampleSwitch,
    /// This switch tells traffic engineering its demands and takes its tables.
    Engineer,
}

const ALL: [What; 13] = [
    What::Fault,
    What::Arrive,
    What::Wake,
    What::Slept,
    What::Start,
    What::Control,
    What::Timeout,
    What::Monitor,
    What::Collect,
    What::SampleLinks,
    What::SampleQueues,
    What::SampleSwitch,
    What::Engineer,
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
/// Wires keep only their first packet here, so a port has one packet that arrives and one time to
/// look again, each with a place in a tournament, in the order of their events. All others are timers
/// in a heap, time, kind and index in one number: there are thousands, one of which is due where a
/// million packets are.
pub struct EventQueue {
    packets: Tournament,
    first_port: u32,
    ports: u32,
    timers: BinaryHeap<Reverse<u128>>,
    /// Timers that are not housekeeping.
    work: usize,
}

impl EventQueue {
    /// No events, for the ports of these numbers.
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

    /// Schedules `what` for `index` at `at`; for a packet that arrives or may leave, instead of what
    /// was scheduled for that port.
    #[inline]
    pub fn push(&mut self, at: SimTime, what: What, index: u32) {
        match self.place(what, index) {
            Some(place) => self.packets.set(place, at),
            None => self.push_timer(at, what, index),
        }
    }

    fn push_timer(&mut self, at: SimTime, what: What, index: u32) {
        self.work += usize::from(!what.is_housekeeping());
        self.timers.push(Reverse(pack(at, what, index)));
    }

    /// The next event before `end`, which stays.
    #[inline]
    #[must_use]
    pub fn next_before(&self, end: SimTime) -> Option<Event> {
        Some(self.next()).filter(|next| next.at < end.min(NEVER))
    }

    /// Takes the next event out, which is a timer's.
    pub fn pop_timer(&mut self) {
        if let Some(Reverse(key)) = self.timers.pop() {
            self.work -= usize::from(!unpack(key).what.is_housekeeping());
        }
    }

    /// No packet arrives at `port`, or may leave it, until another is scheduled.
    #[inline]
    pub fn clear(&mut self, what: What, port: u32) {
        if let Some(place) = self.place(what, port) {
            self.packets.set(place, NEVER);
        }
    }

    /// When the next event is.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<SimTime> {
        Some(self.next().at).filter(|&at| at < NEVER)
    }

    /// Whether anything but housekeeping is to come.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.work > 0 || self.packets.least().0 < NEVER
    }

    /// The next event; that of a port at [`NEVER`] if there is none.
    #[inline]
    fn next(&self) -> Event {
        let (at, place) = self.packets.least();
        let (what, here) = match place.checked_sub(self.ports) {
            None => (What::Arrive, place),
            Some(here) => (What::Wake, here),
        };
        let index = self.first_port + here;
        match self.timers.peek() {
            Some(&Reverse(timer)) if timer < pack(at, what, index) => unpack(timer),
            _ => Event { at, what, index },
        }
    }

    /// The place in the tournament of a packet that arrives or may leave.
    #[inline]
    fn place(&self, what: What, port: u32) -> Option<u32> {
        let here = port.wrapping_sub(self.first_port);
        match what {
            What::Arrive => Some(here),
            What::Wake => Some(self.ports + here),
            _ => None,
        }
    }
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

    fn queue() -> EventQueue {
        EventQueue::new(0..16)
    }

    fn pop_before(queue: &mut EventQueue, end: SimTime) -> Option<Event> {
        let event = queue.next_before(end)?;
        match event.what {
            What::Arrive | What::Wake => queue.clear(event.what, event.index),
            _ => queue.pop_timer(),
        }
        Some(event)
    }

    #[test]
    fn the_order_is_time_kind_index_whoever_came_first() {
        let mut queue = queue();
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
        let mut queue = queue();
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
        let mut queue = queue();
        for (at, index) in [(1, 0), (2, 1), (4, 2)] {
            queue.push(SimTime::from_picos(at), What::Arrive, index);
        }
        queue.push(SimTime::from_picos(3), What::Arrive, 0);
        let order: Vec<_> = std::iter::from_fn(|| pop_before(&mut queue, SimTime::MAX))
            .map(|event| (event.at.picos(), event.index))
            .collect();
        assert_eq!(order, [(2, 1), (3, 0), (4, 2)]);
        assert!(!queue.has_work());
    }

    #[test]
    fn every_kind_survives_packing() {
        for what in ALL {
            let event = unpack(pack(SimTime::from_picos(1), what, u32::MAX));
            assert_eq!((event.what, event.index), (what, u32::MAX));
        }
    }
}
