//! Round-robin scheduler of the QPs at a NIC.

use crate::network::count;

/// QPs in the order in which they entered, and the position of the QP served last.
///
/// A QP without packets to send leaves the scheduler and re-enters at the end. With `keeps_qps`, as in the artifact
/// ([`crate::semantics::SemanticsRules::SCHEDULER_KEEPS_QPS`]), a QP keeps its position until it has received all its
/// ACKs and an iteration passes it. The iteration then removes the lowest finished QP that it passed, and every
/// finished QP at a higher position. It adjusts the position served last only if it serves a QP.
///
/// An iteration takes time proportional to the number of ready QPs, not of all QPs: with round trips of 250 ms, fifty
/// QPs of a host only wait for ACKs.
pub(super) struct QpScheduler {
    keeps_qps: bool,
    /// QP at each position; [`FINISHED`] in place of a finished QP.
    members: Vec<u32>,
    /// Positions of QPs with packets to send, ascending.
    ready: Vec<u32>,
    /// Positions of finished QPs, ascending.
    finished: Vec<u32>,
    last: u32,
}

const FINISHED: u32 = u32::MAX;

impl QpScheduler {
    /// Creates an empty scheduler; `keeps_qps` selects the artifact's rule.
    pub const fn new(keeps_qps: bool) -> Self {
        Self {
            keeps_qps,
            members: Vec::new(),
            ready: Vec::new(),
            finished: Vec::new(),
            last: 0,
        }
    }

    /// Returns true if an iteration might serve a QP or remove one.
    #[inline]
    pub fn needs_iteration(&self) -> bool {
        !self.ready.is_empty() || !self.finished.is_empty()
    }

    /// Returns the QPs with packets to send.
    pub fn ready(&self) -> impl Iterator<Item = u32> {
        self.ready
            .iter()
            .map(|&position| self.members[position as usize])
    }

    /// Adds `qp`, which has packets to send, or makes it ready again.
    pub fn activate(&mut self, qp: u32) {
        let position = self.position_of(qp).unwrap_or_else(|| {
            self.members.push(qp);
            count(self.members.len() - 1)
        });
        insert(&mut self.ready, position);
    }

    /// Records that `qp` has nothing left to send.
    pub fn deactivate(&mut self, qp: u32) {
        let Some(position) = self.position_of(qp) else {
            return;
        };
        remove(&mut self.ready, position);
        if !self.keeps_qps {
            self.remove(position);
        }
    }

    /// Records that `qp` has received all its ACKs.
    pub fn finish(&mut self, qp: u32) {
        let Some(position) = self.position_of(qp) else {
            return;
        };
        remove(&mut self.ready, position);
        if self.keeps_qps {
            self.members[position as usize] = FINISHED;
            insert(&mut self.finished, position);
        } else {
            self.remove(position);
        }
    }

    /// Removes the QP at `position` and adjusts the position served last.
    fn remove(&mut self, position: u32) {
        self.members.remove(position as usize);
        for ready in &mut self.ready {
            *ready -= u32::from(*ready > position);
        }
        if position <= self.last {
            let last = count(self.members.len()).saturating_sub(1);
            self.last = self.last.checked_sub(1).unwrap_or(last);
        }
    }

    fn position_of(&self, qp: u32) -> Option<u32> {
        let position = self.members.iter().position(|&member| member == qp);
        position.map(count)
    }

    /// Serves the next ready QP for which `may_send` returns true, and returns it.
    #[inline]
    pub fn next(&mut self, mut may_send: impl FnMut(u32) -> bool) -> Option<u32> {
        // After a removal, the position served last may be beyond the end; the iteration then starts at position 0.
        let start = (self.last + 1)
            .checked_rem(count(self.members.len()))
            .unwrap_or(0);
        let split = self.ready.partition_point(|&position| position < start);
        let (before, behind) = self.ready.split_at(split);
        let mut in_order = behind.iter().chain(before).copied();
        let next = in_order.find(|&position| may_send(self.members[position as usize]));
        let qp = next.map(|position| self.members[position as usize]);
        self.last = next.unwrap_or(self.last);
        let mut finished = self.finished.iter();
        if let Some(&first) = finished.find(|&&finished| is_passed(finished, start, next)) {
            self.remove_finished(first, next);
        }
        qp
    }

