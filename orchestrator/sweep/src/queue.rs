//! Queue of cells: the order in which they start, and the estimate of the remaining time.

use std::{collections::BTreeMap, time::Duration};

use lab_units::Bytes;
use serde::{Deserialize, Serialize};

/// Time and memory of a cell: estimated before it runs, or measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellCost {
    /// Wall time on one thread, in seconds.
    pub seconds: f64,
    /// Peak memory.
    pub memory: Bytes,
}

/// Cells that have not ended. The cell with the longest estimate starts first, so that no long cell is left alone at
/// the end (longest processing time first; Graham, SIAM J. Appl. Math. 17, 1969).
#[derive(Clone, Debug, Default)]
pub struct CellQueue {
    /// Numbers and estimates of the waiting cells; the longest comes last.
    waiting: Vec<(usize, CellCost)>,
    running: BTreeMap<usize, CellCost>,
    /// Sums of the ended cells' times.
    estimated: f64,
    measured: f64,
    /// Largest ratio of measured to estimated memory over the ended cells, at least 1.
    memory: f64,
}

impl CellQueue {
    /// Creates a queue of cells, each with its number and estimate.
    #[must_use]
    pub fn new(mut cells: Vec<(usize, CellCost)>) -> Self {
        cells.sort_by(|(a, one), (b, other)| {
            one.seconds.total_cmp(&other.seconds).then_with(|| b.cmp(a))
        });
        Self {
            waiting: cells,
            memory: 1.0,
            ..Self::default()
        }
    }

    /// Starts the longest waiting cell that fits into `memory` beside the running ones, and returns its number; `None` if
    /// none does. A cell that runs alone always fits.
    pub fn start(&mut self, memory: Bytes) -> Option<usize> {
        let used: f64 = self.running.values().map(CellCost::bytes).sum();
        let free = bytes(memory) / self.memory - used;
        let fits = |(_, cost): &(usize, CellCost)| cost.bytes() <= free;
        let at = match self.waiting.iter().rposition(fits) {
            None if self.running.is_empty() => self.waiting.len().checked_sub(1)?,
            found => found?,
        };
        let (cell, cost) = self.waiting.remove(at);
        self.running.insert(cell, cost);
        Some(cell)
    }

    /// Ends a running cell, or one that waits here and ran elsewhere; `measured` is `None` if it failed.
    pub fn end(&mut self, cell: usize, measured: Option<CellCost>) {
        let estimate = self
            .running
            .remove(&cell)
            .or_else(|| self.take_waiting(cell));
        if let (Some(estimate), Some(measured)) = (estimate, measured) {
            self.estimated += estimate.seconds;
            self.measured += measured.seconds;
            let ratio = measured.bytes() / estimate.bytes().max(1.0);
            self.memory = self.memory.max(ratio);
        }
    }

    fn take_waiting(&mut self, cell: usize) -> Option<CellCost> {
        let at = self.waiting.iter().position(|(it, _)| *it == cell)?;
        Some(self.waiting.remove(at).1)
    }

    /// Returns the number of cells that have not ended.
    #[must_use]
    pub fn left(&self) -> usize {
        self.waiting.len() + self.running.len()
    }

    /// Returns the estimated time until all cells have ended, if `jobs` run at a time: the estimates, corrected by the
    /// ended cells' ratio of measured to estimated time. `None` until a cell has ended.
    #[must_use]
    pub fn remaining(&self, jobs: usize) -> Option<Duration> {
        if self.estimated <= 0.0 {
            return None;
        }
        let seconds = |cost: &CellCost| cost.seconds;
        let waiting = self.waiting.iter().map(|(_, cost)| seconds(cost));
        // On average, a running cell is half done.
        let halves = self.running.values().map(|cost| seconds(cost) / 2.0);
        let ratio = self.measured / self.estimated;
        let jobs = jobs.clamp(1, self.left().max(1));
        let left = waiting.chain(halves).sum::<f64>() * ratio / float(jobs);
        Duration::try_from_secs_f64(left).ok()
    }
}

