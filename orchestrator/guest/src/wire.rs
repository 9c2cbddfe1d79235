//! Messages between host and guest, and the serial ports that carry them.
//!
//! The initramfs contains the request. All later messages are JSON objects, one per line, on a separate
//! serial port, so that output may contain any byte.

use std::{
    ffi::OsString,
    fmt::{self, Write as _},
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use crate::{
    Accelerator, Clock, Terminal,
    exec::{ExecReply, ExecRequest},
};

/// Directory in the guest to which the init script copies the request and the link to the init program.
pub(crate) const GUEST_DIR: &str = "/run/lcmp-lab-guest";

/// File name of the request in [`GUEST_DIR`].
pub(crate) const REQUEST_FILE: &str = "request.json";

/// Serial port for the command's standard output.
pub(crate) const STDOUT_PORT: &str = "/dev/ttyS1";

/// Serial port for the command's standard error.
pub(crate) const STDERR_PORT: &str = "/dev/ttyS2";

/// Serial port for the control lines.
pub(crate) const CONTROL_PORT: &str = "/dev/ttyS3";

/// Request for the guest's init.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct InnerRequest {
    pub argv: Vec<OsString>,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub writable: Vec<Export>,
    pub clock: Clock,
    pub accelerator: Accelerator,
    pub terminal: Terminal,
    /// Paths of kernel modules in load order.
    pub modules: Vec<PathBuf>,
    /// Words put in front of every exec session's command.
    pub exec_prefix: Vec<OsString>,
    /// True if the guest stays up after the command's end.
    pub stays: bool,
    /// Secret by which the host recognises control lines of the guest's init.
    pub token: Token,
}

/// Secret of a guest's init, which authenticates the init's control lines. The host ignores all other lines on the
/// control port.
#[derive(Clone, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Token(String);

impl Token {
    /// Returns a token of random hexadecimal digits.
    pub(crate) fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut token = String::new();
        for byte in bytes {
            // Writing to a string does not fail.
            let _ = write!(token, "{byte:02x}");
        }
        Ok(Self(token))
    }

    /// Returns the control line that carries a message, including its line ends.
    ///
    /// A heartbeat, which only shows that the guest runs, has no token, so that the line is short: sending a line
    /// through the serial port delays flows.
    pub(crate) fn seal(&self, message: &ToHost) -> serde_json::Result<Vec<u8>> {
        let mut line = Vec::new();
        if *message != ToHost::Alive {
            // The line end in front separates the message from text that another program wrote before.
            line.push(b'\n');
            line.extend_from_slice(self.0.as_bytes());
        }
        serde_json::to_writer(&mut line, message)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Parses a line, given without its line ending; `None` if it is not a line of the guest's init.
    pub(crate) fn open(&self, line: &[u8]) -> Option<ToHost> {
        let sealed = line.strip_prefix(self.0.as_bytes());
        let message = serde_json::from_slice(sealed.unwrap_or(line)).ok();
        message.filter(|message| sealed.is_some() || *message == ToHost::Alive)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Host directory that is exported to the guest over 9p.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Export {
    pub tag: String,
    pub path: PathBuf,
}

/// Control line from the guest to the host.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ToHost {
    /// The command is about to start.
    Ready { clocksource: String },
    /// Heartbeat of the guest's init, sent at regular intervals.
    Alive,
    /// The command has ended; sent once the output and the files of the command are on the host.
    Exit { code: u8 },
    /// The guest could not be set up, or the command could not be started.
    Failed { reason: String },
    /// Reply of an exec session.
    Exec { id: u32, reply: ExecReply },
}

/// Control line from the host to the guest.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ToGuest {
    /// Signal to send to the command's process group.
    Signal { number: i32 },
    /// Request of an exec session.
    Exec { id: u32, request: ExecRequest },
}

#[cfg(test)]
mod tests {
    use lab_fuzz::fuzz_json;

    use super::*;
    use crate::exec::{Bytes, ExecRequest};

    fn lines<T: Serialize>(messages: &[T]) -> Vec<Vec<u8>> {
        let lines = messages.iter().map(serde_json::to_vec);
        lines.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_damaged_line_of_the_guest_is_read_or_refused() {
        let messages = [
            ToHost::Ready {
                clocksource: "tsc".to_owned(),
            },
            ToHost::Alive,
            ToHost::Exit { code: 4 },
            ToHost::Failed {
                reason: "no module".to_owned(),
            },
            ToHost::Exec {
                id: 3,
                reply: ExecReply::Stdout(Bytes(vec![0, 255, 10])),
            },
        ];
        fuzz_json::<ToHost>("line of a guest", &lines(&messages));
    }

    #[test]
    fn only_the_guests_init_says_more_than_that_it_is_alive() {
        let token = Token::random().unwrap();
        let other = Token::random().unwrap();
        let exit = ToHost::Exit { code: 4 };
        let open = |line: &[u8]| token.open(line);
        let written = |by: &Token, message: &ToHost| {
            let line = by.seal(message).unwrap();
            let lines = line.split(|&byte| byte == b'\n');
            lines.filter_map(open).collect::<Vec<_>>()
        };
        assert_eq!(written(&token, &exit), std::slice::from_ref(&exit));
        assert_eq!(written(&token, &ToHost::Alive), [ToHost::Alive]);
        assert_eq!(written(&other, &exit), []);
        assert_eq!(open(br#"{"exit":{"code":0}}"#), None);
        // Text of another program on the same line must not prevent recognition.
        let mut line = b"no end of line".to_vec();
        line.extend(token.seal(&exit).unwrap());
        let mut lines = line.split(|&byte| byte == b'\n').filter_map(open);
        assert_eq!((lines.next(), lines.next()), (Some(exit), None));
    }

    #[test]
    fn a_damaged_line_to_the_guest_is_read_or_refused() {
        let messages = [
            ToGuest::Signal { number: 2 },
            ToGuest::Exec {
                id: 3,
                request: ExecRequest::Input(Bytes(vec![0, 255, 10])),
            },
        ];
        fuzz_json::<ToGuest>("line to a guest", &lines(&messages));
    }
}
