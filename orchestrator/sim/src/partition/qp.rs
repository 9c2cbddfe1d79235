//! Sending QPs, and the slab that holds them.

use std::collections::VecDeque;

use lab_units::BitsPerSec;

use crate::{
    cc::CongestionControl, network::WireClock, packet::Packet, semantics::SemanticsRules,
    time::SimTime,
};

/// No slot of a slab.
pub(super) const NONE: u32 = u32::MAX;

/// State of a sending QP.
pub(super) struct Qp<C> {
    pub flow: u32,
    /// Number of the first unacknowledged packet.
    pub acked: u32,
    /// Number of the next packet to send.
    pub next: u32,
    /// True while the NIC's scheduler, or the pacer, has packets of the QP.
    pub is_scheduled: bool,
    /// True if the window was full at the last iteration that reached the QP.
    pub is_window_full: bool,
    /// Bytes that may be unacknowledged at the current rate.
    pub window: u64,
    /// Earliest time of the next packet by pacing.
    pub next_at: SimTime,
    /// Bytes of the last packet sent.
    pub last_bytes: u32,
    /// Rate of the NIC.
    pub line_rate: BitsPerSec,
    /// Pacing rate.
    pub rate: BitsPerSec,
    pub clock: WireClock,
    /// Time of the last answer, or of the flow's start.
    pub last_answer_at: SimTime,
    /// CNPs received.
    pub cnps: u64,
    /// Time-outs since the last acknowledged packet.
    pub timeouts: u8,
    /// Packets that wait for their times, in order (profile `rxe` under congestion control).
    pub pacer: VecDeque<Packet>,
    /// True while the first of them waits for the NIC (under PFC).
    pub has_ticket: bool,
    /// Packets sent since the last one with an ACK request (profile `rxe`).
    pub not_acked: u32,
    /// True from a retry to the next ACK (profile `rxe`).
    pub has_retried: bool,
    /// Times of the scheduled events; events at other times are stale.
    pub cc_timer_at: SimTime,
    pub paced_at: SimTime,
    pub timeout_at: SimTime,
    /// Congestion control.
    pub control: C,
}

impl<C: CongestionControl> Qp<C> {
    /// Returns true if the window holds the QP; one packet may always be under way. Of a QP with a pacer the
    /// window held the packets before they went there.
    #[inline]
    pub fn is_full(&self, payload: u32) -> bool {
        if !self.pacer.is_empty() {
            return false;
        }
        let unacked = u64::from(self.next - self.acked) * u64::from(payload);
        unacked > 0 && unacked >= self.window
    }

    /// Applies the rate of congestion control; true if it changed.
    ///
    /// The next packet may then leave a packet's time at the new rate after the last one. In the
    /// artifact only some congestion controls move it.
    pub fn apply_rate<S: SemanticsRules>(&mut self) -> bool {
        let rate = self.control.rate();
        if rate == self.rate {
            return false;
        }
        let before = S::clock(self.clock.on_wire(self.last_bytes));
        self.rate = rate;
        self.clock = WireClock::new(rate.get());
        if S::RATE_MOVES_NEXT || C::ARTIFACT_RATE_MOVES_NEXT {
            let after = S::clock(self.clock.on_wire(self.last_bytes));
            self.next_at = (self.next_at + after).saturating_sub(before);
        }
        true
    }

    /// Does the timer steps of congestion control that were due while nothing was to be sent.
    pub fn catch_up(&mut self, now: SimTime, parameters: &C::Parameters) {
        if self
            .control
            .next_timer(parameters)
            .is_some_and(|due| due <= now)
        {
            self.control.on_timer(now, parameters);
        }
    }
}

/// Values in numbered slots; a slot is reused once its value is removed.
pub(super) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(value);
            return slot;
        }
        self.slots.push(Some(value));
        crate::network::count(self.slots.len() - 1)
    }

    pub fn get(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)?.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    pub fn remove(&mut self, slot: u32) -> Option<T> {
        let value = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let slots = (0u32..).zip(&self.slots);
        slots.filter_map(|(slot, value)| Some((slot, value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_reused_once_free() {
        let mut slab = Slab::default();
        let a = slab.insert('a');
        let b = slab.insert('b');
        assert_eq!(slab.remove(a), Some('a'));
        assert_eq!((slab.remove(a), slab.get_mut(a)), (None, None));
        assert_eq!(slab.insert('c'), a);
        let all: Vec<_> = slab.iter().map(|(slot, &value)| (slot, value)).collect();
        assert_eq!(all, [(a, 'c'), (b, 'b')]);
    }
}
