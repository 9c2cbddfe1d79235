//! Wire that ends at a port: delivers its packets in the order of arrival, one at a time.
//!
//! Packets with the same delay arrive in sending order, at least one serialisation time apart. After a fault shortens
//! the delay, later packets overtake earlier ones: the link is then modelled as a new, shorter path, and packets on the
//! old path still arrive. Both paths end at one receiver with the link's rate, so arrivals stay one serialisation time
//! apart: a packet waits for the packets that arrive before it.

use crate::{
    fifo::{Fifo, Pool, WirePacket},
    time::SimTime,
};

/// Packets in flight on the wire that ends at one port.
#[derive(Debug, Default)]
pub struct Wire {
    /// Packets sent since the last change to a shorter delay, in the order of sending, which is their order of arrival.
    newest: Fifo,
    /// Arrival time of the last packet in `newest`.
    last: SimTime,
    /// Packets sent before a change to a shorter delay, one queue per change; packets in `newest` may overtake them.
    older: Vec<Fifo>,
    /// Time at which the last packet was received.
    received: SimTime,
    /// True while packets may have to wait because other packets arrive at the same time.
    is_crowded: bool,
}

impl Wire {
    /// Adds a packet that is sent after all packets on the wire; returns true if it might arrive before them.
    #[inline]
    pub fn push(&mut self, pool: &mut Pool<WirePacket>, packet: WirePacket) -> bool {
        if packet.at() < self.last && !self.newest.is_empty() {
            self.older.push(std::mem::take(&mut self.newest));
            self.is_crowded = true;
        }
        let may_be_first = self.newest.is_empty();
        self.newest.push(pool, packet);
        self.last = packet.at();
        may_be_first
    }

    /// Removes and returns the packet that arrives first.
    #[inline]
    pub fn pop(&mut self, pool: &mut Pool<WirePacket>) -> Option<WirePacket> {
        match self.first_older(pool) {
            None => self.newest.pop(pool),
            Some(lane) => {
                let packet = self.older[lane].pop(pool);
                self.older.retain(|lane| !lane.is_empty());
                packet
            }
        }
    }

    /// Returns the packet that arrives first; `None` if the wire is empty.
    #[inline]
    pub fn front(&self, pool: &mut Pool<WirePacket>) -> Option<WirePacket> {
        match self.first_older(pool) {
            None => self.newest.front(pool),
            Some(lane) => self.older[lane].front(pool),
        }
    }

    /// Returns the queue in `older` whose first packet arrives before all others; `None` if that packet is in `newest`.
    /// If two arrive at the same time, the one that was sent first wins.
    #[inline]
    fn first_older(&self, pool: &mut Pool<WirePacket>) -> Option<usize> {
        if self.older.is_empty() {
            return None;
        }
        let (_, lane) = self
            .older
            .iter()
            .chain([&self.newest])
            .enumerate()
            .filter_map(|(lane, packets)| Some((packets.front(pool)?.at(), lane)))
            .min()?;
        (lane < self.older.len()).then_some(lane)
    }

    /// Records that a packet was received at `now`; not called for packets that a cut removed from the wire.
    #[inline]
    pub const fn receive(&mut self, now: SimTime) {
        self.received = now;
    }

    /// Returns the time at which `first`, the packet that arrives first, can be received. Its serialisation takes
    /// `time`.
    #[inline]
    pub fn arrival(&mut self, first: &WirePacket, time: impl FnOnce() -> SimTime) -> SimTime {
        if !self.is_crowded {
            return first.at();
        }
        let free = self.received + time();
        self.is_crowded = !self.older.is_empty() || first.at() < free;
        first.at().max(free)
    }

    /// Prefetches a packet near the front of the newest queue.
    #[inline]
    pub fn prefetch(&self, pool: &mut Pool<WirePacket>) {
        self.newest.prefetch(pool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{DATA_CLASS, Kind, Packet};

    /// Serialisation time of each packet in these tests.
    const TIME: SimTime = SimTime::from_micros(2);

    fn packet(seq: u32, at: u64) -> WirePacket {
        let packet = Packet::new(Kind::Data, DATA_CLASS, 0, seq, 1_000, 0);
        WirePacket::new(SimTime::from_micros(at), packet)
    }

    /// Removes all packets from the wire; returns their numbers and arrival times in microseconds.
    fn arrivals(wire: &mut Wire, pool: &mut Pool<WirePacket>) -> Vec<(u32, u64)> {
        let mut arrivals = Vec::new();
        while let Some(first) = wire.front(pool) {
            let at = wire.arrival(&first, || TIME);
            assert_eq!(wire.pop(pool).map(|packet| packet.at()), Some(first.at()));
            wire.receive(at);
            arrivals.push((first.packet.seq, at.picos() / 1_000_000));
        }
        arrivals
    }

    #[test]
    fn packets_of_one_delay_arrive_as_sent() {
        let mut wire = Wire::default();
        let mut pool = Pool::default();
        assert!(wire.push(&mut pool, packet(0, 10)));
        assert!(!wire.push(&mut pool, packet(1, 12)));
        assert!(!wire.push(&mut pool, packet(2, 20)));
        assert_eq!(arrivals(&mut wire, &mut pool), [(0, 10), (1, 12), (2, 20)]);
    }

    #[test]
    fn packets_of_a_shorter_delay_overtake_and_share_the_receiver() {
        let mut wire = Wire::default();
        let mut pool = Pool::default();
        for (seq, at) in [(0, 100), (1, 102), (2, 104)] {
            wire.push(&mut pool, packet(seq, at));
        }
        assert!(wire.push(&mut pool, packet(3, 50)), "it is the first now");
        for (seq, at) in [(4, 101), (5, 103)] {
            assert!(!wire.push(&mut pool, packet(seq, at)));
        }
        // Two streams arrive at full rate from 100 µs on, but the receiver needs 2 µs per packet.
        let expected = [(3, 50), (0, 100), (4, 102), (1, 104), (5, 106), (2, 108)];
        assert_eq!(arrivals(&mut wire, &mut pool), expected);
        // The first of these packets still has to wait; after it, the receiver has caught up.
        wire.push(&mut pool, packet(6, 109));
        wire.push(&mut pool, packet(7, 120));
        wire.push(&mut pool, packet(8, 121));
        assert_eq!(
            arrivals(&mut wire, &mut pool),
            [(6, 110), (7, 120), (8, 121)]
        );
    }

    #[test]
    fn a_packet_overtakes_though_those_before_it_at_its_delay_have_arrived() {
        let mut wire = Wire::default();
        let mut pool = Pool::default();
        wire.push(&mut pool, packet(0, 100));
        wire.push(&mut pool, packet(1, 50));
        assert_eq!(wire.pop(&mut pool).map(|first| first.packet.seq), Some(1));
        assert!(wire.push(&mut pool, packet(2, 60)));
        assert_eq!(arrivals(&mut wire, &mut pool), [(2, 60), (0, 100)]);
    }

    #[test]
    fn delays_may_shorten_again_and_again() {
        let mut wire = Wire::default();
        let mut pool = Pool::default();
        for (seq, at) in [(0, 300), (1, 200), (2, 100), (3, 250)] {
            wire.push(&mut pool, packet(seq, at));
        }
        assert_eq!(
            arrivals(&mut wire, &mut pool),
            [(2, 100), (1, 200), (3, 250), (0, 300)]
        );
    }
}
