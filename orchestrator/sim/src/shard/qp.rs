//! A sending QP, and the slab they are kept in.

use lab_units::BitsPerSec;

use crate::{cc::CongestionControl, network::WireClock, semantics::Semantics, time::SimTime};

/// No place in a slab.
pub(super) const NONE: u32 = u32::MAX;

/// A sending QP.
pub(super) struct Qp<C> {
    /// Its flow.
    pub flow: u32,
    /// Every packet before this one is acknowledged.
    pub acked: u32,
    /// The packet to send next.
    pub next: u32,
    /// It has been added to the NIC's round.
    pub is_in_round: bool,
    /// Its window was full when it last had its turn.
    pub is_window_full: bool,
    /// Bytes that may be unacknowledged at this rate.
    pub window: u64,
    /// Before this, pacing holds it.
    pub next_at: SimTime,
    /// Bytes of the last packet sent.
    pub last_bytes: u32,
    /// Rate of its NIC.
    pub line_rate: BitsPerSec,
    /// The rate it is paced at.
    pub rate: BitsPerSec,
    pub clock: WireClock,
    /// When something last came back, or the flow began.
    pub heard_at: SimTime,
    /// Time-outs in a row: none of what was sent since has been acknowledged.
    pub tries: u8,
    /// When the next event is due; events at other times are stale.
    pub control_at: SimTime,
    pub timeout_at: SimTime,
    /// Congestion control.
    pub control: C,
}

impl<C: CongestionControl> Qp<C> {
    /// Whether its window holds it; one packet may always be under way.
    #[inline]
    pub fn is_full(&self, payload: u32) -> bool {
        let unacked = u64::from(self.next - self.acked) * u64::from(payload);
        unacked > 0 && unacked >= self.window
    }

    /// Takes the rate that congestion control wants; whether it is new.
    ///
    /// The packet after the last one sent may leave a packet's time at the new rate after that one.
    /// In the authors' code it moves for some congestion controls only.
    pub fn follow_rate<P: Semantics>(&mut self) -> bool {
        let rate = self.control.rate();
        if rate == self.rate {
            return false;
        }
        let before = P::clock(self.clock.on_wire(self.last_bytes));
        self.rate = rate;
        self.clock = WireClock::new(rate.get());
        if P::MOVES_NEXT || C::ARTIFACT_MOVES_NEXT {
            let after = P::clock(self.clock.on_wire(self.last_bytes));
            self.next_at = (self.next_at + after).saturating_sub(before);
        }
        true
    }

    /// Does the steps of congestion control that were due while there was nothing to send.
    pub fn catch_up(&mut self, now: SimTime, parameters: &C::Parameters) {
        if self.control.next_timer().is_some_and(|due| due <= now) {
            self.control.timer(now, parameters);
        }
    }
}

/// Things with a place that stays theirs until they are removed.
pub(super) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(value);
            return place;
        }
        self.places.push(Some(value));
        crate::network::count(self.places.len() - 1)
    }

    pub fn get(&self, place: u32) -> Option<&T> {
        self.places.get(place as usize)?.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    pub fn remove(&mut self, place: u32) -> Option<T> {
        let value = self.places.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let places = (0u32..).zip(&self.places);
        places.filter_map(|(place, value)| Some((place, value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_once_free() {
        let mut slab = Slab::default();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(a), Some('a'));
        assert_eq!((slab.remove(a), slab.get_mut(a)), (None, None));
        assert_eq!(slab.insert('c'), a);
        let all: Vec<_> = slab.iter().map(|(place, &value)| (place, value)).collect();
        assert_eq!(all, [(a, 'c'), (b, 'b')]);
    }
}