impl CellCost {
    fn bytes(&self) -> f64 {
        bytes(self.memory)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of it is enough")]
const fn bytes(memory: Bytes) -> f64 {
    memory.get() as f64
}

#[expect(clippy::cast_precision_loss, reason = "a number of processes")]
const fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(seconds: f64, memory: u64) -> CellCost {
        let memory = Bytes::new(memory);
        CellCost { seconds, memory }
    }

    fn queue(costs: &[(f64, u64)]) -> CellQueue {
        let cells = costs.iter().map(|&(seconds, memory)| cost(seconds, memory));
        CellQueue::new(cells.enumerate().collect())
    }

    fn start(queue: &mut CellQueue, memory: u64) -> Option<usize> {
        queue.start(Bytes::new(memory))
    }

    #[test]
    fn the_longest_cell_starts_first_and_equal_ones_by_number() {
        let mut queue = queue(&[(1.0, 1), (3.0, 1), (2.0, 1), (3.0, 1)]);
        let order: Vec<_> = std::iter::from_fn(|| start(&mut queue, 100)).collect();
        assert_eq!(order, [1, 3, 2, 0]);
    }

    #[test]
    fn a_cell_waits_for_memory_while_shorter_ones_start() {
        let mut queue = queue(&[(9.0, 60), (8.0, 60), (7.0, 30)]);
        assert_eq!(start(&mut queue, 100), Some(0));
        assert_eq!(start(&mut queue, 100), Some(2));
        assert_eq!(start(&mut queue, 100), None);
        queue.end(0, Some(cost(9.0, 60)));
        assert_eq!(start(&mut queue, 100), Some(1));
    }

    /// The first cell needed twice its estimate, so the others are expected to need 120 and 60 of 200 bytes.
    #[test]
    fn estimates_of_memory_grow_with_the_measured_ones() {
        let mut queue = queue(&[(9.0, 10), (8.0, 60), (7.0, 30), (6.0, 30)]);
        assert_eq!(start(&mut queue, 200), Some(0));
        queue.end(0, Some(cost(9.0, 20)));
        assert_eq!(start(&mut queue, 200), Some(1));
        assert_eq!(start(&mut queue, 200), Some(2));
        assert_eq!(start(&mut queue, 200), None);
    }

    #[test]
    fn a_cell_larger_than_the_memory_runs_alone() {
        let mut queue = queue(&[(1.0, 500), (0.5, 10)]);
        assert_eq!(start(&mut queue, 100), Some(1));
        assert_eq!(start(&mut queue, 100), None);
        queue.end(1, None);
        assert_eq!(start(&mut queue, 100), Some(0));
        assert_eq!(start(&mut queue, 100), None);
    }

    #[test]
    fn a_cell_that_ran_elsewhere_no_longer_waits() {
        let mut queue = queue(&[(10.0, 1), (40.0, 1)]);
        queue.end(1, Some(cost(80.0, 1)));
        assert_eq!(queue.left(), 1);
        assert_eq!(queue.remaining(1), Some(Duration::from_secs(20)));
        assert_eq!(start(&mut queue, 9), Some(0));
    }

    /// A cell estimated at 10 s took 20 s. Half of the running cells' 40 s and 30 s is left, at twice the estimate.
    #[test]
    fn the_remaining_time_is_corrected_by_the_ended_cells() {
        let mut queue = queue(&[(10.0, 1), (40.0, 1), (30.0, 1)]);
        assert_eq!(start(&mut queue, 9), Some(1));
        assert_eq!(start(&mut queue, 9), Some(2));
        assert_eq!(queue.remaining(2), None);
        assert_eq!(start(&mut queue, 9), Some(0));
        queue.end(0, Some(cost(20.0, 1)));
        assert_eq!(queue.left(), 2);
        assert_eq!(queue.remaining(2), Some(Duration::from_secs(35)));
        assert_eq!(queue.remaining(1), Some(Duration::from_secs(70)));
    }
}
