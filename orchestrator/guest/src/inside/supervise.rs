//! The inner command: its output, its signals and its end, and what comes in meanwhile.

use std::{fs, io, os::fd::AsFd};

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

use crate::{
    CpuUse,
    inside::{
        command::{Running, reap},
        cpu,
        error::InsideError,
        ports::Ports,
        visits::Visits,
    },
    wire::{InnerRequest, ToGuest, ToHost},
};

/// The request's command and those that come in meanwhile.
pub(crate) struct Supervisor<'a> {
    request: &'a InnerRequest,
    ports: &'a mut Ports,
    heartbeat: TimerFd,
    children: SignalFd,
    running: Running,
    visits: Visits,
    cpu_before: CpuUse,
}

/// What there is to attend to.
struct Woken {
    output: bool,
    control: bool,
    heartbeat: bool,
}

impl<'a> Supervisor<'a> {
    /// Starts the request's command.
    pub(crate) fn new(
        request: &'a InnerRequest,
        ports: &'a mut Ports,
    ) -> Result<Self, InsideError> {
        let heartbeat = heartbeat().map_err(InsideError::kernel("heartbeat"))?;
        if let Some(size) = request.terminal_size {
            ports.resize(size)?;
        }
        ports.say(&ready()?)?;
        let cpu_before = cpu_use()?;
        let running = Running::start(request, ports)?;
        // Only now: a command inherits the signals that are blocked.
        let children = child_signals().map_err(InsideError::kernel("signal of ended children"))?;
        Ok(Self {
            request,
            ports,
            heartbeat,
            children,
            running,
            visits: Visits::default(),
            cpu_before,
        })
    }

    /// Passes output and signals on until the request's command has ended.
    pub(crate) fn until_end(&mut self) -> Result<ToHost, InsideError> {
        let code = loop {
            if let Some(code) = self.reap()? {
                break code;
            }
            self.attend()?;
        };
        let cpu = cpu_use()?.since(self.cpu_before);
        let uptime_ns = uptime()?;
        if self.request.stays {
            self.running.pass_held(self.ports)?;
        } else {
            // What the command left running would keep its output and its directories open.
            let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
            self.running.pass_rest(self.ports)?;
        }
        Ok(ToHost::Exit {
            code,
            uptime_ns,
            cpu,
        })
    }

    /// Tells the host of the command's end, and goes on with the commands that come in until the
    /// host takes the guest away.
    pub(crate) fn stay(mut self, end: &ToHost) -> Result<(), InsideError> {
        self.ports.drain()?;
        self.ports.say(end)?;
        loop {
            self.attend()?;
            self.reap()?;
        }
    }

    /// Waits until there is something to do, and does it.
    fn attend(&mut self) -> Result<(), InsideError> {
        let woken = self
            .wait()
            .map_err(InsideError::kernel("wait for events"))?;
        if woken.output {
            self.running.pass_available(self.ports)?;
        }
        if woken.control {
            for message in self.ports.hear()? {
                self.obey(message)?;
            }
        }
        if woken.heartbeat {
            let beat = self.heartbeat.wait();
            beat.map_err(InsideError::kernel("heartbeat"))?;
            self.ports.say(&ToHost::Alive)?;
        }
        self.visits.advance(self.ports)
    }

    fn obey(&mut self, message: ToGuest) -> Result<(), InsideError> {
        match message {
            ToGuest::Signal { number } => self.running.signal(number),
            ToGuest::Command { id, order } => {
                self.visits.take(id, order, self.request, self.ports)?;
            }
        }
        Ok(())
    }

    /// Collects ended processes; the exit code once the request's command is among them.
    fn reap(&mut self) -> Result<Option<u8>, InsideError> {
        while let Ok(Some(_)) = self.children.read_signal() {}
        let mut code = None;
        while let Some((pid, its_code)) = reap().map_err(InsideError::kernel("reaping"))? {
            if pid == self.running.pid() {
                code = Some(its_code);
            }
            self.visits.ended(pid, its_code);
        }
        self.visits.advance(self.ports)?;
        Ok(code)
    }

    fn wait(&self) -> nix::Result<Woken> {
        let mut fds = vec![
            PollFd::new(self.ports.control.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.heartbeat.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.children.as_fd(), PollFlags::POLLIN),
        ];
        let output = fds.len();
        fds.extend(
            self.running
                .pipes()
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN)),
        );
        let visits = fds.len();
        fds.extend(self.visits.poll_fds());
        poll(&mut fds, PollTimeout::NONE)?;
        let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
        Ok(Woken {
            control: is_ready(&fds[0]),
            heartbeat: is_ready(&fds[1]),
            output: fds[output..visits].iter().any(is_ready),
        })
    }
}

fn ready() -> Result<ToHost, InsideError> {
    Ok(ToHost::Ready {
        kernel: line_of("/proc/sys/kernel/osrelease")?,
        clocksource: line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource")?,
        uptime_ns: uptime()?,
    })
}

fn line_of(path: &str) -> Result<String, InsideError> {
    let text = fs::read_to_string(path).map_err(|source| InsideError::File {
        path: path.into(),
        source,
    })?;
    Ok(text.trim_end().to_owned())
}

fn uptime() -> Result<lab_units::Nanos, InsideError> {
    cpu::uptime().map_err(InsideError::kernel("uptime"))
}

fn cpu_use() -> Result<CpuUse, InsideError> {
    cpu::cpu_usage().map_err(InsideError::kernel("CPU use"))
}

/// Ended children as a file to wait on, opened before there are any.
fn child_signals() -> nix::Result<SignalFd> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&signals), None)?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
}

/// Beats on whole multiples of the period, so that they meet two runs at the same moments.
fn heartbeat() -> io::Result<TimerFd> {
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
    let period = TimeSpec::new(HEARTBEAT_SECONDS, 0);
    let now = clock_gettime(NixClock::CLOCK_MONOTONIC)?;
    let first = TimeSpec::new(
        (now.tv_sec() / HEARTBEAT_SECONDS + 1) * HEARTBEAT_SECONDS,
        0,
    );
    let beats = Expiration::IntervalDelayed(first, period);
    timer.set(beats, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
    Ok(timer)
}

/// Guest time between heartbeats: rare enough to cost the lab nothing, and often enough for the
/// host's patience when emulation is slow.
const HEARTBEAT_SECONDS: i64 = 10;
