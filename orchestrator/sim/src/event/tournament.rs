//! Tournament tree that finds the earliest of many times, each of which changes independently.

use std::hint::select_unpredictable;

use crate::time::SimTime;

/// Times by slot, with quick access to the earliest one; of slots with equal times, the lowest one counts as earliest.
///
/// Slots are compared in pairs, then the winners of pairs, up to a single earliest time. When a time changes, the
/// comparisons on its way to the root are repeated: one comparison per doubling of the number of slots, without a
/// branch that depends on the result. A heap makes fewer comparisons, but the processor mispredicts them.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// Heap-ordered tree: index 1 has the earliest time, 2 and 3 the earliest of each half, and so on; the slots come
    /// last.
    games: Vec<Player>,
    slots: usize,
}

#[derive(Clone, Copy, Debug)]
struct Player {
    at: SimTime,
    slot: u32,
}

/// Time that is later than any event's.
pub const NEVER: SimTime = SimTime::from_picos(u64::MAX - 1);

impl Tournament {
    /// Creates at least `slots` slots, all with the time [`NEVER`].
    #[must_use]
    pub fn new(slots: u32) -> Self {
        let slots = slots.next_power_of_two() as usize;
        let nobody = Player { at: NEVER, slot: 0 };
        Self {
            games: vec![nobody; 2 * slots],
            slots,
        }
    }

    /// Sets the time of `slot`.
    ///
    /// # Panics
    /// Panics if the slot does not exist.
    #[inline]
    pub fn set(&mut self, slot: u32, at: SimTime) {
        let mut game = self.slots + slot as usize;
        let mut winner = Player { at, slot };
        self.games[game] = winner;
        while game > 1 {
            let other = self.games[game ^ 1];
            // A player with an odd index is the right one of its pair, and loses if the times are equal.
            let is_beaten = other.at.picos() < winner.at.picos() + (game & 1) as u64;
            winner = Player {
                at: select_unpredictable(is_beaten, other.at, winner.at),
                slot: select_unpredictable(is_beaten, other.slot, winner.slot),
            };
            game /= 2;
            self.games[game] = winner;
        }
    }

    /// Returns the earliest time and its slot.
    #[inline]
    #[must_use]
    pub fn earliest(&self) -> (SimTime, u32) {
        let winner = self.games[1];
        (winner.at, winner.slot)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_winner_is_the_earliest(
            slots in 1..40u32,
            changes in prop::collection::vec((0..40u32, 0..20u64), 1..100),
        ) {
            let mut tournament = Tournament::new(slots);
            let mut times = vec![NEVER; slots as usize];
            for (slot, at) in changes {
                let slot = slot % slots;
                let at = SimTime::from_picos(at);
                tournament.set(slot, at);
                times[slot as usize] = at;
                let earliest = times.iter().copied().zip(0..).min();
                prop_assert_eq!(Some(tournament.earliest()), earliest);
            }
        }
    }

    #[test]
    fn without_times_there_is_no_winner() {
        for slots in [0, 1, 2, 3] {
            assert_eq!(Tournament::new(slots).earliest(), (NEVER, 0));
        }
    }
}
