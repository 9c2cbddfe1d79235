//! Progress on standard error: a bar on a terminal, lines otherwise.

use std::{
    env,
    io::{self, IsTerminal, Write},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab_guest::inside;

use crate::terminal::{note, visible};

/// Standard error, with a progress bar if it is a terminal.
pub(super) struct Screen {
    bar: Option<ProgressBar>,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self {
            bar: bar(0, COUNTED),
        }
    }

    pub(super) fn begin(&self, name: &str, total: u64) {
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_style(style(if total > 0 { COUNTED } else { UNCOUNTED }));
            bar.set_length(total);
            bar.set_prefix(name.to_owned());
            bar.set_message("");
        }
    }

    /// Shows that `done` of the phase's `total` steps are done; without a bar, only milestones are shown.
    pub(super) fn set(&self, name: &str, done: u64, total: u64, text: &str, is_milestone: bool) {
        match &self.bar {
            Some(bar) => {
                bar.set_length(total);
                bar.set_position(done);
                bar.set_message(visible(text).into_owned());
            }
            None if is_milestone => note(&format!("{name:>10}  {done}/{total} {text}")),
            None => {}
        }
    }

    /// Removes the bar of a phase.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Writes bytes to standard error, above the bar.
    pub(super) fn write(&self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = visible(&text);
        match &self.bar {
            Some(bar) => bar.suspend(|| write(text.as_bytes())),
            None => write(text.as_bytes()),
        }
    }
}

/// indicatif templates for a phase with a number of steps, and for one without.
const COUNTED: &str = "{prefix:>10} {bar:30.cyan/dim} {pos}/{len} {msg}";
const UNCOUNTED: &str = "{prefix:>10} {spinner} {msg}";

/// Returns a bar of `length` with a constant indicatif template; `None` if standard error is no terminal.
pub fn bar(length: u64, template: &'static str) -> Option<ProgressBar> {
    draws_bars().then(|| {
        let target = ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND);
        let bar = ProgressBar::with_draw_target(Some(length), target);
        bar.set_style(style(template));
        bar
    })
}

fn style(template: &'static str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the template is constant");
    style.progress_chars("━━╌")
}

/// Returns true if standard error is a terminal; in a guest, if the host's standard error is one.
pub(super) fn draws_bars() -> bool {
    match env::var(inside::PROGRESS_VARIABLE).as_deref() {
        Ok("bar") => true,
        Ok("plain") => false,
        _ => io::stderr().is_terminal(),
    }
}

/// Writes bytes to standard error and ignores a failure.
pub(super) fn write(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

/// Maximum number of redraws of a bar per second.
pub const REDRAWS_PER_SECOND: u8 = 5;
