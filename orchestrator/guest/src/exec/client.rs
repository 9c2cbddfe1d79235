//! Client of an exec session, which connects this process's standard streams to a command in a guest.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM},
    iterator::Signals,
};
use thiserror::Error;

use super::{Bytes, ExecReply, ExecRequest, INPUT_WINDOW, MAX_REQUEST, Start};
use crate::{Terminal, retry::uninterrupted};

/// Reason why the command of an exec session did not run to its end.
#[derive(Debug, Error)]
pub enum ExecError {
    #[error("cannot connect to the guest at `{}`: {source}", socket.display())]
    Unreachable { socket: PathBuf, source: io::Error },
    #[error(
        "the command is too long: its request has {length} bytes, but the maximum is {MAX_REQUEST}"
    )]
    TooLong { length: usize },
    #[error("the guest refused the command: {reason}")]
    Refused { reason: String },
    #[error("the guest ended before the command")]
    GuestEnded,
    #[error("cannot {what}: {source}")]
    Here {
        what: &'static str,
        source: io::Error,
    },
}

/// Runs a command in the guest with the exec socket `socket` and returns its exit code, or 128 plus
/// the number of the signal that ended it.
///
/// The words in `words` follow the prefix in [`crate::ExecConfig`]. The command is connected to this process's standard
/// streams, and receives its signals. The command is killed when this process ends. Fails if the guest cannot be
/// reached, refuses the command, or ends first.
pub fn run(socket: &Path, words: Vec<std::ffi::OsString>) -> Result<u8, ExecError> {
    let stream =
        uninterrupted(|| UnixStream::connect(socket)).map_err(|source| ExecError::Unreachable {
            socket: socket.to_owned(),
            source,
        })?;
    let replies = stream.try_clone().map_err(here("use the socket"))?;
    let requests = Requests(Arc::new(Mutex::new(stream)));
    let terminal = Terminal::of_this_process();
    let size = terminal.size.unwrap_or(DEFAULT_SIZE);
    let start = line(&ExecRequest::Start(Start {
        words,
        cwd: std::env::current_dir().map_err(here("find the working directory"))?,
        terminal: terminal.stdout.then_some(size),
    }));
    let length = start.len();
    if length > MAX_REQUEST {
        return Err(ExecError::TooLong { length });
    }
    requests.send_line(&start);
    forward_signals(requests.clone()).map_err(here("listen to signals"))?;
    let (acks, acked) = mpsc::channel();
    let input = requests.clone();
    thread::spawn(move || forward_input(&input, &acked));
    handle_replies(BufReader::new(replies), &requests, &acks)
}

/// Writes the output in `replies` to this process's streams until the last reply; returns that reply's exit code.
fn handle_replies(
    mut replies: impl BufRead,
    requests: &Requests,
    acks: &Sender<usize>,
) -> Result<u8, ExecError> {
    let mut line = Vec::new();
    loop {
        line.clear();
        // A closed socket and an incomplete line both mean that the guest has ended.
        let _ = replies.read_until(b'\n', &mut line);
        let reply = serde_json::from_slice(&line).map_err(|_| ExecError::GuestEnded)?;
        let (written, count) = match reply {
            ExecReply::Stdout(Bytes(bytes)) => (write(io::stdout(), &bytes), bytes.len()),
            ExecReply::Stderr(Bytes(bytes)) => (write(io::stderr(), &bytes), bytes.len()),
            ExecReply::Ack(count) => {
                // The call fails only after the end of input, when the input thread has ended.
                let _ = acks.send(count);
                continue;
            }
            ExecReply::Exit(code) => return Ok(code),
            ExecReply::Refused(reason) => return Err(ExecError::Refused { reason }),
        };
        match written {
            Ok(()) => requests.send(&ExecRequest::Ack(count)),
            // In the same situation, SIGPIPE would end a local command.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(u8::try_from(128 + SIGPIPE).unwrap_or(u8::MAX));
            }
            Err(source) => return Err(here("write the command's output")(source)),
        }
    }
}

fn write(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

/// Sender of requests, shared by threads. Errors are ignored here, because the reader of replies detects a closed
/// socket.
#[derive(Clone)]
struct Requests(Arc<Mutex<UnixStream>>);

impl Requests {
    fn send(&self, request: &ExecRequest) {
        self.send_line(&line(request));
    }

    fn send_line(&self, line: &[u8]) {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.write_all(line);
    }
}

fn line(request: &ExecRequest) -> Vec<u8> {
    let mut line = serde_json::to_vec(request).expect("a request is plain data");
    line.push(b'\n');
    line
}

fn forward_signals(requests: Requests) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    thread::spawn(move || {
        for (signal, before) in signals.forever().zip(0..) {
            if before == FORWARDED_SIGNALS {
                std::process::exit(128 + signal);
            }
            requests.send(&ExecRequest::Signal(signal));
        }
    });
    Ok(())
}

/// Forwards standard input, with at most [`INPUT_WINDOW`] unacknowledged bytes.
fn forward_input(requests: &Requests, acked: &Receiver<usize>) {
    let mut stdin = io::stdin();
    let mut left = INPUT_WINDOW;
    let mut buffer = [0; INPUT_WINDOW];
    loop {
        left += acked.try_iter().sum::<usize>();
        while left == 0 {
            match acked.recv() {
                Ok(count) => left += count,
                Err(_) => return,
            }
        }
        match uninterrupted(|| stdin.read(&mut buffer[..left])) {
            Ok(count @ 1..) => {
                left -= count;
                requests.send(&ExecRequest::Input(Bytes(buffer[..count].to_vec())));
            }
            _ => return requests.send(&ExecRequest::InputEnd),
        }
    }
}

fn here(what: &'static str) -> impl Fn(io::Error) -> ExecError {
    move |source| ExecError::Here { what, source }
}

/// Columns and rows of a terminal that does not report its size.
const DEFAULT_SIZE: (u16, u16) = (80, 24);

/// Number of signals that are forwarded to the command. The next signal ends this process and thereby kills the
/// command.
const FORWARDED_SIGNALS: u32 = 2;
