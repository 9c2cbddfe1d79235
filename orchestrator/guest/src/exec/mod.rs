//! Exec sessions: commands that run in a running guest at the request of other processes.
//!
//! The process that owns the guest listens on a Unix socket, the exec socket. A client connects, requests a command,
//! and is then connected to the command's standard streams. Each exec session has a number, with which the control
//! lines between host and guest carry the messages of all sessions.
//!
//! Messages are JSON objects, one per line, on the exec socket and on the control lines. A serial line drops bytes when
//! the buffer of the guest's kernel is full, so every stream has a window, and its receiver acknowledges bytes.
//!
//! - `socket`: accepts clients
//! - `clients`: connected clients
//! - `client`: the client's side

use std::{ffi::OsString, path::PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

mod client;
mod clients;
mod socket;

pub use client::{ExecError, run};
pub(crate) use clients::{ClientEvent, Clients};
pub(crate) use socket::ExecSocket;

/// Message from a client to the guest.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ExecRequest {
    /// Request to start a command; the first message of every client.
    Start(Start),
    /// Bytes of the command's standard input.
    Input(Bytes),
    /// End of the command's standard input.
    InputEnd,
    /// Acknowledgement: number of output bytes that the client has written.
    Ack(usize),
    /// Signal for the command's process group.
    Signal(i32),
    /// End of the session, because the client has disconnected.
    Abandon,
}

/// Command of an exec session.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Start {
    /// Words of the command, without the prefix of [`crate::ExecConfig`].
    pub words: Vec<OsString>,
    /// Working directory of the command; the root directory if the guest has no such directory.
    pub cwd: PathBuf,
    /// Columns and rows of the client's terminal; `None` if its standard output is not a terminal.
    pub terminal: Option<(u16, u16)>,
}

/// Message from the guest to a client.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ExecReply {
    /// Bytes of the command's standard output.
    Stdout(Bytes),
    /// Bytes of the command's standard error.
    Stderr(Bytes),
    /// Acknowledgement: number of input bytes that the command has received.
    Ack(usize),
    /// Exit code of the command; the last message.
    Exit(u8),
    /// Reason why the command was not started; the last message.
    Refused(String),
}

impl ExecReply {
    /// Returns true if this is the last message of a session.
    pub(crate) const fn is_last(&self) -> bool {
        matches!(self, Self::Exit(_) | Self::Refused(_))
    }
}

/// Bytes, serialised as base64 text.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Bytes(pub Vec<u8>);

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        STANDARD.encode(bytes.0)
    }
}

impl TryFrom<String> for Bytes {
    type Error = base64::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        STANDARD.decode(text).map(Self)
    }
}

/// Maximum number of payload bytes in one message.
pub(crate) const CHUNK: usize = 4 << 10;

/// Maximum number of unacknowledged output bytes of a session. Encoded as messages, they fit into the buffer of a Unix
/// socket, so that a slow client never blocks the process that serves it.
pub(crate) const OUTPUT_WINDOW: usize = 16 * CHUNK;

/// Maximum number of unacknowledged input bytes of a session. The guest's kernel buffers 64 KiB per serial line, which
/// is more than [`MAX_SESSIONS`] clients may send.
pub(crate) const INPUT_WINDOW: usize = CHUNK;

/// Maximum number of concurrent exec sessions.
pub(crate) const MAX_SESSIONS: usize = 8;

/// Maximum length of a request in bytes, which also limits the command.
pub(crate) const MAX_REQUEST: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_one_line_that_is_longer_by_a_third() {
        let bytes: Vec<u8> = (0..=255).cycle().take(CHUNK).collect();
        let reply = ExecReply::Stdout(Bytes(bytes));
        let line = serde_json::to_string(&reply).unwrap();
        assert!(!line.contains('\n') && line.len() < CHUNK * 4 / 3 + 32);
        assert_eq!(serde_json::from_str::<ExecReply>(&line).unwrap(), reply);
    }

    #[test]
    fn input_of_all_sessions_fits_into_the_buffer_of_the_serial_line() {
        let input = ExecRequest::Input(Bytes(vec![0; INPUT_WINDOW]));
        let line = serde_json::to_string(&input).unwrap();
        assert!(MAX_SESSIONS * (line.len() + 64) < 64 << 10);
    }
}
