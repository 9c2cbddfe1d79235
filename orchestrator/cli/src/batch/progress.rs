//! Progress of a batch, shown as one line.

use std::time::Duration;

use crate::progress::about;

/// Counts and times of a batch's runs so far.
#[derive(Debug, Default)]
pub struct BatchProgress {
    total: u32,
    done: u32,
    found: u32,
    /// Number of runs that were performed, including failed ones.
    made: u32,
    /// Total duration of the performed runs.
    took: Duration,
}

impl BatchProgress {
    /// Returns the progress of a batch of `total` runs before the first one ends.
    pub fn of(total: usize) -> Self {
        Self {
            total: u32::try_from(total).unwrap_or(u32::MAX),
            ..Self::default()
        }
    }

    /// Counts an ended run that was reused.
    pub fn found(&mut self) {
        self.done += 1;
        self.found += 1;
    }

    /// Counts a wanted run that failed before in this batch and is not tried again.
    pub fn failed_before(&mut self) {
        self.done += 1;
    }

    /// Counts a run that was performed and took the time `took`.
    pub fn made(&mut self, took: Duration) {
        self.done += 1;
        self.made += 1;
        self.took += took;
    }

    /// Returns the progress line. Its estimate assumes that each remaining run takes as long as the mean of the
    /// performed ones.
    pub fn line(&self) -> String {
        let mut line = format!("batch: {} of {} runs", self.done, self.total);
        if self.found > 0 {
            line += &format!(", {} found", self.found);
        }
        let left = self.total.saturating_sub(self.done);
        if let Some(each) = self.took.checked_div(self.made)
            && left > 0
        {
            line += &format!(", about {} left", about(each.saturating_mul(left)));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_the_runs_that_were_made() {
        let mut progress = BatchProgress::of(12);
        assert_eq!(progress.line(), "batch: 0 of 12 runs");
        progress.found();
        assert_eq!(progress.line(), "batch: 1 of 12 runs, 1 found");
        progress.made(Duration::from_secs(1));
        progress.made(Duration::from_secs(3));
        assert_eq!(
            progress.line(),
            "batch: 3 of 12 runs, 1 found, about 18 s left"
        );
        for _ in 0..9 {
            progress.failed_before();
        }
        assert_eq!(progress.line(), "batch: 12 of 12 runs, 1 found");
    }
}