    /// Removes the finished QPs from position `first` on. The position served last is adjusted only if a QP was served,
    /// at position `next`.
    #[cold]
    fn remove_finished(&mut self, first: u32, next: Option<u32>) {
        let kept = self.finished.partition_point(|&position| position < first);
        let removed = self.finished.split_off(kept);
        let shifted =
            |position: u32| position - count(removed.partition_point(|&other| other < position));
        if let Some(next) = next {
            self.last = shifted(next);
        }
        for ready in &mut self.ready {
            *ready = shifted(*ready);
        }
        for &position in removed.iter().rev() {
            self.members.remove(position as usize);
        }
    }
}

/// Returns true if `position` is passed by an iteration that starts at `start` and stops at `next`, or goes all the way
/// round if `next` is `None`.
fn is_passed(position: u32, start: u32, next: Option<u32>) -> bool {
    match next {
        None => true,
        Some(next) if start <= next => (start..next).contains(&position),
        Some(next) => position >= start || position < next,
    }
}

fn insert(positions: &mut Vec<u32>, position: u32) {
    if let Err(at) = positions.binary_search(&position) {
        positions.insert(at, position);
    }
}

fn remove(positions: &mut Vec<u32>, position: u32) {
    if let Ok(at) = positions.binary_search(&position) {
        positions.remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler(keeps_qps: bool, count: u32) -> QpScheduler {
        let mut scheduler = QpScheduler::new(keeps_qps);
        (0..count).for_each(|qp| scheduler.activate(qp));
        scheduler
    }

    fn served(scheduler: &mut QpScheduler, count: usize) -> Vec<u32> {
        let next = |_| scheduler.next(|_| true).expect("a QP is ready");
        (0..count).map(next).collect()
    }

    #[test]
    fn iterations_pass_qps_that_may_not_send() {
        let mut scheduler = scheduler(false, 3);
        assert_eq!(served(&mut scheduler, 4), [1, 2, 0, 1]);
        assert_eq!(scheduler.next(|qp| qp != 2), Some(0));
        assert_eq!(scheduler.next(|_| false), None);
        assert_eq!(served(&mut scheduler, 1), [1]);
    }

    #[test]
    fn a_qp_that_has_sent_all_leaves_and_re_enters_last() {
        let mut scheduler = scheduler(false, 3);
        assert_eq!(served(&mut scheduler, 1), [1]);
        scheduler.deactivate(1);
        assert_eq!(served(&mut scheduler, 2), [2, 0]);
        scheduler.activate(1);
        assert_eq!(served(&mut scheduler, 3), [2, 1, 0]);
    }

    #[test]
    fn in_the_artifact_positions_are_kept_until_an_iteration_passes_them() {
        let mut scheduler = scheduler(true, 5);
        assert_eq!(served(&mut scheduler, 3), [1, 2, 3]);
        scheduler.deactivate(0);
        scheduler.finish(0);
        scheduler.deactivate(1);
        // No finished QP comes before QP 4, so nothing is removed.
        assert_eq!(served(&mut scheduler, 1), [4]);
        assert_eq!(scheduler.members.len(), 5);
        // On its way to QP 2, the iteration passes the finished QP 0. [1, 2, 3, 4] remain, with QP 2 at position 1.
        assert_eq!(served(&mut scheduler, 1), [2]);
        assert_eq!(scheduler.members.len(), 4);
        scheduler.activate(1);
        assert_eq!(served(&mut scheduler, 3), [3, 4, 1]);
    }

    #[test]
    fn in_the_artifact_a_removal_without_service_shifts_the_order() {
        let mut scheduler = scheduler(true, 4);
        assert_eq!(served(&mut scheduler, 2), [1, 2]);
        scheduler.finish(0);
        assert_eq!(scheduler.next(|_| false), None);
        // [1, 2, 3] remain. Position 2 still counts as served last, so QP 1 is next rather than QP 3.
        assert_eq!(served(&mut scheduler, 1), [1]);
    }
}
