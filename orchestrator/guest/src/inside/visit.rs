//! One command that came in while the guest runs.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::{Child, Command, Stdio},
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags},
    pty::{OpenptyResult, openpty},
    sys::{
        signal::{SigSet, Signal},
        termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr},
    },
    unistd::Pid,
};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::{
    exec::talk::{Answer, Bytes, CHUNK, OUTPUT_WINDOW, Order, Start},
    inside::command::{environment, signal_group},
    wire::InnerRequest,
};

/// A command and its streams.
#[derive(Debug)]
pub(crate) struct Visit {
    pid: Pid,
    stdin: Option<File>,
    /// Input the command has not read yet.
    input: Vec<u8>,
    /// Nothing follows that input.
    input_ended: bool,
    stdout: Option<File>,
    stderr: Option<File>,
    /// Bytes of output the client has not passed on yet.
    in_flight: usize,
    /// Its exit code, once it has ended.
    ended: Option<u8>,
}

impl Visit {
    /// Starts a command as the leader of a process group.
    pub(crate) fn start(request: &InnerRequest, start: Start) -> io::Result<Self> {
        let mut words = request.exec_prefix.iter().chain(&start.words);
        let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        let cwd = match start.cwd.is_dir() {
            true => &start.cwd,
            false => Path::new("/"),
        };
        command
            .args(words)
            .current_dir(cwd)
            .env_clear()
            .envs(environment(request))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let terminal = start.terminal.map(raw_terminal).transpose()?;
        let master = match terminal {
            Some(OpenptyResult { master, slave }) => {
                command.stdout(slave);
                Some(master)
            }
            None => None,
        };
        let mut child = spawn(&mut command)?;
        // With the terminal's other end open here, reading it would never end.
        drop(command);
        let stdout = master.or_else(|| child.stdout.take().map(OwnedFd::from));
        Ok(Self {
            pid: Pid::from_raw(child.id().cast_signed()),
            stdin: child.stdin.take().map(unblocked).transpose()?,
            input: Vec::new(),
            input_ended: false,
            stdout: stdout.map(unblocked).transpose()?,
            stderr: child.stderr.take().map(unblocked).transpose()?,
            in_flight: 0,
            ended: None,
        })
    }

    /// The process that leads it.
    pub(crate) const fn pid(&self) -> Pid {
        self.pid
    }

    /// Takes an order.
    pub(crate) fn take(&mut self, order: Order) {
        match order {
            Order::Start(_) => {}
            Order::Input(Bytes(bytes)) => self.input.extend(bytes),
            Order::InputEnd => self.input_ended = true,
            Order::Taken(count) => self.in_flight = self.in_flight.saturating_sub(count),
            Order::Signal(number) => signal_group(self.pid, number),
            Order::Abandon => signal_group(self.pid, Signal::SIGKILL as i32),
        }
    }

    /// Notes that the command has ended.
    pub(crate) const fn end(&mut self, code: u8) {
        self.ended = Some(code);
    }

    /// What to wait for.
    pub(crate) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let has_room = self.room().is_some();
        let outputs = [&self.stdout, &self.stderr].into_iter().flatten();
        let outputs = outputs
            .filter(move |_| has_room)
            .map(|output| PollFd::new(output.as_fd(), PollFlags::POLLIN));
        let stdin = self.stdin.iter().filter(|_| !self.input.is_empty());
        outputs.chain(stdin.map(|stdin| PollFd::new(stdin.as_fd(), PollFlags::POLLOUT)))
    }

    /// Passes on what can be passed on now, and says so by `say`; after the last answer nothing is
    /// left of the command.
    pub(crate) fn advance<E>(
        &mut self,
        mut say: impl FnMut(Answer) -> Result<(), E>,
    ) -> Result<(), E> {
        let written = self.pass_input();
        if written > 0 {
            say(Answer::Taken(written))?;
        }
        while let Some(bytes) = self.room().and_then(|()| read(&mut self.stdout)) {
            self.in_flight += bytes.len();
            say(Answer::Stdout(Bytes(bytes)))?;
        }
        while let Some(bytes) = self.room().and_then(|()| read(&mut self.stderr)) {
            self.in_flight += bytes.len();
            say(Answer::Stderr(Bytes(bytes)))?;
        }
        match self.ended {
            // What it wrote before its end has been read, unless there was no room.
            Some(code) if self.room().is_some() => say(Answer::Exit(code)),
            _ => Ok(()),
        }
    }

    /// Whether more output may be on its way.
    fn room(&self) -> Option<()> {
        (self.in_flight < OUTPUT_WINDOW).then_some(())
    }

    /// Writes input to the command; how much is done with. What a command does not read, because it
    /// has closed its input or ended, is done with too.
    fn pass_input(&mut self) -> usize {
        let Some(stdin) = &mut self.stdin else {
            return std::mem::take(&mut self.input).len();
        };
        let written = match stdin.write(&self.input) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => {
                self.stdin = None;
                return self.pass_input();
            }
        };
        self.input.drain(..written);
        if self.input.is_empty() && self.input_ended {
            self.stdin = None;
        }
        written
    }
}

/// Starts a command that hears of its own ended children: it inherits the signals that are blocked.
/// Those of ours that end meanwhile are not announced, so look for them next.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    signals.thread_unblock()?;
    let child = command.spawn();
    signals.thread_block()?;
    child
}

/// Reads what a stream holds now; closes one that has ended.
fn read(stream: &mut Option<File>) -> Option<Vec<u8>> {
    let mut buffer = vec![0; CHUNK];
    match stream.as_mut()?.read(&mut buffer) {
        Ok(count @ 1..) => {
            buffer.truncate(count);
            Some(buffer)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        // A terminal ends with an error.
        _ => {
            *stream = None;
            None
        }
    }
}

/// A terminal of a size that passes every byte as it is: the one the bytes end up on is the client's.
fn raw_terminal((columns, rows): (u16, u16)) -> io::Result<OpenptyResult> {
    let terminal = openpty(None, None)?;
    let mut attributes = tcgetattr(&terminal.slave)?;
    cfmakeraw(&mut attributes);
    tcsetattr(&terminal.slave, SetArg::TCSANOW, &attributes)?;
    let size = Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal.slave, size)?;
    Ok(terminal)
}

fn unblocked(file: impl Into<OwnedFd>) -> io::Result<File> {
    let file = File::from(file.into());
    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(file)
}
