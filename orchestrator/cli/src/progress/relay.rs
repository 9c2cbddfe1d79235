//! Progress messages from a guest to the host: JSON lines among the other lines of standard error.
//!
//! Each message begins with the record separator of JSON text sequences (RFC 7464, U+001E), which no other line of a
//! lab begins with.

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

use super::screen;

/// Progress message from a guest.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Message {
    /// Start of a phase with `total` steps.
    Begin { name: String, total: u64 },
    /// Number of the phase's steps that are done, with a text to show.
    Step {
        done: u64,
        total: u64,
        text: String,
        is_milestone: bool,
    },
    /// End of the phase; `virtual_ns` is its duration by the guest's virtual clock, `None` if no flows ran in it.
    End { virtual_ns: Option<Nanos> },
    /// Number of times that flows will run: policies times repetitions.
    Expect { times: u64 },
}

/// Sender of progress messages in a guest.
pub(super) struct Relay {
    /// True to send every step, because the host draws bars; false to send only milestones.
    all_steps: bool,
}

impl Relay {
    pub(super) fn new() -> Self {
        Self {
            all_steps: screen::draws_bars(),
        }
    }

    /// Sends a message if the host would show it, because each byte sent costs the guest CPU time.
    pub(super) fn send(&self, message: &Message) {
        let is_shown = match message {
            Message::Step { is_milestone, .. } => self.all_steps || *is_milestone,
            Message::Begin { .. } | Message::End { .. } | Message::Expect { .. } => true,
        };
        if is_shown {
            screen::write(&encode(message));
        }
    }
}

pub(super) fn encode(message: &Message) -> Vec<u8> {
    let mut line = vec![RECORD_SEPARATOR];
    line.extend(serde_json::to_vec(message).expect("a message is plain data"));
    line.push(b'\n');
    line
}

pub(super) fn decode(line: &[u8]) -> Option<Message> {
    serde_json::from_slice(line.strip_prefix(&[RECORD_SEPARATOR])?).ok()
}

const RECORD_SEPARATOR: u8 = 0x1e;

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Message {
        Message::Step {
            done: 3,
            total: 4,
            text: text.to_owned(),
            is_milestone: true,
        }
    }

    #[test]
    fn a_message_is_one_line_whatever_its_text() {
        for message in [
            Message::Begin {
                name: "lcmp flows".to_owned(),
                total: 44,
            },
            step("two\nlines, a \u{1e} and a \"quote\""),
            Message::End {
                virtual_ns: Some(Nanos::from_millis(7_200)),
            },
        ] {
            let line = encode(&message);
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(decode(&line), Some(message));
        }
    }

    #[test]
    fn other_lines_are_no_messages() {
        for line in [
            "ERROR left behind\n",
            "{\"end\":{}}\n",
            "\u{1e}no json\n",
            "\n",
        ] {
            assert_eq!(decode(line.as_bytes()), None, "{line}");
        }
    }
}
