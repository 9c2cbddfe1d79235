//! Process of the command that a guest runs.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::CommandExt,
    },
    path::PathBuf,
    process::{ChildStderr, ChildStdout, Command, Stdio},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{Signal, killpg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use super::{
    error::InsideError,
    ports::Ports,
    variables::{ACCEL_VARIABLE, CLOCK_VARIABLE, GUEST_VARIABLE, PROGRESS_VARIABLE},
};
use crate::{
    retry::uninterrupted,
    wire::{InnerRequest, STDERR_PORT, STDOUT_PORT},
};

/// Running command, with the pipes of its output.
pub(crate) struct Running {
    pid: Pid,
    /// Pipe for standard output; `None` if the host's standard output is a terminal, because the command then writes to
    /// the serial port directly.
    stdout: Option<ChildStdout>,
    /// Pipe for standard error; `None` if the host's standard error is a terminal.
    stderr: Option<ChildStderr>,
}

impl Running {
    /// Starts the request's command as the leader of a process group.
    pub(crate) fn start(request: &InnerRequest, ports: &Ports) -> Result<Self, InsideError> {
        let path = request.argv.first().map(PathBuf::from).unwrap_or_default();
        let spawned = output(&ports.stdout, request.terminal.stdout).and_then(|stdout| {
            Command::new(&path)
                .args(request.argv.iter().skip(1))
                .current_dir(&request.cwd)
                .env_clear()
                .envs(environment(request))
                .stdin(Stdio::null())
                .stdout(stdout)
                .stderr(output(&ports.stderr, request.terminal.stderr)?)
                .process_group(0)
                .spawn()
        });
        let mut child = spawned.map_err(|source| InsideError::Command {
            command: path,
            cwd: request.cwd.clone(),
            source,
        })?;
        Ok(Self {
            pid: Pid::from_raw(child.id().cast_signed()),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
        })
    }

    /// Returns the open output pipes, so that they can be polled.
    pub(crate) fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.stdout
            .iter()
            .map(AsFd::as_fd)
            .chain(self.stderr.iter().map(AsFd::as_fd))
    }

    /// Reads once from each readable output pipe and forwards the bytes to the serial ports.
    pub(crate) fn forward_available(&mut self, ports: &mut Ports) -> Result<(), InsideError> {
        forward(&mut self.stdout, &mut ports.stdout).map_err(InsideError::port(STDOUT_PORT))?;
        forward(&mut self.stderr, &mut ports.stderr).map_err(InsideError::port(STDERR_PORT))
    }

    /// Forwards all output to the serial ports until the pipes are closed.
    pub(crate) fn forward_rest(&mut self, ports: &mut Ports) -> Result<(), InsideError> {
        forward_all(&mut self.stdout, &mut ports.stdout).map_err(InsideError::port(STDOUT_PORT))?;
        forward_all(&mut self.stderr, &mut ports.stderr).map_err(InsideError::port(STDERR_PORT))
    }

    /// Forwards all output that is in the pipes now to the serial ports. Pipes to which other processes may still write
    /// stay open.
    pub(crate) fn forward_pending(&mut self, ports: &mut Ports) -> Result<(), InsideError> {
        while self.pipes().any(is_readable) {
            self.forward_available(ports)?;
        }
        Ok(())
    }

    /// Sends a signal to the command's process group.
    pub(crate) fn signal(&self, number: i32) {
        signal_group(self.pid, number);
    }

    /// Returns the process id of the command, which leads its process group.
    pub(crate) const fn pid(&self) -> Pid {
        self.pid
    }
}

/// Sends a signal to a process group.
pub(crate) fn signal_group(leader: Pid, number: i32) {
    let sent = Signal::try_from(number).and_then(|signal| killpg(leader, signal));
    // An error is not fatal, because the group may have just ended.
    if let Err(error) = sent {
        eprintln!("guest init: cannot send signal {number}: {error}");
    }
}

/// Reaps one ended process and returns its process id and exit code; `None` if no process has ended.
pub(crate) fn reap() -> nix::Result<Option<(Pid, u8)>> {
    loop {
        let (pid, code) = match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) => (pid, code),
            Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, SIGNAL_EXIT_BASE + signal as i32),
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(None),
            Ok(_) => continue,
            Err(error) => return Err(error),
        };
        return Ok(Some((pid, u8::try_from(code).unwrap_or(u8::MAX))));
    }
}

fn output(port: &File, is_terminal: bool) -> io::Result<Stdio> {
    if is_terminal {
        Ok(port.try_clone()?.into())
    } else {
        Ok(Stdio::piped())
    }
}

/// Returns the environment of every command in the guest.
pub(crate) fn environment(request: &InnerRequest) -> Vec<(String, String)> {
    let progress = if request.terminal.stderr {
        "bar"
    } else {
        "plain"
    };
    let mut environment = vec![("PATH".to_owned(), PATH.to_owned())];
    environment.extend(request.env.iter().cloned());
    if let Some((columns, rows)) = request.terminal.size {
        environment.push(("COLUMNS".to_owned(), columns.to_string()));
        environment.push(("LINES".to_owned(), rows.to_string()));
    }
    let facts = [
        (GUEST_VARIABLE, "1"),
        (CLOCK_VARIABLE, request.clock.name()),
        (ACCEL_VARIABLE, request.accelerator.name()),
        (PROGRESS_VARIABLE, progress),
    ];
    environment.extend(facts.map(|(name, value)| (name.to_owned(), value.to_owned())));
    environment
}

/// Forwards the bytes of one read to `port` if the pipe is readable; closes a pipe that has ended.
fn forward<R: Read + AsFd>(pipe: &mut Option<R>, port: &mut File) -> io::Result<()> {
    let Some(open) = pipe else { return Ok(()) };
    if !is_readable(open.as_fd()) {
        return Ok(());
    }
    let mut buffer = [0; 4096];
    let count = uninterrupted(|| open.read(&mut buffer))?;
    if count == 0 {
        *pipe = None;
    }
    port.write_all(&buffer[..count])
}

/// Returns true if a read from the pipe would not block.
fn is_readable(pipe: BorrowedFd<'_>) -> bool {
    let mut ready = [PollFd::new(pipe, PollFlags::POLLIN)];
    uninterrupted(|| Ok(poll(&mut ready, PollTimeout::ZERO)?)).is_ok_and(|count| count > 0)
}

/// Forwards the bytes of a pipe to `port` until the pipe's end.
fn forward_all<R: Read>(pipe: &mut Option<R>, port: &mut File) -> io::Result<()> {
    let Some(mut open) = pipe.take() else {
        return Ok(());
    };
    // `io::copy` is not used: on a pipe it calls `splice`, which std does not repeat after a signal.
    let mut buffer = [0; 4096];
    loop {
        match uninterrupted(|| open.read(&mut buffer))? {
            0 => return Ok(()),
            count => port.write_all(&buffer[..count])?,
        }
    }
}

/// Default `PATH`; the request's environment may override it.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Offset of exit codes for processes ended by a signal: the code is this number plus the signal's number, as in
/// shells.
const SIGNAL_EXIT_BASE: i32 = 128;
