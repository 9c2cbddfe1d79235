//! Progress of a sweep.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use lab_sweep::CellQueue;

use crate::{
    progress::{about, bar},
    terminal::note,
};

/// Progress of a sweep on standard error: a bar on a terminal, lines otherwise.
pub struct Meter {
    bar: Option<ProgressBar>,
    cells: usize,
    pub failed: usize,
    /// Time of the latest line; used only if no bar is drawn.
    shown: Instant,
}

impl Meter {
    pub fn new(cells: usize) -> Self {
        Self {
            bar: bar(
                cells as u64,
                "{prefix:>10} {bar:24.cyan/dim} {pos}/{len} {msg}",
            ),
            cells,
            failed: 0,
            shown: Instant::now(),
        }
    }

    /// Shows how many cells have ended and the time left if `jobs` cells run at a time, followed by `more`.
    pub fn show(&mut self, queue: &CellQueue, jobs: usize, more: &str) {
        let ended = self.cells - queue.left();
        let mut message = queue.remaining(jobs).map_or_else(
            || "time left unknown".to_owned(),
            |left| {
                format!(
                    "about {} left",
                    about(Duration::from_secs(left.as_secs().max(1)))
                )
            },
        );
        if self.failed > 0 {
            message += &format!(", {} failed", self.failed);
        }
        message += more;
        match &self.bar {
            Some(bar) => {
                bar.set_prefix("cells");
                bar.set_position(ended as u64);
                bar.set_message(message);
            }
            None if self.shown.elapsed() >= BETWEEN_LINES => {
                self.shown = Instant::now();
                note(&format!("{ended} of {} cells ended, {message}", self.cells));
            }
            None => {}
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Time between two progress lines where no bar is drawn.
const BETWEEN_LINES: Duration = Duration::from_secs(10);
