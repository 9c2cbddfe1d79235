//! A NIC's round over its QPs.

/// QPs in the order they came, and whose turn it was.
///
/// A QP that has sent all leaves the round, and comes last if it has to go back. In the authors' code
/// (`keeps`) it keeps its place until it has all its ACKs and a look for the next turn comes by; then
/// all that finished behind the first one seen go at once, and whose turn it was is not moved with
/// them ([`crate::physics::Physics::ROUND_KEEPS`]).
pub(super) struct Round {
    keeps: bool,
    members: Vec<Member>,
    /// The place that had its turn last.
    turn: usize,
}

/// A QP in a round.
#[derive(Clone, Copy)]
struct Member {
    qp: u32,
    state: State,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum State {
    /// It has something to send.
    Ready,
    /// It waits for ACKs.
    Idle,
    /// It has finished.
    Gone,
}

impl Round {
    /// Of nobody.
    pub const fn new(keeps: bool) -> Self {
        Self {
            keeps,
            members: Vec::new(),
            turn: 0,
        }
    }

    /// Whether nobody is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The QPs that have something to send.
    pub fn ready(&self) -> impl Iterator<Item = u32> {
        let ready = self.members.iter();
        let ready = ready.filter(|member| member.state == State::Ready);
        ready.map(|member| member.qp)
    }

    /// `qp` has something to send.
    pub fn join(&mut self, qp: u32) {
        match self.place_of(qp).filter(|_| self.keeps) {
            Some(place) => self.members[place].state = State::Ready,
            None => self.members.push(Member {
                qp,
                state: State::Ready,
            }),
        }
    }

    /// `qp` has sent all.
    pub fn leave(&mut self, qp: u32) {
        self.part(qp, State::Idle);
    }

    /// `qp` has finished.
    pub fn close(&mut self, qp: u32) {
        self.part(qp, State::Gone);
    }

    fn part(&mut self, qp: u32, state: State) {
        let Some(place) = self.place_of(qp) else {
            return;
        };
        if self.keeps {
            self.members[place].state = state;
            return;
        }
        self.members.remove(place);
        // The one after it is next.
        if place <= self.turn {
            let last = self.members.len().saturating_sub(1);
            self.turn = self.turn.checked_sub(1).unwrap_or(last);
        }
    }

    fn place_of(&self, qp: u32) -> Option<usize> {
        let mut members = self.members.iter();
        members.position(|member| member.qp == qp && member.state != State::Gone)
    }

    /// Gives the turn to the next QP that `may_send`, which is asked of those with something to send.
    #[inline]
    pub fn next(&mut self, mut may_send: impl FnMut(u32) -> bool) -> Option<u32> {
        let count = self.members.len();
        let mut first_gone = None;
        let mut next = None;
        for step in 1..=count {
            let place = (self.turn + step) % count;
            let Member { qp, state } = self.members[place];
            if state == State::Ready && may_send(qp) {
                next = Some((place, qp));
                break;
            }
            if self.keeps && state == State::Gone {
                first_gone = Some(first_gone.map_or(place, |first: usize| first.min(place)));
            }
        }
        if let Some((place, _)) = next {
            self.turn = place;
        }
        if let Some(first) = first_gone {
            self.sweep(first, next.map(|(place, _)| place));
        }
        next.map(|(_, qp)| qp)
    }

    /// Takes out who has finished from `first` on; the turn moves only with the one that has it at
    /// `next`.
    fn sweep(&mut self, first: usize, next: Option<usize>) {
        let is_swept =
            |(place, member): &(usize, &Member)| *place >= first && member.state == State::Gone;
        if let Some(next) = next {
            let before = self.members[..next].iter().enumerate();
            self.turn = next - before.filter(is_swept).count();
        }
        let mut place = 0;
        self.members.retain(|member| {
            let is_kept = !is_swept(&(place, member));
            place += 1;
            is_kept
        });
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
