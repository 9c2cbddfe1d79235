//! The inner command: its output, its signals and its end.

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
    inside::{command::Running, cpu, error::InsideError, ports::Ports},
    wire::{InnerRequest, ToGuest, ToHost},
};

/// Runs the request's command to its end.
pub(crate) fn supervise(request: &InnerRequest, ports: &mut Ports) -> Result<ToHost, InsideError> {
    let heartbeat = heartbeat().map_err(InsideError::kernel("heartbeat"))?;
    if let Some(size) = request.terminal_size {
        ports.resize(size)?;
    }
    ports.say(&ready()?)?;
    let cpu_before = cpu_use()?;
    let mut running = Running::start(request, ports)?;
    // Only now: a command inherits the signals that are blocked, and one that cannot hear of its own
    // children waits for them for ever.
    let children = child_signals().map_err(InsideError::kernel("signal of ended children"))?;
    let mut ended = running.reap().map_err(InsideError::kernel("reaping"))?;
    let code = loop {
        if let Some(code) = ended {
            break code;
        }
        let woken = wait(&running, ports, &children, &heartbeat)
            .map_err(InsideError::kernel("wait for events"))?;
        if woken.output {
            running.pass_available(ports)?;
        }
        if woken.control {
            for ToGuest::Signal { number } in ports.hear()? {
                running.signal(number);
            }
        }
        if woken.heartbeat {
            heartbeat.wait().map_err(InsideError::kernel("heartbeat"))?;
            ports.say(&ToHost::Alive)?;
        }
        if woken.child {
            while let Ok(Some(_)) = children.read_signal() {}
            ended = running.reap().map_err(InsideError::kernel("reaping"))?;
        }
    };
    let cpu = cpu_use()?.since(cpu_before);
    let uptime_ns = uptime()?;
    // What the command left running would keep its output and its directories open.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    running.pass_rest(ports)?;
    Ok(ToHost::Exit {
        code,
        uptime_ns,
        cpu,
    })
}

/// What there is to attend to.
struct Woken {
    output: bool,
    control: bool,
    heartbeat: bool,
    child: bool,
}

fn wait(
    running: &Running,
    ports: &Ports,
    children: &SignalFd,
    heartbeat: &TimerFd,
) -> nix::Result<Woken> {
    let mut fds = vec![
        PollFd::new(ports.control.as_fd(), PollFlags::POLLIN),
        PollFd::new(heartbeat.as_fd(), PollFlags::POLLIN),
        PollFd::new(children.as_fd(), PollFlags::POLLIN),
    ];
    let fixed = fds.len();
    fds.extend(running.pipes().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
    poll(&mut fds, PollTimeout::NONE)?;
    let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
    Ok(Woken {
        control: is_ready(&fds[0]),
        heartbeat: is_ready(&fds[1]),
        child: is_ready(&fds[2]),
        output: fds[fixed..].iter().any(is_ready),
    })
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
