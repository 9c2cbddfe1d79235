//! The least of many keys, each of which changes in its place.

use std::hint::select_unpredictable;

/// Keys by place, and the least of them at hand.
///
/// Pairs of places play, then the winners do, up to one: a key that changes plays again on its way
/// up, which is a comparison for each doubling of the places, without a branch that depends on who
/// wins. A heap makes fewer comparisons and mispredicts them.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// The winner at 1, the winners of the halves at 2 and 3, and so on; the places' keys last.
    games: Vec<u128>,
    places: usize,
}

/// Loses against every other key.
pub const NEVER: u128 = u128::MAX;

impl Tournament {
    /// Of at least `places` places, whose keys are [`NEVER`].
    #[must_use]
    pub fn new(places: usize) -> Self {
        let places = places.next_power_of_two();
        Self {
            games: vec![NEVER; 2 * places],
            places,
        }
    }

    /// Gives the place `place` the key `key`.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn set(&mut self, place: usize, key: u128) {
        let mut at = self.places + place;
        let mut winner = key;
        self.games[at] = key;
        while at > 1 {
            let other = self.games[at ^ 1];
            winner = select_unpredictable(other < winner, other, winner);
            at /= 2;
            self.games[at] = winner;
        }
    }

    /// The least key.
    #[inline]
    #[must_use]
    pub fn least(&self) -> u128 {
        self.games[1]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_winner_is_the_least(
            places in 1..40usize,
            changes in prop::collection::vec((0..40usize, any::<u128>()), 1..100),
        ) {
            let mut tournament = Tournament::new(places);
            let mut keys = vec![NEVER; places];
            for (place, key) in changes {
                let place = place % places;
                tournament.set(place, key);
                keys[place] = key;
                prop_assert_eq!(Some(&tournament.least()), keys.iter().min());
            }
        }
    }

    #[test]
    fn nobody_wins_while_nobody_plays() {
        for places in [0, 1, 2, 3] {
            assert_eq!(Tournament::new(places).least(), NEVER);
        }
    }
}
