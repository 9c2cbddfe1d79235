//! Exec sessions in the guest: their commands and the commands' streams.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::{Path, PathBuf},
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
use rustix::termios::tcsetwinsize;

use super::{
    command::{environment, signal_group},
    error::InsideError,
    ports::{Ports, window_size},
};
use crate::{
    exec::{Bytes, CHUNK, ExecReply, ExecRequest, OUTPUT_WINDOW, Start},
    retry::uninterrupted,
    wire::{GUEST_DIR, InnerRequest, ToHost},
};

/// Returns the number of exec sessions that have started in this guest so far.
pub fn exec_session_count() -> io::Result<u64> {
    match fs::read_to_string(count_file()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        count => count?.parse().map_err(io::Error::other),
    }
}

/// Running exec sessions, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct ExecSessions {
    running: BTreeMap<u32, ExecSession>,
    /// Number of sessions that have started so far.
    count: u64,
}

impl ExecSessions {
    /// Handles a client's request; requests for ended sessions are ignored.
    pub(crate) fn handle(
        &mut self,
        id: u32,
        exec: ExecRequest,
        request: &InnerRequest,
        ports: &mut Ports,
    ) -> Result<(), InsideError> {
        match exec {
            ExecRequest::Start(start) => match ExecSession::start(request, start) {
                Ok(session) => {
                    self.running.insert(id, session);
                    self.count += 1;
                    let path = count_file();
                    fs::write(&path, self.count.to_string())
                        .map_err(|source| InsideError::File { path, source })?;
                }
                Err(error) => {
                    let reply = ExecReply::Refused(error.to_string());
                    ports.send(&ToHost::Exec { id, reply })?;
                }
            },
            exec => {
                if let Some(session) = self.running.get_mut(&id) {
                    session.handle(exec);
                }
            }
        }
        Ok(())
    }

    /// Records the exit code of an ended process if the process leads a session.
    pub(crate) fn record_end(&mut self, pid: Pid, code: u8) {
        let mut sessions = self.running.values_mut();
        if let Some(session) = sessions.find(|session| session.pid == pid) {
            session.exit_code = Some(code);
        }
    }

    /// Returns the file descriptors to poll for all sessions.
    pub(crate) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.running.values().flat_map(ExecSession::poll_fds)
    }

    /// Forwards all input and output that is available, and removes sessions that have ended.
    pub(crate) fn advance(&mut self, ports: &mut Ports) -> Result<(), InsideError> {
        let mut ended = Vec::new();
        for (&id, session) in &mut self.running {
            session.advance(|reply| {
                if reply.is_last() {
                    ended.push(id);
                }
                ports.send(&ToHost::Exec { id, reply })
            })?;
        }
        for id in ended {
            self.running.remove(&id);
        }
        Ok(())
    }
}

/// Returns the path of the file that holds the number of sessions started so far.
fn count_file() -> PathBuf {
    PathBuf::from(GUEST_DIR).join("commands")
}

/// Command of an exec session, with its streams.
#[derive(Debug)]
struct ExecSession {
    pid: Pid,
    stdin: Option<File>,
    /// Input that the command has not accepted yet.
    input: Vec<u8>,
    /// True if the client has sent all input.
    input_ended: bool,
    stdout: Option<File>,
    stderr: Option<File>,
    /// Number of output bytes that the client has not acknowledged yet.
    unacked: usize,
    /// Exit code of the command; `None` while it runs.
    exit_code: Option<u8>,
}

