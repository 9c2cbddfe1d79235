//! Start trigger: the thread that starts each flow at its scheduled instant.

use std::{
    io::{self, Write},
    net::{Shutdown, TcpStream},
    os::{fd::AsFd, unix::net::UnixStream},
    thread,
    time::Duration,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
};
use tokio::sync::oneshot;

use crate::{
    contract::{FlowStart, MonotonicTime},
    priority::run_first,
};

/// Flow that waits for its scheduled start.
#[derive(Debug)]
pub(crate) struct ScheduledStart {
    pub(crate) at: MonotonicTime,
    /// Connection to the perftest client, which blocks until it receives `message`.
    pub(crate) client: TcpStream,
    pub(crate) message: Vec<u8>,
    pub(crate) exact: bool,
    pub(crate) started: oneshot::Sender<io::Result<FlowStart>>,
}

/// Handle of the thread that starts flows; dropping it ends the thread, so that no further flow starts.
#[derive(Debug)]
pub(crate) struct StartTrigger {
    stop: UnixStream,
}

impl StartTrigger {
    /// Starts each flow of `schedule` at its scheduled instant.
    ///
    /// The thread has its own absolute timer, because the runtime's timer has a granularity of one millisecond and
    /// the runtime's threads may be busy.
    pub(crate) fn start(mut schedule: Vec<ScheduledStart>) -> io::Result<Self> {
        // The sort is stable: flows with the same instant start in the given order.
        schedule.sort_by_key(|flow| flow.at);
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        let (stop, stopped) = UnixStream::pair()?;
        thread::Builder::new()
            .name("perftest-start".to_owned())
            .spawn(move || {
                // With this priority, no flow starts late because another flow's client calibrates its clock.
                if let Err(error) = run_first() {
                    tracing::debug!(
                        %error,
                        "cannot set real-time priority of the thread that starts flows; flows may start late"
                    );
                }
                for flow in schedule {
                    match sleep_until(flow.at, &timer, &stopped) {
                        Ok(Wake::Timer) => start(flow),
                        Ok(Wake::Stop) => return,
                        Err(error) => drop(flow.started.send(Err(error))),
                    }
                }
            })?;
        Ok(Self { stop })
    }
}

impl Drop for StartTrigger {
    fn drop(&mut self) {
        // The call fails if the thread has already ended.
        let _ = self.stop.shutdown(Shutdown::Both);
    }
}

enum Wake {
    Timer,
    Stop,
}

fn sleep_until(at: MonotonicTime, timer: &TimerFd, stopped: &UnixStream) -> io::Result<Wake> {
    // A timer set to zero would be disarmed; a timer set to the past expires at once.
    let instant = Duration::from_nanos(at.as_nanos().max(1));
    timer.set(
        Expiration::OneShot(instant.into()),
        TimerSetTimeFlags::TFD_TIMER_ABSTIME,
    )?;
    loop {
        let mut events = [
            PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
            PollFd::new(timer.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut events, PollTimeout::NONE) {
            Err(nix::Error::EINTR) => continue,
            other => other?,
        };
        let [stop, timer] = events.map(|event| event.any().unwrap_or(true));
        if stop {
            return Ok(Wake::Stop);
        }
        if timer {
            return Ok(Wake::Timer);
        }
    }
}

fn start(mut flow: ScheduledStart) {
    // The socket is non-blocking and has room for the message, because it has carried only a few hundred bytes so far.
    let sent = flow.client.write_all(&flow.message);
    let at = MonotonicTime::now();
    let start = FlowStart {
        at,
        lateness: at.since(flow.at),
        exact: flow.exact,
    };
    // The flow may have ended before its scheduled instant.
    let _ = flow.started.send(sent.map(|()| start));
}
