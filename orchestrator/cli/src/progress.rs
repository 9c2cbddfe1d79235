//! What a run is doing, on standard error: bars on a terminal, lines elsewhere.

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab_kernel::run::RunEvent;
use lab_records::Phase;
use lab_units::Nanos;

use crate::output::note;

/// Says how a run is doing. Nothing is drawn by time, only by events: in a guest whose clock jumps
/// over idle time, a ticking bar would be the only thing that keeps it from jumping.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// When this process started to look, and the phase it is in.
    phase: Option<(String, Instant)>,
    done: u64,
    total: u64,
    phases: Vec<Phase>,
}

/// Whether a bar can be drawn: on a terminal, or in a guest whose host has one.
pub fn draws_bars() -> bool {
    match std::env::var("LCMP_LAB_PROGRESS").as_deref() {
        Ok("bar") => true,
        Ok("plain") => false,
        _ => std::io::stderr().is_terminal(),
    }
}

impl Progress {
    /// For standard error as it is.
    #[must_use]
    pub fn new() -> Self {
        let bar = draws_bars().then(|| {
            let target = ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND);
            let bar = ProgressBar::with_draw_target(Some(0), target);
            let template = "{prefix:>10} {bar:30.cyan/dim} {pos}/{len} {msg}";
            let style = ProgressStyle::with_template(template).expect("the template is constant");
            bar.set_style(style.progress_chars("━━╌"));
            bar
        });
        Self {
            bar,
            phase: None,
            done: 0,
            total: 0,
            phases: Vec::new(),
        }
    }

    /// A phase begins; the one before it has ended.
    pub fn begin(&mut self, name: &str, total: u64) {
        self.end_phase();
        self.phase = Some((name.to_owned(), Instant::now()));
        (self.done, self.total) = (0, total);
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_length(total);
            bar.set_prefix(name.to_owned());
            bar.set_message("");
        }
    }

    /// Shows how far the lab is.
    pub fn built(&mut self, at: lab_kernel::lab::Progress) {
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        if let Some(bar) = &self.bar {
            bar.set_length(count(at.total));
            bar.set_position(count(at.done));
            bar.set_message(at.phase.to_string());
        }
    }

    /// Shows what the run says of itself.
    pub fn show(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Phase { name, steps } => self.begin(name, *steps),
            RunEvent::Step { text } => self.step(text),
            RunEvent::FlowsEnd => self.end_phase(),
        }
    }

    /// Says a line without tearing the bar.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| note(text)),
            None => note(text),
        }
    }

    /// Nothing more will come. How long the phases took.
    pub fn finish(&mut self) -> Vec<Phase> {
        self.end_phase();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        std::mem::take(&mut self.phases)
    }

    fn step(&mut self, text: &str) {
        self.done += 1;
        match &self.bar {
            Some(bar) => {
                bar.set_message(text.to_owned());
                bar.inc(1);
            }
            // A line for each of hundreds of steps would hide the phases: a few a phase are enough.
            None if is_milestone(self.done, self.total) => {
                let name = self.phase.as_ref().map_or("", |(name, _)| name);
                note(&format!("{name:>10}  {}/{} {text}", self.done, self.total));
            }
            None => {}
        }
    }

    fn end_phase(&mut self) {
        if let Some((name, since)) = self.phase.take() {
            let took = since.elapsed();
            self.say(&format!("{name:>10}  done in {}", about(took)));
            let took_ns = nanos(took);
            self.phases.push(Phase { name, took_ns });
        }
    }
}

/// Every quarter of a phase, the last step included.
fn is_milestone(done: u64, total: u64) -> bool {
    total > 0 && done * 4 / total > (done - 1) * 4 / total
}

/// A length of time as a person reads it.
#[must_use]
pub fn about(time: Duration) -> String {
    lab_plan::about_time(nanos(time))
}

fn nanos(time: Duration) -> Nanos {
    Nanos::new(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

const REDRAWS_PER_SECOND: u8 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_four_milestones_however_long() {
        for total in [4, 44, 1000] {
            let milestones: Vec<u64> = (1..=total)
                .filter(|done| is_milestone(*done, total))
                .collect();
            assert_eq!(milestones.len(), 4, "{total}");
            assert_eq!(milestones.last(), Some(&total));
        }
    }
}
