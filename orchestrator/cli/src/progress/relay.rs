//! What happens in a guest, from there to the host: JSON lines between those of standard error.
//!
//! Each begins with the record separator of JSON text sequences (RFC 7464), which no other line of
//! the lab's does.

use std::{
    cell::RefCell,
    io::{self, Write},
};

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

use super::{Progress, screen};

/// One thing that happened.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Told {
    /// A phase begins.
    Begin { name: String, total: u64 },
    /// So far it is.
    At {
        done: u64,
        total: u64,
        text: String,
        is_milestone: bool,
    },
    /// It has ended; how long that was on the guest's clock, where that means something.
    End { virtual_ns: Option<Nanos> },
}

/// The guest's end.
pub(super) struct Relay {
    /// Whether the host draws bars; else milestones are all it shows.
    all_steps: bool,
}

impl Relay {
    pub(super) fn new() -> Self {
        Self {
            all_steps: screen::draws_bars(),
        }
    }

    /// Tells the host, unless it would not show it: every byte is time of the guest's CPU.
    pub(super) fn tell(&self, told: &Told) {
        let is_shown = match told {
            Told::At { is_milestone, .. } => self.all_steps || *is_milestone,
            Told::Begin { .. } | Told::End { .. } => true,
        };
        if is_shown {
            screen::write(&encode(told));
        }
    }
}

/// The host's end: takes the guest's standard error apart into progress and everything else.
pub struct Listener<'a> {
    progress: &'a RefCell<Progress>,
    line: Vec<u8>,
}

impl<'a> Listener<'a> {
    /// Shows what it hears by `progress`.
    #[must_use]
    pub const fn new(progress: &'a RefCell<Progress>) -> Self {
        Self {
            progress,
            line: Vec::new(),
        }
    }

    fn take(&self, line: &[u8]) {
        match decode(line) {
            Some(told) => self.progress.borrow_mut().follow(told),
            None => self.progress.borrow().pass(line),
        }
    }
}

impl Write for Listener<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            self.take(&line);
        }
        Ok(bytes.len())
    }

    /// A line that is not complete may still become progress.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.take(&self.line);
        }
    }
}

fn encode(told: &Told) -> Vec<u8> {
    let mut line = vec![RECORD_SEPARATOR];
    line.extend(serde_json::to_vec(told).expect("progress is plain data"));
    line.push(b'\n');
    line
}

fn decode(line: &[u8]) -> Option<Told> {
    serde_json::from_slice(line.strip_prefix(&[RECORD_SEPARATOR])?).ok()
}

const RECORD_SEPARATOR: u8 = 0x1e;

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Told {
        Told::At {
            done: 3,
            total: 4,
            text: text.to_owned(),
            is_milestone: true,
        }
    }

    #[test]
    fn what_is_told_is_one_line_whatever_its_text() {
        for told in [
            Told::Begin {
                name: "lcmp flows".to_owned(),
                total: 44,
            },
            step("two\nlines, a \u{1e} and a \"quote\""),
            Told::End {
                virtual_ns: Some(Nanos::from_millis(7_200)),
            },
        ] {
            let line = encode(&told);
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(decode(&line), Some(told));
        }
    }

    #[test]
    fn other_lines_are_not_taken_for_progress() {
        for line in [
            "ERROR left behind\n",
            "{\"end\":{}}\n",
            "\u{1e}no json\n",
            "\n",
        ] {
            assert_eq!(decode(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn phases_are_followed_however_the_bytes_are_cut() {
        let progress = RefCell::new(Progress::new());
        let mut listener = Listener::new(&progress);
        let said = [
            encode(&Told::Begin {
                name: "flows".to_owned(),
                total: 4,
            }),
            encode(&step("flow 3")),
            encode(&Told::End {
                virtual_ns: Some(Nanos::from_millis(9)),
            }),
        ];
        for piece in said.concat().chunks(7) {
            listener.write_all(piece).unwrap();
        }
        drop(listener);
        let phases = progress.borrow_mut().finish();
        assert_eq!(phases.len(), 1);
        assert_eq!(phases[0].name, "flows");
        assert_eq!(phases[0].virtual_ns, Some(Nanos::from_millis(9)));
    }
}
