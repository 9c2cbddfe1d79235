//! Progress of a batch in one line.

use std::time::Duration;

use crate::progress::about;

/// Progress of a batch.
#[derive(Debug, Default)]
pub struct BatchProgress {
    total: u32,
    done: u32,
    found: u32,
    /// Runs that were made, whether or not they failed.
    made: u32,
    /// Time that making them took.
    took: Duration,
}

impl BatchProgress {
    /// Returns the progress of a batch with `total` runs, before the first one ends.
    pub fn of(total: usize) -> Self {
        Self {
            total: u32::try_from(total).unwrap_or(u32::MAX),
            ..Self::default()
        }
    }

    /// Counts a run that was found.
    pub fn found(&mut self) {
        self.done += 1;
        self.found += 1;
    }

    /// Counts a run that failed before and is not tried again.
    pub fn failed_before(&mut self) {
        self.done += 1;
    }

    /// Counts a run that was made in the time `took`.
    pub fn made(&mut self, took: Duration) {
        self.done += 1;
        self.made += 1;
        self.took += took;
    }

    /// Returns the line; the remaining runs are expected to take as long as those that were made.
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
