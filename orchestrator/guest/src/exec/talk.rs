//! What is said about a command: JSON objects, one per line, at the door and on the control line.
//!
//! No side may send more than the other has room for, since nothing between them can be held up: the
//! guest's serial line drops what its kernel has no buffer for. So each stream has a window, and who
//! has passed bytes on says so.

use std::{ffi::OsString, path::PathBuf};

use serde::{Deserialize, Serialize};

/// What a client wants of the guest.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Run this; the first order of every client.
    Start(Start),
    /// Standard input of the command.
    Input(Bytes),
    /// Standard input has ended.
    InputEnd,
    /// So many bytes of output were passed on.
    Taken(usize),
    /// Send this signal to the command's process group.
    Signal(i32),
    /// The client is gone.
    Abandon,
}

/// A command to run.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Start {
    /// What follows the words the door puts before every command.
    pub words: Vec<OsString>,
    /// Its working directory; where the guest has none of the name, the root directory.
    pub cwd: PathBuf,
    /// Columns and rows, where standard output is a terminal.
    pub terminal: Option<(u16, u16)>,
}

/// What the guest tells the client.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// Standard output of the command.
    Stdout(Bytes),
    /// Standard error of the command.
    Stderr(Bytes),
    /// So many bytes of input were passed on.
    Taken(usize),
    /// The command ended; the last answer.
    Exit(u8),
    /// The command is not run; the last answer.
    Refused(String),
}

impl Answer {
    /// Whether no answer follows.
    pub(crate) const fn is_last(&self) -> bool {
        matches!(self, Self::Exit(_) | Self::Refused(_))
    }
}

/// Any bytes, as text that grows by a third whatever they are.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Bytes(pub Vec<u8>);

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.encode(bytes.0)
    }
}

impl TryFrom<String> for Bytes {
    type Error = base64::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        use base64::Engine;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text)?;
        Ok(Self(bytes))
    }
}

/// Most bytes in one line.
pub(crate) const CHUNK: usize = 4 << 10;

/// Most bytes of output that were not passed on yet: as lines they fit into a socket's buffer, so
/// that no client, however slow, holds up the process that serves it.
pub(crate) const OUTPUT_WINDOW: usize = 16 * CHUNK;

/// Most bytes of input that were not passed on yet. The guest's kernel holds 64 KiB for a serial line
/// nobody reads, which is more than all commands may send.
pub(crate) const INPUT_WINDOW: usize = CHUNK;

/// Most commands at once.
pub(crate) const MAX_COMMANDS: usize = 8;

/// Longest line of an order, which bounds a command's words.
pub(crate) const MAX_ORDER: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_passes_in_one_line_that_grows_by_a_third() {
        let bytes: Vec<u8> = (0..=255).cycle().take(CHUNK).collect();
        let answer = Answer::Stdout(Bytes(bytes));
        let line = serde_json::to_string(&answer).unwrap();
        assert!(!line.contains('\n') && line.len() < CHUNK * 4 / 3 + 32);
        assert_eq!(serde_json::from_str::<Answer>(&line).unwrap(), answer);
    }

    #[test]
    fn what_all_commands_may_send_fits_into_the_guests_buffer() {
        let line = serde_json::to_string(&Order::Input(Bytes(vec![0; INPUT_WINDOW]))).unwrap();
        assert!(MAX_COMMANDS * (line.len() + 64) < 64 << 10);
    }
}