impl ExecSession {
    /// Starts a command as the leader of a process group.
    fn start(request: &InnerRequest, start: Start) -> io::Result<Self> {
        let mut words = request.exec_prefix.iter().chain(&start.words);
        let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        let cwd = if start.cwd.is_dir() {
            &start.cwd
        } else {
            Path::new("/")
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
        // `command` is dropped because it holds the slave side open, and the master side reports an end of file only
        // after that is closed.
        drop(command);
        let stdout = master.or_else(|| child.stdout.take().map(OwnedFd::from));
        Ok(Self {
            pid: Pid::from_raw(child.id().cast_signed()),
            stdin: child.stdin.take().map(nonblocking).transpose()?,
            input: Vec::new(),
            input_ended: false,
            stdout: stdout.map(nonblocking).transpose()?,
            stderr: child.stderr.take().map(nonblocking).transpose()?,
            unacked: 0,
            exit_code: None,
        })
    }

    fn handle(&mut self, request: ExecRequest) {
        match request {
            ExecRequest::Start(_) => {}
            ExecRequest::Input(Bytes(bytes)) => self.input.extend(bytes),
            ExecRequest::InputEnd => self.input_ended = true,
            ExecRequest::Ack(count) => self.unacked = self.unacked.saturating_sub(count),
            ExecRequest::Signal(number) => signal_group(self.pid, number),
            ExecRequest::Abandon => signal_group(self.pid, Signal::SIGKILL as i32),
        }
    }

    fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let has_room = self.has_room();
        let outputs = [&self.stdout, &self.stderr]
            .into_iter()
            .flatten()
            .filter(move |_| has_room)
            .map(|output| PollFd::new(output.as_fd(), PollFlags::POLLIN));
        let stdin = self.stdin.iter().filter(|_| !self.input.is_empty());
        outputs.chain(stdin.map(|stdin| PollFd::new(stdin.as_fd(), PollFlags::POLLOUT)))
    }

    /// Forwards all input and output that is available. Sends the exit code once the command has ended and all its
    /// output has been read.
    fn advance<E>(&mut self, mut send: impl FnMut(ExecReply) -> Result<(), E>) -> Result<(), E> {
        let written = self.write_input();
        if written > 0 {
            send(ExecReply::Ack(written))?;
        }
        let stdout = &mut self.stdout;
        let stderr = &mut self.stderr;
        for (stream, reply) in [
            (stdout, ExecReply::Stdout as fn(_) -> _),
            (stderr, ExecReply::Stderr),
        ] {
            while self.unacked < OUTPUT_WINDOW
                && let Some(bytes) = read(stream)
            {
                self.unacked += bytes.len();
                send(reply(Bytes(bytes)))?;
            }
        }
        match self.exit_code {
            // If the window still has room, the loops above have read all output.
            Some(code) if self.has_room() => send(ExecReply::Exit(code)),
            _ => Ok(()),
        }
    }

    /// Returns true if more output may be sent: fewer bytes are unacknowledged than the window allows.
    const fn has_room(&self) -> bool {
        self.unacked < OUTPUT_WINDOW
    }

    /// Writes input to the command, and returns the number of bytes written or discarded. Input for a closed stream is
    /// discarded.
    fn write_input(&mut self) -> usize {
        let Some(stdin) = &mut self.stdin else {
            return std::mem::take(&mut self.input).len();
        };
        let written = match uninterrupted(|| stdin.write(&self.input)) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => {
                self.stdin = None;
                return self.write_input();
            }
        };
        self.input.drain(..written);
        if self.input.is_empty() && self.input_ended {
            self.stdin = None;
        }
        written
    }
}

/// Starts a command with SIGCHLD unblocked, because a command inherits the signal mask. A child that ends while SIGCHLD
/// is unblocked is not reported to this process, which must therefore reap afterwards.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    signals.thread_unblock()?;
    let child = command.spawn();
    signals.thread_block()?;
    child
}

/// Reads the bytes that a stream holds now; closes the stream if it has ended.
fn read(stream: &mut Option<File>) -> Option<Vec<u8>> {
    let mut buffer = vec![0; CHUNK];
    let open = stream.as_mut()?;
    match uninterrupted(|| open.read(&mut buffer)) {
        Ok(count @ 1..) => {
            buffer.truncate(count);
            Some(buffer)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        // At its end, a pseudo-terminal returns an error instead of zero bytes.
        _ => {
            *stream = None;
            None
        }
    }
}

/// Returns a pseudo-terminal in raw mode, which passes all bytes unchanged to the client's terminal.
fn raw_terminal(size: (u16, u16)) -> io::Result<OpenptyResult> {
    let terminal = openpty(None, None)?;
    let mut attributes = tcgetattr(&terminal.slave)?;
    cfmakeraw(&mut attributes);
    tcsetattr(&terminal.slave, SetArg::TCSANOW, &attributes)?;
    tcsetwinsize(&terminal.slave, window_size(size))?;
    Ok(terminal)
}

fn nonblocking(file: impl Into<OwnedFd>) -> io::Result<File> {
    let file = File::from(file.into());
    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(file)
}
