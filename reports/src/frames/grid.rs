//! Time intervals in which a run's first repetition is shown.

use lab_units::Nanos;
use polars::prelude::*;

/// Time intervals of a repetition: narrow until most flows have ended, then wide.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TimeGrid {
    narrow: u64,
    wide: u64,
    wide_intervals: usize,
}

impl TimeGrid {
    /// Returns the intervals for flows that ended at `ends`, ns, and faults up to `last_fault`. The narrow intervals
    /// end after nine tenths of the flows have ended and all faults have occurred.
    pub fn new(mut ends: Vec<u64>, last_fault: Option<Nanos>) -> Self {
        let fault = last_fault.map_or(0, Nanos::get);
        let last = ends.iter().max().copied().unwrap_or(0);
        let end = last.max(fault).max(NARROW as u64);
        let most = match ends.len() * 9 / 10 {
            rank if rank < ends.len() => *ends.select_nth_unstable(rank).1,
            _ => 0,
        };
        let focus = most.max(fault).saturating_mul(5) / 4;
        let focus = if focus.saturating_mul(3) / 2 >= end {
            end
        } else {
            focus.max(NARROW as u64)
        };
        let narrow = focus.div_ceil(NARROW as u64);
        let rest = end.saturating_sub(narrow * NARROW as u64);
        Self {
            narrow,
            wide: rest.div_ceil(WIDE as u64).max(1),
            wide_intervals: if rest > 0 { WIDE } else { 0 },
        }
    }

    /// Returns the number of intervals.
    pub fn len(&self) -> usize {
        NARROW + self.wide_intervals
    }

    /// Returns the number of narrow intervals.
    pub fn narrow_len(&self) -> usize {
        NARROW
    }

    /// Returns the start of the interval at `index`, ns; for [`len`](Self::len), the end of the last interval.
    pub fn edge(&self, index: usize) -> u64 {
        let wide = index.saturating_sub(NARROW) as u64;
        self.narrow * index.min(NARROW) as u64 + self.wide * wide
    }

    /// Returns the edges of the intervals that result from merging every `count` narrow intervals into one.
    pub fn merged_edges(&self, count: usize) -> impl Iterator<Item = Nanos> {
        let edges = (0..=NARROW).step_by(count);
        edges.map(|edge| Nanos::new(self.edge(edge)))
    }

    /// Returns the index of the interval that contains `time`, ns; later times belong to the last interval.
    pub fn index(&self, time: u64) -> usize {
        let focus = self.edge(NARROW);
        let index = if time < focus {
            time / self.narrow
        } else {
            NARROW as u64 + (time - focus) / self.wide
        };
        usize::try_from(index)
            .unwrap_or(usize::MAX)
            .min(self.len() - 1)
    }

    /// Returns a polars expression that computes [`index`](Self::index) for a column of times.
    pub fn index_of(&self, column: &str) -> Expr {
        let focus = self.edge(NARROW);
        let time = || col(column);
        let narrow = quotient(time(), self.narrow);
        // The numbers are unsigned, so the subtraction wraps for times before the focus; `when` leaves these out.
        let after = when(time().lt(lit(focus)))
            .then(lit(0u64))
            .otherwise(time() - lit(focus));
        let wide = quotient(after, self.wide) + lit(NARROW as u64);
        let last = lit(self.len() as u64 - 1);
        let index = when(time().lt(lit(focus))).then(narrow).otherwise(wide);
        when(index.clone().gt(last.clone()))
            .then(last)
            .otherwise(index)
    }
}

/// Returns the integer quotient of two numbers; the polars feature for floor division is not enabled.
fn quotient(number: Expr, by: u64) -> Expr {
    let rest = number.clone() % lit(by);
    ((number - rest) / lit(by)).cast(DataType::UInt64)
}

/// Number of narrow intervals, in which most flows end.
const NARROW: usize = 240;

/// Number of wide intervals, which cover the rest of the repetition.
const WIDE: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_follow_each_other_and_hold_their_times() {
        let ends = (0..100u64)
            .map(|flow| flow * 1_000_000)
            .chain([2_000_000_000; 5]);
        for grid in [
            TimeGrid::new(ends.collect(), None),
            TimeGrid::new(vec![77, 990_000], Some(Nanos::new(1_000_000))),
            TimeGrid::new(Vec::new(), None),
        ] {
            for index in 0..grid.len() {
                assert!(grid.edge(index) < grid.edge(index + 1));
                assert_eq!(grid.index(grid.edge(index)), index);
                assert_eq!(grid.index(grid.edge(index + 1) - 1), index);
            }
        }
    }

    #[test]
    fn a_column_has_the_intervals_of_its_times() {
        let grid = TimeGrid::new(
            (0..100).map(|flow| flow * 999).chain([900_000]).collect(),
            None,
        );
        let times: Vec<u64> = (0..1_000).map(|step| step * 1_003).collect();
        let frame = DataFrame::new(times.len(), vec![Column::new("t".into(), &times)]).unwrap();
        let found: Vec<Option<u64>> = frame
            .lazy()
            .select([grid.index_of("t").alias("i")])
            .collect()
            .unwrap()
            .column("i")
            .unwrap()
            .u64()
            .unwrap()
            .iter()
            .collect();
        let expected = times.iter().map(|&time| Some(grid.index(time) as u64));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}
