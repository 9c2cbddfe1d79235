//! Sending QPs, and the slab in which a partition keeps them.

use std::collections::VecDeque;

use lab_units::BitsPerSec;

use crate::{
    cc::CongestionControl, network::WireClock, packet::Packet, semantics::SemanticsRules,
    time::SimTime,
};

/// Slot number that means "no slot".
pub(super) const NONE: u32 = u32::MAX;

/// State of a sending QP, for one flow.
pub(super) struct Qp<C> {
    pub flow: u32,
    /// Number of the first unacknowledged packet.
    pub acked: u32,
    /// Number of the next packet to send.
    pub next: u32,
    /// True while the NIC's scheduler or the QP's pacer holds packets of the QP.
    pub is_scheduled: bool,
    /// True if the QP's window was full when the scheduler last reached it.
    pub is_window_full: bool,
    /// Maximum number of unacknowledged bytes at the current rate.
    pub window: u64,
    /// Earliest time at which pacing permits the next packet.
    pub next_at: SimTime,
    /// Wire bytes of the last packet sent.
    pub last_bytes: u32,
    /// Rate of the host's NIC.
    pub line_rate: BitsPerSec,
    /// Current pacing rate.
    pub rate: BitsPerSec,
    pub clock: WireClock,
    /// Time from which the retransmission timer counts: the last ACK, NACK or expiry, or the sending of a packet while
    /// no packet was unacknowledged.
    pub last_answer_at: SimTime,
    /// Number of CNPs received.
    pub cnps: u64,
    /// Number of consecutive time-outs since a packet was last acknowledged.
    pub timeouts: u8,
    /// Packets that wait for their sending times, in order (profile `rxe` with congestion control).
    pub pacer: VecDeque<Packet>,
    /// True while the pacer's first packet is due and waits for the NIC (with PFC).
    pub has_ticket: bool,
    /// Number of packets sent since the last one with an ACK request (profile `rxe`).
    pub not_acked: u32,
    /// True from a go-back, after a NACK or a time-out, until the next ACK; NACKs are ignored in between (profile
    /// `rxe`).
    pub has_retried: bool,
    /// Time for which the congestion-control timer is scheduled; an event at any other time is stale.
    pub cc_timer_at: SimTime,
    /// Time for which the pacer's first packet is scheduled; an event at any other time is stale.
    pub paced_at: SimTime,
    /// Time for which the retransmission time-out is scheduled; an event at any other time is stale.
    pub timeout_at: SimTime,
    /// State of the QP's congestion control.
    pub control: C,
}

impl<C: CongestionControl> Qp<C> {
    /// Returns true if the window is full; one packet may always be in flight. Packets in the pacer passed the window
    /// when they entered it, so the result is false while there are any.
    #[inline]
    pub fn is_full(&self, payload: u32) -> bool {
        if !self.pacer.is_empty() {
            return false;
        }
        let unacked = u64::from(self.next - self.acked) * u64::from(payload);
        unacked > 0 && unacked >= self.window
    }

    /// Applies the congestion control's rate; returns true if the rate changed.
    ///
    /// The next packet may then leave one packet time at the new rate after the last one. In the artifact, only some
    /// congestion controls change the time of the next packet.
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

    /// Performs the congestion-control timer steps that became due while the QP had nothing to send.
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

/// Values in numbered slots; after a value's removal, its slot is reused.
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
