//! Values over time.

use crate::{frames::TimeGrid, text::to_float};

/// Values of one policy or run in the intervals of a time grid: `None` where unknown, empty without data.
pub type Line = Vec<Option<f64>>;

/// Values over time of one route, link direction or flow, or of the whole network, with a line per policy or run.
#[derive(Clone, Debug)]
pub struct Series {
    /// Route, link direction (`dc1 → dc2`) or hosts of a flow; empty for the network.
    pub label: String,
    /// Rate and delay of the link, or number of the flow.
    pub about: String,
    /// Utilisation of the link direction while flows arrived; 0 for other subjects.
    pub busy: f64,
    /// Lines of the policies or runs.
    pub lines: Vec<Line>,
}

impl Series {
    /// Returns the series of a subject that is not a link direction.
    pub fn new(label: impl Into<String>, about: impl Into<String>, lines: Vec<Line>) -> Self {
        Self {
            label: label.into(),
            about: about.into(),
            busy: 0.0,
            lines,
        }
    }

    /// Returns the largest value; 0 without values.
    pub fn max(&self) -> f64 {
        let values = self.lines.iter().flatten().flatten();
        values.copied().fold(0.0, f64::max)
    }

    /// Divides all values by `unit`.
    pub fn per(mut self, unit: f64) -> Self {
        for value in self.lines.iter_mut().flatten().flatten() {
            *value /= unit;
        }
        self
    }

    /// Merges each `count` narrow intervals of `grid` into one, by `merge` over their known values; omits the wide
    /// intervals.
    pub fn merged(mut self, grid: &TimeGrid, count: usize, merge: fn(&[f64]) -> f64) -> Self {
        let one = |values: &[Option<f64>]| {
            let known: Vec<f64> = values.iter().flatten().copied().collect();
            (!known.is_empty()).then(|| merge(&known))
        };
        for line in &mut self.lines {
            line.truncate(grid.narrow_len());
            *line = line.chunks(count).map(one).collect();
        }
        self
    }
}

/// Returns the sums of all `series`, whose values are all known.
pub fn total(series: &[Series]) -> Vec<Line> {
    let mut total = series
        .first()
        .map_or_else(Vec::new, |one| one.lines.clone());
    for more in series.iter().skip(1) {
        let lines = total.iter_mut().zip(&more.lines);
        for (sum, more) in lines.flat_map(|(sum, more)| sum.iter_mut().zip(more)) {
            *sum = sum.zip(*more).map(|(sum, more)| sum + more);
        }
    }
    total
}

/// Returns the sum of the known values of a line.
pub fn sum(known: &[f64]) -> f64 {
    known.iter().sum()
}

/// Returns the mean of a line's known values; there must be at least one.
pub fn mean(known: &[f64]) -> f64 {
    sum(known) / to_float(known.len() as u64)
}

/// Returns the largest of the known values of a line, which must not be negative.
pub fn largest(known: &[f64]) -> f64 {
    known.iter().copied().fold(0.0, f64::max)
}
