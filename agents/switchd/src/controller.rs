//! The agent's end of the controller's socket: JSON values, one per line, in both directions.

use std::{
    collections::VecDeque,
    io::{self, Read},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::net::UnixStream,
    },
    time::Duration,
};

use lab_abi::wire::{AgentCommand, AgentMessage};
use nix::{
    errno::Errno,
    sys::socket::{MsgFlags, send},
};

use crate::SwitchdError;

/// Maximum backlog of messages if the controller does not read, bytes; further messages are dropped.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// Maximum length of a line from the controller, bytes. The longest are configurations with trained weights.
const MAX_LINE_BYTES: usize = 16 << 20;

/// Maximum wait for the controller to read the last messages.
const CLOSING_TIME: Duration = Duration::from_secs(10);

/// Connection to the controller, with the messages that wait to be sent.
pub(crate) struct ControllerConnection {
    stream: UnixStream,
    waiting: VecDeque<u8>,
    received: Vec<u8>,
    /// Number of messages in this repetition that were dropped because the controller did not read them.
    pub(crate) messages_lost: u64,
}

/// Commands that the controller has sent, and the state of its socket.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Commands in the order of arrival.
    pub(crate) commands: Vec<AgentCommand>,
    /// True if the controller has closed the socket.
    pub(crate) is_closed: bool,
}

impl ControllerConnection {
    /// Connects to the socket at `path`.
    pub(crate) fn connect(path: &str) -> Result<Self, SwitchdError> {
        let failed = |source| SwitchdError::Connect {
            path: path.to_owned(),
            source,
        };
        let stream = loop {
            match UnixStream::connect(path) {
                // A signal interrupted the call while the listener's accept queue was full.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                connected => break connected.map_err(failed)?,
            }
        };
        stream.set_nonblocking(true).map_err(failed)?;
        Ok(Self {
            stream,
            waiting: VecDeque::new(),
            received: Vec::new(),
            messages_lost: 0,
        })
    }

    /// Queues `message` and sends as much as the socket accepts. If the backlog would exceed [`MAX_WAITING_BYTES`], the
    /// message is dropped and counted.
    pub(crate) fn send(&mut self, message: &AgentMessage) {
        let Some(line) = line_of(message) else {
            return;
        };
        if self.waiting.len() + line.len() > MAX_WAITING_BYTES {
            self.messages_lost += 1;
            return;
        }
        self.waiting.extend(line);
        self.flush();
    }

    /// Queues `message` regardless of the size of the backlog, and sends as much as the socket accepts. Meant for the
    /// last few messages, which include the number of lost messages.
    pub(crate) fn send_past_limit(&mut self, message: &AgentMessage) {
        self.waiting.extend(line_of(message).unwrap_or_default());
        self.flush();
    }

    /// Returns true if messages wait until the socket accepts them.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sends as much as the socket accepts; [`Self::receive`] reports a closed socket.
    pub(crate) fn flush(&mut self) {
        while !self.waiting.is_empty() {
            let (front, _) = self.waiting.as_slices();
            // Without the flag, SIGPIPE would kill the agent on a closed socket before its cleanup.
            match send(self.stream.as_raw_fd(), front, MsgFlags::MSG_NOSIGNAL) {
                Ok(sent) => {
                    self.waiting.drain(..sent);
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(_) => {
                    self.waiting.clear();
                    return;
                }
            }
        }
    }

    /// Reads all pending input without waiting.
    pub(crate) fn receive(&mut self) -> Result<Received, SwitchdError> {
        let mut received = Received::default();
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(count @ 1..) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(0) | Err(_) => {
                    received.is_closed = true;
                    break;
                }
            }
            self.take_lines(&mut received.commands)?;
        }
        Ok(received)
    }

    /// Sends the last message of a repetition, and waits until the controller has read all messages.
    pub(crate) fn finish(&mut self, last: &AgentMessage) {
        self.send_past_limit(last);
        let timed = self.stream.set_write_timeout(Some(CLOSING_TIME));
        if timed
            .and_then(|()| self.stream.set_nonblocking(false))
            .is_ok()
        {
            self.flush();
        }
        if self.is_waiting() {
            let bytes = self.waiting.len();
            tracing::warn!(bytes, "the controller did not read all messages");
        }
        self.messages_lost = 0;
        if let Err(error) = self.stream.set_nonblocking(true) {
            tracing::warn!(%error, "cannot make the controller's socket non-blocking");
        }
    }

    fn take_lines(&mut self, commands: &mut Vec<AgentCommand>) -> Result<(), SwitchdError> {
        let parse = |line: &[u8]| {
            serde_json::from_slice(line).map_err(|source| SwitchdError::Command {
                line: String::from_utf8_lossy(line).into_owned(),
                source,
            })
        };
        while let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            commands.push(parse(line.trim_ascii())?);
        }
        if self.received.len() > MAX_LINE_BYTES {
            let line = std::mem::take(&mut self.received);
            commands.push(parse(&line[..MAX_LINE_BYTES])?);
        }
        Ok(())
    }
}

