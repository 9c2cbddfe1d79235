//! Sending QPs, and the slab that holds them.

use std::collections::VecDeque;

use lab_units::BitsPerSec;

use crate::{
    cc::CongestionControl, network::WireClock, packet::Packet, semantics::SemanticsRules,
    time::SimTime,
};

/// Value that denotes no slot of a slab.
pub(super) const NONE: u32 = u32::MAX;

/// State of a sending QP.
pub(super) struct Qp<C> {
    pub flow: u32,
    /// Number of the first unacknowledged packet.
    pub acked: u32,
    /// Number of the next packet to send.
    pub next: u32,
    /// True while the NIC's scheduler or the pacer has packets of the QP.
    pub is_scheduled: bool,
    /// True if the window was full at the last scheduler iteration that reached the QP.
    pub is_window_full: bool,
    /// Maximum unacknowledged bytes at the current rate.
    pub window: u64,
    /// Earliest time of the next packet, as allowed by pacing.
    pub next_at: SimTime,
    /// Bytes of the last packet sent.
    pub last_bytes: u32,
    /// Rate of the NIC.
    pub line_rate: BitsPerSec,
    /// Pacing rate.
    pub rate: BitsPerSec,
    pub clock: WireClock,
    /// Time of the last ACK, NACK or CNP, or of the flow's start.
    pub last_answer_at: SimTime,
    /// Number of CNPs received.
    pub cnps: u64,
    /// Number of time-outs since the last acknowledged packet.
    pub timeouts: u8,
    /// Packets that wait for their times, in order (profile `rxe` under congestion control).
    pub pacer: VecDeque<Packet>,
    /// True while the pacer's first packet waits for the NIC (under PFC).
    pub has_ticket: bool,
    /// Number of packets sent since the last packet with an ACK request (profile `rxe`).
    pub not_acked: u32,
    /// True from a retry to the next ACK (profile `rxe`).
    pub has_retried: bool,
    /// Time of the scheduled congestion control timer. For this and the next two fields, an event at another time is
    /// stale.
    pub cc_timer_at: SimTime,
    pub paced_at: SimTime,
    pub timeout_at: SimTime,
    /// Congestion control state.
    pub control: C,
}

impl<C: CongestionControl> Qp<C> {
    /// Returns true if the window holds the QP; one packet may always be in flight. For a QP with a pacer, the window
    /// was already applied when packets entered the pacer.
    #[inline]
    pub fn is_full(&self, payload: u32) -> bool {
        if !self.pacer.is_empty() {
            return false;
        }
        let unacked = u64::from(self.next - self.acked) * u64::from(payload);
        unacked > 0 && unacked >= self.window
    }

    /// Applies the rate of congestion control; returns true if it changed.
    ///
    /// The next packet may then leave one packet time at the new rate after the last one. In the artifact, only some
    /// congestion controls move the next packet.
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

    /// Performs the timer steps of congestion control that became due while the QP had nothing to send.
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

/// Values in numbered slots; a slot is reused after its value is removed.
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
