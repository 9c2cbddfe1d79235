//! Supervision of the command and the exec sessions: output, signals and exits.

use std::{fs, io, os::fd::AsFd, path::Path};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask},
        signalfd::{SfdFlags, SignalFd},
        time::TimeSpec,
        timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
    time::{ClockId as NixClock, clock_gettime},
    unistd::Pid,
};

use super::{
    command::{Running, reap},
    error::InsideError,
    ports::Ports,
    sessions::ExecSessions,
};
use crate::{
    retry::uninterrupted,
    wire::{InnerRequest, ToGuest, ToHost},
};

/// Supervisor of the running command and the exec sessions.
pub(crate) struct Supervisor<'a> {
    request: &'a InnerRequest,
    ports: &'a mut Ports,
    heartbeat: TimerFd,
    children: SignalFd,
    running: Running,
    sessions: ExecSessions,
}

/// Event sources that are readable now.
struct Ready {
    output: bool,
    control: bool,
    heartbeat: bool,
}

impl<'a> Supervisor<'a> {
    /// Starts the request's command, after telling the host that the guest is ready.
    pub(crate) fn new(
        request: &'a InnerRequest,
        ports: &'a mut Ports,
    ) -> Result<Self, InsideError> {
        let heartbeat = heartbeat().map_err(InsideError::kernel("heartbeat"))?;
        if let Some(size) = request.terminal.size {
            ports.resize(size)?;
        }
        let path = Path::new(CLOCKSOURCE_FILE);
        let clocksource = fs::read_to_string(path).map_err(|source| InsideError::File {
            path: path.to_owned(),
            source,
        })?;
        ports.send(&ToHost::Ready {
            clocksource: clocksource.trim_end().to_owned(),
        })?;
        let running = Running::start(request, ports)?;
        // SIGCHLD is blocked only now, because the command has inherited the signal mask by this time.
        let children = child_signals().map_err(InsideError::kernel("SIGCHLD descriptor"))?;
        Ok(Self {
            request,
            ports,
            heartbeat,
            children,
            running,
            sessions: ExecSessions::default(),
        })
    }

    /// Forwards output and signals until the command has ended; returns the message that reports the command's end.
    pub(crate) fn until_end(&mut self) -> Result<ToHost, InsideError> {
        let code = loop {
            if let Some(code) = self.reap()? {
                break code;
            }
            self.handle_events()?;
        };
        if self.request.stays {
            self.running.forward_pending(self.ports)?;
        } else {
            // Processes that the command has left running would keep output and directories open, so they are killed.
            let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
            self.running.forward_rest(self.ports)?;
        }
        Ok(ToHost::Exit { code })
    }

    /// Sends the message that reports the command's end, and serves exec sessions until the host kills the guest.
    pub(crate) fn stay(mut self, end: &ToHost) -> Result<(), InsideError> {
        self.ports.drain()?;
        self.ports.send(end)?;
        loop {
            self.handle_events()?;
            self.reap()?;
        }
    }

    /// Waits for events and handles them.
    fn handle_events(&mut self) -> Result<(), InsideError> {
        let ready = self
            .wait()
            .map_err(InsideError::kernel("wait for events"))?;
        if ready.output {
            self.running.forward_available(self.ports)?;
        }
        if ready.control {
            for message in self.ports.receive()? {
                self.handle(message)?;
            }
        }
        if ready.heartbeat {
            uninterrupted(|| Ok(self.heartbeat.wait()?))
                .map_err(InsideError::kernel("heartbeat"))?;
            self.ports.send(&ToHost::Alive)?;
        }
        self.sessions.advance(self.ports)
    }

    fn handle(&mut self, message: ToGuest) -> Result<(), InsideError> {
        match message {
            ToGuest::Signal { number } => self.running.signal(number),
            ToGuest::Exec { id, request } => {
                self.sessions
                    .handle(id, request, self.request, self.ports)?;
            }
        }
        Ok(())
    }

    /// Reaps ended processes; returns the exit code of the command if it is among them.
    fn reap(&mut self) -> Result<Option<u8>, InsideError> {
        while let Ok(Some(_)) = self.children.read_signal() {}
        let mut code = None;
        while let Some((pid, its_code)) = reap().map_err(InsideError::kernel("reaping"))? {
            if pid == self.running.pid() {
                code = Some(its_code);
            }
            self.sessions.record_end(pid, its_code);
        }
        self.sessions.advance(self.ports)?;
        Ok(code)
    }

    fn wait(&self) -> io::Result<Ready> {
        let own = [
            self.ports.control.as_fd(),
            self.heartbeat.as_fd(),
            self.children.as_fd(),
        ];
        let output = own.len();
        let mut fds: Vec<_> = own
            .into_iter()
            .chain(self.running.pipes())
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        let sessions = fds.len();
        fds.extend(self.sessions.poll_fds());
        uninterrupted(|| Ok(poll(&mut fds, PollTimeout::NONE)?))?;
        let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
        Ok(Ready {
            control: is_ready(&fds[0]),
            heartbeat: is_ready(&fds[1]),
            output: fds[output..sessions].iter().any(is_ready),
        })
    }
}

/// Blocks SIGCHLD and returns a file descriptor that becomes readable when a child process ends.
fn child_signals() -> nix::Result<SignalFd> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&signals), None)?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
}

/// Returns a timer that expires at whole multiples of its period, and so at the same times in every run.
fn heartbeat() -> io::Result<TimerFd> {
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
    let period = TimeSpec::new(HEARTBEAT_SECONDS, 0);
    let now = clock_gettime(NixClock::CLOCK_MONOTONIC)?;
    let next = (now.tv_sec() / HEARTBEAT_SECONDS + 1) * HEARTBEAT_SECONDS;
    let first = TimeSpec::new(next, 0);
    let beats = Expiration::IntervalDelayed(first, period);
    timer.set(beats, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
    Ok(timer)
}

/// Period of the heartbeat in seconds of guest time: long enough to cost hardly any CPU time, short enough that the
/// host's time-out for missing heartbeats does not expire under slow emulation.
const HEARTBEAT_SECONDS: i64 = 10;

const CLOCKSOURCE_FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