/// Returns `message` as a JSON line; `None`, after an error in the log, if it cannot be serialised.
fn line_of(message: &AgentMessage) -> Option<Vec<u8>> {
    match serde_json::to_vec(message) {
        Ok(mut line) => {
            line.push(b'\n');
            Some(line)
        }
        Err(error) => {
            tracing::error!(%error, "cannot serialise a message");
            None
        }
    }
}

impl AsFd for ControllerConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Write},
        os::unix::net::UnixListener,
    };

    use lab_abi::wire::Stats;
    use lab_units::PortId;

    use super::*;

    fn pair() -> (ControllerConnection, UnixStream) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("controller");
        let listener = UnixListener::bind(&path).expect("a socket");
        let agent =
            ControllerConnection::connect(path.to_str().expect("UTF-8")).expect("it listens");
        let (stream, _) = listener.accept().expect("it connected");
        (agent, stream)
    }

    #[test]
    fn commands_are_read_line_by_line_however_they_are_split() {
        let (mut agent, mut controller) = pair();
        let mut send = |text: &str| controller.write_all(text.as_bytes()).expect("written");
        send("{\"set_port\":{\"port\":4,\"is_en");
        assert!(agent.receive().expect("half a line").commands.is_empty());
        send("abled\":false}}\n\"stop\"\n");
        let received = agent.receive().expect("two lines");
        let port = PortId(4);
        let is_enabled = false;
        let set_port = AgentCommand::SetPort { port, is_enabled };
        assert_eq!(received.commands, [set_port, AgentCommand::Stop]);
        assert!(!received.is_closed);
        drop(controller);
        assert!(agent.receive().expect("the end").is_closed);
    }

    #[test]
    fn a_line_that_is_no_command_is_quoted_in_the_error() {
        let (mut agent, mut controller) = pair();
        controller.write_all(b"{\"stpo\":1}\n").expect("written");
        let error = agent.receive().expect_err("no command").to_string();
        let expected = "the controller sent `{\"stpo\":1}`, which is not a command";
        assert_eq!(error, expected);
    }

    #[test]
    fn messages_past_the_largest_backlog_are_counted_and_the_others_arrive_whole() {
        let (mut agent, controller) = pair();
        let message = AgentMessage::Error {
            message: "x".repeat(1 << 20),
        };
        for _ in 0..20 {
            agent.send(&message);
        }
        assert!(agent.messages_lost > 0 && agent.is_waiting());
        let lost = usize::try_from(agent.messages_lost).expect("few");
        let reader = std::thread::spawn(move || BufReader::new(controller).lines().count());
        agent.finish(&AgentMessage::Bye);
        drop(agent);
        assert_eq!(reader.join().expect("it reads"), 20 - lost + 1);
    }

    #[test]
    fn a_full_backlog_loses_neither_the_number_of_lost_messages_nor_the_farewell() {
        let (mut agent, controller) = pair();
        for length in [1 << 20, 1 << 10, 1] {
            let lost = agent.messages_lost;
            let message = AgentMessage::Error {
                message: "x".repeat(length),
            };
            while agent.messages_lost == lost {
                agent.send(&message);
            }
        }
        assert_eq!(agent.messages_lost, 3);
        let stats = AgentMessage::Stats(Stats {
            messages_lost: agent.messages_lost,
            ..Stats::default()
        });
        agent.send_past_limit(&stats);
        let reader = std::thread::spawn(move || {
            BufReader::new(controller)
                .lines()
                .map(|line| line.expect("a line"))
                .collect::<Vec<_>>()
        });
        agent.finish(&AgentMessage::Bye);
        drop(agent);
        let lines = reader.join().expect("it reads");
        let last: Vec<AgentMessage> = lines[lines.len() - 2..]
            .iter()
            .map(|line| serde_json::from_str(line).expect("a message"))
            .collect();
        assert_eq!(last, [stats, AgentMessage::Bye]);
    }
}
