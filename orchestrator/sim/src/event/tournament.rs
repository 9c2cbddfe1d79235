//! The earliest of many times, each of which changes in its place.

use std::hint::select_unpredictable;

use crate::time::SimTime;

/// Times by place, and the earliest of them at hand; of equal ones that of the lowest place.
///
/// Pairs of places play, then the winners do, up to one: a time that changes plays again on its way
/// up, which is a comparison for each doubling of the places, without a branch that depends on who
/// wins. A heap makes fewer comparisons and mispredicts them.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// The winner at 1, the winners of the halves at 2 and 3, and so on; the players last.
    games: Vec<Player>,
    places: usize,
}

#[derive(Clone, Copy, Debug)]
struct Player {
    at: SimTime,
    place: u32,
}

/// Later than every other time.
pub const NEVER: SimTime = SimTime::from_picos(u64::MAX - 1);

impl Tournament {
    /// Of at least `places` places, whose times are [`NEVER`].
    #[must_use]
    pub fn new(places: u32) -> Self {
        let places = places.next_power_of_two() as usize;
        let nobody = Player {
            at: NEVER,
            place: 0,
        };
        Self {
            games: vec![nobody; 2 * places],
            places,
        }
    }

    /// Gives the place `place` the time `at`.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn set(&mut self, place: u32, at: SimTime) {
        let mut game = self.places + place as usize;
        let mut winner = Player { at, place };
        self.games[game] = winner;
        while game > 1 {
            let other = self.games[game ^ 1];
            // An odd one came from the right, so it loses against its equal.
            let is_beaten = other.at.picos() < winner.at.picos() + (game & 1) as u64;
            winner = Player {
                at: select_unpredictable(is_beaten, other.at, winner.at),
                place: select_unpredictable(is_beaten, other.place, winner.place),
            };
            game /= 2;
            self.games[game] = winner;
        }
    }

    /// The earliest time, and its place.
    #[inline]
    #[must_use]
    pub fn least(&self) -> (SimTime, u32) {
        let winner = self.games[1];
        (winner.at, winner.place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_winner_is_the_least(
            places in 1..40u32,
            changes in prop::collection::vec((0..40u32, 0..20u64), 1..100),
        ) {
            let mut tournament = Tournament::new(places);
            let mut times = vec![NEVER; places as usize];
            for (place, at) in changes {
                let (place, at) = (place % places, SimTime::from_picos(at));
                tournament.set(place, at);
                times[place as usize] = at;
                let earliest = times.iter().copied().zip(0..).min();
                prop_assert_eq!(Some(tournament.least()), earliest);
            }
        }
    }

    #[test]
    fn nobody_wins_while_nobody_plays() {
        for places in [0, 1, 2, 3] {
            assert_eq!(Tournament::new(places).least(), (NEVER, 0));
        }
    }
}
