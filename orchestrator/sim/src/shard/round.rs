//! A NIC's round over its QPs.

use crate::network::count;

/// QPs in the order they came, and whose turn it was.
///
/// A QP that has sent all leaves the round, and comes last if it has to go back. In the authors' code
/// (`keeps`) it keeps its place until it has all its ACKs and a look for the next turn comes by; then
/// all that finished behind the first one seen go at once, and whose turn it was is not moved with
/// them ([`crate::semantics::Semantics::ROUND_KEEPS`]).
///
/// A look costs what is ready, not what waits: over 250 ms a host has fifty QPs that wait for ACKs.
pub(super) struct Round {
    keeps: bool,
    /// The QPs by place, [`GONE`] where one has finished.
    members: Vec<u32>,
    /// The places of those that have something to send, in order.
    ready: Vec<u32>,
    /// The places of those that have finished, in order.
    gone: Vec<u32>,
    /// The place that had its turn last.
    turn: u32,
}

const GONE: u32 = u32::MAX;

impl Round {
    /// Of nobody.
    pub const fn new(keeps: bool) -> Self {
        Self {
            keeps,
            members: Vec::new(),
            ready: Vec::new(),
            gone: Vec::new(),
            turn: 0,
        }
    }

    /// Whether a look would find anybody to send or to sweep out.
    #[inline]
    pub fn is_worth_a_look(&self) -> bool {
        !self.ready.is_empty() || !self.gone.is_empty()
    }

    /// The QPs that have something to send.
    pub fn ready(&self) -> impl Iterator<Item = u32> {
        self.ready.iter().map(|&place| self.members[place as usize])
    }

    /// `qp` has something to send.
    pub fn join(&mut self, qp: u32) {
        let place = self.place_of(qp).unwrap_or_else(|| {
            self.members.push(qp);
            count(self.members.len() - 1)
        });
        insert(&mut self.ready, place);
    }

    /// `qp` has sent all.
    pub fn leave(&mut self, qp: u32) {
        let Some(place) = self.place_of(qp) else {
            return;
        };
        remove(&mut self.ready, place);
        if !self.keeps {
            self.remove(place);
        }
    }

    /// `qp` has finished.
    pub fn close(&mut self, qp: u32) {
        let Some(place) = self.place_of(qp) else {
            return;
        };
        remove(&mut self.ready, place);
        if self.keeps {
            self.members[place as usize] = GONE;
            insert(&mut self.gone, place);
        } else {
            self.remove(place);
        }
    }

    /// Takes `place` out; the one after it is next.
    fn remove(&mut self, place: u32) {
        self.members.remove(place as usize);
        for ready in &mut self.ready {
            *ready -= u32::from(*ready > place);
        }
        if place <= self.turn {
            let last = count(self.members.len()).saturating_sub(1);
            self.turn = self.turn.checked_sub(1).unwrap_or(last);
        }
    }

    fn place_of(&self, qp: u32) -> Option<u32> {
        let place = self.members.iter().position(|&member| member == qp);
        place.map(count)
    }

    /// Gives the turn to the next QP that `may_send`, which is asked of those with something to send.
    #[inline]
    pub fn next(&mut self, mut may_send: impl FnMut(u32) -> bool) -> Option<u32> {
        // A sweep may leave the last turn behind the last place; the round goes on from there.
        let start = (self.turn + 1)
            .checked_rem(count(self.members.len()))
            .unwrap_or(0);
        let split = self.ready.partition_point(|&place| place < start);
        let (before, behind) = self.ready.split_at(split);
        let mut in_turn = behind.iter().chain(before).copied();
        let next = in_turn.find(|&place| may_send(self.members[place as usize]));
        let qp = next.map(|place| self.members[place as usize]);
        self.turn = next.unwrap_or(self.turn);
        if let Some(&first) = self.gone.iter().find(|&&gone| is_passed(gone, start, next)) {
            self.sweep(first, next);
        }
        qp
    }

    /// Takes out who has finished from `first` on; the turn moves only with the one that has it at
    /// `next`.
    #[cold]
    fn sweep(&mut self, first: u32, next: Option<u32>) {
        let kept = self.gone.partition_point(|&gone| gone < first);
        let swept = self.gone.split_off(kept);
        let moved = |place: u32| place - count(swept.partition_point(|&gone| gone < place));
        if let Some(next) = next {
            self.turn = moved(next);
        }
        for ready in &mut self.ready {
            *ready = moved(*ready);
        }
        for &place in swept.iter().rev() {
            self.members.remove(place as usize);
        }
    }
}

/// Whether a look that starts at `start` and ends before `next`, or has gone all round, passes
/// `place`.
fn is_passed(place: u32, start: u32, next: Option<u32>) -> bool {
    match next {
        None => true,
        Some(next) if start <= next => (start..next).contains(&place),
        Some(next) => place >= start || place < next,
    }
}

fn insert(places: &mut Vec<u32>, place: u32) {
    if let Err(at) = places.binary_search(&place) {
        places.insert(at, place);
    }
}

fn remove(places: &mut Vec<u32>, place: u32) {
    if let Ok(at) = places.binary_search(&place) {
        places.remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(keeps: bool, count: u32) -> Round {
        let mut round = Round::new(keeps);
        (0..count).for_each(|qp| round.join(qp));
        round
    }

    fn turns(round: &mut Round, count: usize) -> Vec<u32> {
        let turn = |_| round.next(|_| true).expect("somebody is ready");
        (0..count).map(turn).collect()
    }

    #[test]
    fn turns_go_round_past_those_that_may_not_send() {
        let mut round = round(false, 3);
        assert_eq!(turns(&mut round, 4), [1, 2, 0, 1]);
        assert_eq!(round.next(|qp| qp != 2), Some(0));
        assert_eq!(round.next(|_| false), None);
        assert_eq!(turns(&mut round, 1), [1]);
    }

    #[test]
    fn who_has_sent_all_leaves_and_comes_back_last() {
        let mut round = round(false, 3);
        assert_eq!(turns(&mut round, 1), [1]);
        round.leave(1);
        assert_eq!(turns(&mut round, 2), [2, 0]);
        round.join(1);
        assert_eq!(turns(&mut round, 3), [2, 1, 0]);
    }

    #[test]
    fn in_the_authors_code_places_are_kept_until_a_look_comes_by() {
        let mut round = round(true, 5);
        assert_eq!(turns(&mut round, 3), [1, 2, 3]);
        round.leave(0);
        round.close(0);
        round.leave(1);
        // 4 comes before anybody who has gone: nothing is swept.
        assert_eq!((turns(&mut round, 1), round.members.len()), (vec![4], 5));
        // On the way to 2 the look passes 0: [1, 2, 3, 4] are left, and 2 is now at 1.
        assert_eq!((turns(&mut round, 1), round.members.len()), (vec![2], 4));
        round.join(1);
        assert_eq!(turns(&mut round, 3), [3, 4, 1]);
    }

    #[test]
    fn in_the_authors_code_a_sweep_without_a_turn_shifts_whose_it_is() {
        let mut round = round(true, 4);
        assert_eq!(turns(&mut round, 2), [1, 2]);
        round.close(0);
        assert_eq!(round.next(|_| false), None);
        // [1, 2, 3], and place 2 still counts as the last one: 1 is next, not 3.
        assert_eq!(turns(&mut round, 1), [1]);
    }
}
