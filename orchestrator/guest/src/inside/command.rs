//! The inner command as a process.

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

use crate::{
    inside::{
        ACCEL_VARIABLE, CLOCK_VARIABLE, GUEST_VARIABLE, PROGRESS_VARIABLE, error::InsideError,
        ports::Ports,
    },
    wire::{InnerRequest, STDERR_PORT, STDOUT_PORT},
};

/// The command while it runs.
pub(crate) struct Running {
    pid: Pid,
    /// Output that does not go to a terminal on the host comes through a pipe, so that the command
    /// does not take the serial port for one.
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Running {
    /// Starts the request's command as the leader of a process group.
    pub(crate) fn start(request: &InnerRequest, ports: &Ports) -> Result<Self, InsideError> {
        let path = request.argv.first().map(PathBuf::from).unwrap_or_default();
        let spawned = output(&ports.stdout, request.stdout_is_terminal).and_then(|stdout| {
            Command::new(&path)
                .args(request.argv.iter().skip(1))
                .current_dir(&request.cwd)
                .env_clear()
                .envs(environment(request))
                .stdin(Stdio::null())
                .stdout(stdout)
                .stderr(output(&ports.stderr, request.stderr_is_terminal)?)
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

    /// The pipes to wait on.
    pub(crate) fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let stdout = self.stdout.iter().map(AsFd::as_fd);
        stdout.chain(self.stderr.iter().map(AsFd::as_fd))
    }

    /// Passes on what the pipes hold now.
    pub(crate) fn pass_available(&mut self, ports: &mut Ports) -> Result<(), InsideError> {
        pass(&mut self.stdout, &mut ports.stdout).map_err(port_error(STDOUT_PORT))?;
        pass(&mut self.stderr, &mut ports.stderr).map_err(port_error(STDERR_PORT))
    }

    /// Passes on all that comes until the pipes are closed.
    pub(crate) fn pass_rest(&mut self, ports: &mut Ports) -> Result<(), InsideError> {
        pass_all(&mut self.stdout, &mut ports.stdout).map_err(port_error(STDOUT_PORT))?;
        pass_all(&mut self.stderr, &mut ports.stderr).map_err(port_error(STDERR_PORT))
    }

    /// Passes on all that the pipes hold, and leaves those open that someone may still write to.
    pub(crate) fn pass_held(&mut self, ports: &mut Ports) -> Result<(), InsideError> {
        while self.pipes().any(is_readable) {
            self.pass_available(ports)?;
        }
        Ok(())
    }

    /// Sends a signal to the command's process group.
    pub(crate) fn signal(&self, number: i32) {
        signal_group(self.pid, number);
    }

    /// The process that leads the command.
    pub(crate) const fn pid(&self) -> Pid {
        self.pid
    }
}

/// Sends a signal to a process group.
pub(crate) fn signal_group(leader: Pid, number: i32) {
    let sent = Signal::try_from(number).and_then(|signal| killpg(leader, signal));
    // It may have ended just now; a number no signal has cannot come from the host's handlers.
    if let Err(error) = sent {
        eprintln!("guest init: signal {number} not sent: {error}");
    }
}

/// Collects the next ended process, with its exit code.
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

/// The environment of every command.
pub(crate) fn environment(request: &InnerRequest) -> Vec<(String, String)> {
    let progress = if request.stderr_is_terminal {
        "bar"
    } else {
        "plain"
    };
    let mut environment = vec![("PATH".to_owned(), PATH.to_owned())];
    environment.extend(request.env.iter().cloned());
    if let Some((columns, rows)) = request.terminal_size {
        environment.push(("COLUMNS".to_owned(), columns.to_string()));
        environment.push(("LINES".to_owned(), rows.to_string()));
    }
    let facts = [
        (GUEST_VARIABLE, "1"),
        (CLOCK_VARIABLE, request.clock.name()),
        (ACCEL_VARIABLE, request.engine.name()),
        (PROGRESS_VARIABLE, progress),
    ];
    environment.extend(facts.map(|(name, value)| (name.to_owned(), value.to_owned())));
    environment
}

/// Passes on what one read gives, and closes a pipe that has ended.
fn pass<R: Read + AsFd>(pipe: &mut Option<R>, port: &mut File) -> io::Result<()> {
    let Some(open) = pipe else { return Ok(()) };
    if !is_readable(open.as_fd()) {
        return Ok(());
    }
    let mut buffer = [0; 4096];
    let count = open.read(&mut buffer)?;
    if count == 0 {
        *pipe = None;
    }
    port.write_all(&buffer[..count])
}

/// Whether a read would not wait.
fn is_readable(pipe: BorrowedFd<'_>) -> bool {
    let mut ready = [PollFd::new(pipe, PollFlags::POLLIN)];
    poll(&mut ready, PollTimeout::ZERO).is_ok_and(|count| count > 0)
}

fn pass_all<R: Read>(pipe: &mut Option<R>, port: &mut File) -> io::Result<()> {
    pipe.take()
        .map_or(Ok(()), |mut open| io::copy(&mut open, port).map(drop))
}

fn port_error(port: &'static str) -> impl Fn(io::Error) -> InsideError {
    move |source| InsideError::Port { port, source }
}

/// Programs of the lab live in these; the request's environment may say otherwise.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Shells add this to the number of the signal that ended a program.
const SIGNAL_EXIT_BASE: i32 = 128;
