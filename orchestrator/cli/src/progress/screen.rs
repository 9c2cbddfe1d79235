//! Progress on standard error: bars on a terminal, lines elsewhere.

use std::{
    env,
    io::{self, IsTerminal, Write},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab_guest::inside;

use crate::output::note;

/// Standard error.
pub(super) struct Screen {
    bar: Option<ProgressBar>,
}

impl Screen {
    pub(super) fn new() -> Self {
        let bar = draws_bars().then(|| {
            let target = ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND);
            let bar = ProgressBar::with_draw_target(Some(0), target);
            let template = "{prefix:>10} {bar:30.cyan/dim} {pos}/{len} {msg}";
            let style = ProgressStyle::with_template(template).expect("the template is constant");
            bar.set_style(style.progress_chars("━━╌"));
            bar
        });
        Self { bar }
    }

    pub(super) fn begin(&self, name: &str, total: u64) {
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_length(total);
            bar.set_prefix(name.to_owned());
            bar.set_message("");
        }
    }

    /// Shows how far a phase is; without a bar its milestones are enough.
    pub(super) fn at(&self, name: &str, done: u64, total: u64, text: &str, is_milestone: bool) {
        match &self.bar {
            Some(bar) => {
                bar.set_length(total);
                bar.set_position(done);
                bar.set_message(text.to_owned());
            }
            None if is_milestone => note(&format!("{name:>10}  {done}/{total} {text}")),
            None => {}
        }
    }

    /// Writes bytes without tearing the bar.
    pub(super) fn pass(&self, bytes: &[u8]) {
        match &self.bar {
            Some(bar) => bar.suspend(|| write(bytes)),
            None => write(bytes),
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Whether a bar can be drawn: on a terminal, or in a guest whose host has one.
pub fn draws_bars() -> bool {
    match env::var(inside::PROGRESS_VARIABLE).as_deref() {
        Ok("bar") => true,
        Ok("plain") => false,
        _ => io::stderr().is_terminal(),
    }
}

/// Standard error that nobody reads is no reason to end.
pub(super) fn write(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

const REDRAWS_PER_SECOND: u8 = 5;
