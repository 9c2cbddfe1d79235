//! The other side of the door: one command, with this process's standard streams as its own.

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

use super::talk::{Answer, Bytes, INPUT_WINDOW, MAX_ORDER, Order, Start};
use crate::Terminal;

/// Why a command did not run to its end in a guest.
#[derive(Debug, Error)]
pub enum ExecError {
    /// The process that owns the guest cannot be reached.
    #[error("cannot reach the guest by `{}`: {source}", socket.display())]
    Unreachable {
        /// The door.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The command has too many words to be asked for.
    #[error("the command is too long: asking for it takes {length} bytes, at most {MAX_ORDER}")]
    TooLong {
        /// Bytes of the request.
        length: usize,
    },
    /// The command was not started.
    #[error("the guest does not run it: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// The guest ended first.
    #[error("the guest ended before the command")]
    GuestEnded,
    /// The streams of this process cannot be used.
    #[error("cannot {what}: {source}")]
    Here {
        /// What was tried.
        what: &'static str,
        /// Why it did not work.
        source: io::Error,
    },
}

/// Runs a command in the guest whose door is at `socket` and waits for its end; its exit code, or
/// 128 plus the signal that ended it.
///
/// `words` follow the words that the door's owner puts before every command. Standard input is passed
/// in, standard output and standard error come out apart, and signals that would end this process are
/// passed to the command. When this process goes, the command is ended.
///
/// # Errors
///
/// Fails when the guest cannot be reached, does not start the command, or ends before it.
pub fn run(socket: &Path, words: Vec<std::ffi::OsString>) -> Result<u8, ExecError> {
    let stream = UnixStream::connect(socket).map_err(|source| ExecError::Unreachable {
        socket: socket.to_owned(),
        source,
    })?;
    let answers = stream.try_clone().map_err(here("use the socket"))?;
    let orders = Orders(Arc::new(Mutex::new(stream)));
    let terminal = Terminal::of_this_process();
    let start = line(&Order::Start(Start {
        words,
        cwd: std::env::current_dir().map_err(here("find the working directory"))?,
        terminal: terminal
            .stdout
            .then(|| terminal.size.unwrap_or(DEFAULT_SIZE)),
    }));
    if start.len() > MAX_ORDER {
        let length = start.len();
        return Err(ExecError::TooLong { length });
    }
    orders.send(&start);
    pass_signals(orders.clone()).map_err(here("listen to signals"))?;
    let (taken, room) = mpsc::channel();
    let input = orders.clone();
    thread::spawn(move || pass_input(&input, &room));
    follow(BufReader::new(answers), &orders, &taken)
}

/// Passes answers on until the last.
fn follow(
    mut answers: impl BufRead,
    orders: &Orders,
    taken: &Sender<usize>,
) -> Result<u8, ExecError> {
    let mut line = Vec::new();
    loop {
        line.clear();
        // A closed socket and a torn line both mean that the other side is gone.
        let _ = answers.read_until(b'\n', &mut line);
        let answer = serde_json::from_slice(&line).map_err(|_| ExecError::GuestEnded)?;
        let (written, count) = match answer {
            Answer::Stdout(Bytes(bytes)) => (pass(io::stdout(), &bytes), bytes.len()),
            Answer::Stderr(Bytes(bytes)) => (pass(io::stderr(), &bytes), bytes.len()),
            Answer::Taken(count) => {
                // The thread that reads input has ended with it.
                let _ = taken.send(count);
                continue;
            }
            Answer::Exit(code) => return Ok(code),
            Answer::Refused(reason) => return Err(ExecError::Refused { reason }),
        };
        match written {
            Ok(()) => orders.give(&Order::Taken(count)),
            // Here the command would be ended by this signal.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(u8::try_from(128 + SIGPIPE).unwrap_or(u8::MAX));
            }
            Err(source) => return Err(here("write the command's output")(source)),
        }
    }
}

fn pass(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

/// The way to the door, for several threads.
#[derive(Clone)]
struct Orders(Arc<Mutex<UnixStream>>);

impl Orders {
    fn give(&self, order: &Order) {
        self.send(&line(order));
    }

    /// That the other side is gone is what the end of its answers tells.
    fn send(&self, line: &[u8]) {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.write_all(line);
    }
}

fn line(order: &Order) -> Vec<u8> {
    let mut line = serde_json::to_vec(order).expect("an order is plain data");
    line.push(b'\n');
    line
}

fn pass_signals(orders: Orders) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    thread::spawn(move || {
        for (signal, before) in signals.forever().zip(0..) {
            if before == PASSED_SIGNALS {
                std::process::exit(128 + signal);
            }
            orders.give(&Order::Signal(signal));
        }
    });
    Ok(())
}

/// Passes standard input in, never more than the window beyond what `room` says was taken.
fn pass_input(orders: &Orders, room: &Receiver<usize>) {
    let mut stdin = io::stdin();
    let mut left = INPUT_WINDOW;
    let mut buffer = [0; INPUT_WINDOW];
    loop {
        left += room.try_iter().sum::<usize>();
        while left == 0 {
            match room.recv() {
                Ok(count) => left += count,
                Err(_) => return,
            }
        }
        match stdin.read(&mut buffer[..left]) {
            Ok(count @ 1..) => {
                left -= count;
                orders.give(&Order::Input(Bytes(buffer[..count].to_vec())));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return orders.give(&Order::InputEnd),
        }
    }
}

fn here(what: &'static str) -> impl Fn(io::Error) -> ExecError {
    move |source| ExecError::Here { what, source }
}

/// Columns and rows of a terminal that does not say, as ever.
const DEFAULT_SIZE: (u16, u16) = (80, 24);

/// A command that two signals do not end is abandoned at the third, and killed by that.
const PASSED_SIGNALS: u32 = 2;
