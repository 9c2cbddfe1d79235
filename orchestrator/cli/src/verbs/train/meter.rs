//! Progress of a training on standard error: a bar on a terminal, lines elsewhere.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use lab_redte_train::Session;

use crate::{
    progress::{about, bar},
    terminal::note,
};

/// Progress of a training.
pub struct Meter {
    bar: Option<ProgressBar>,
    since: Instant,
    /// Time of the last line.
    shown: Instant,
}

impl Meter {
    /// Begins the progress of `steps` steps.
    pub fn new(steps: u64) -> Self {
        let now = Instant::now();
        Self {
            bar: bar(
                steps,
                "  training {bar:24.cyan/dim} {pos}/{len} steps {msg}",
            ),
            since: now,
            shown: now,
        }
    }

    /// Shows the latest and the best validation.
    pub fn show(&mut self, session: &Session<'_>) {
        let message = message(session);
        match &self.bar {
            Some(bar) => {
                bar.set_position(session.step());
                bar.set_message(message);
            }
            None if self.shown.elapsed() >= BETWEEN_LINES => {
                self.shown = Instant::now();
                note(&format!("  training  {} steps, {message}", session.step()));
            }
            None => {}
        }
    }

    /// Ends the progress.
    pub fn end(&self, session: &Session<'_>) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let took = about(self.since.elapsed());
        note(&format!(
            "  training  {} steps in {took}, {}",
            session.step(),
            message(session)
        ));
    }
}

fn message(session: &Session<'_>) -> String {
    let latest = session.curve().last().map_or(0.0, |latest| latest.score);
    let (_, best) = session.best();
    best.map_or_else(
        || format!("validation {latest:.4}"),
        |best| {
            format!(
                "validation {latest:.4}, best {:.4} at step {}",
                best.score, best.step
            )
        },
    )
}

/// Time between lines where no bar is drawn.
const BETWEEN_LINES: Duration = Duration::from_secs(10);
