//! The thread that lets flows go, each at its instant.

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

use crate::{clock::MonotonicTime, outcome::Release, priority::run_first};

/// One flow waiting for its instant.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) at: MonotonicTime,
    /// The connection to the client, which waits for `message`.
    pub(crate) client: TcpStream,
    pub(crate) message: Vec<u8>,
    pub(crate) exact: bool,
    pub(crate) released: oneshot::Sender<io::Result<Release>>,
}

/// Keeps the releasing thread going; dropping it ends the thread, and what is not yet due never is.
#[derive(Debug)]
pub(crate) struct Releaser {
    stop: UnixStream,
}

impl Releaser {
    /// Lets each of `schedule` go at its instant, in that order.
    ///
    /// A thread of its own with an absolute timer, because the runtime's timer has a granularity of
    /// a millisecond and its threads may be busy.
    pub(crate) fn start(mut schedule: Vec<Due>) -> io::Result<Self> {
        // Stable: flows of one instant go in the order they were given.
        schedule.sort_by_key(|due| due.at);
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        let (stop, stopped) = UnixStream::pair()?;
        thread::Builder::new()
            .name("perftest-release".to_owned())
            .spawn(move || {
                // No flow starts late because another one's client calibrates its clock.
                if let Err(error) = run_first() {
                    tracing::debug!(%error, "flows are released at ordinary priority");
                }
                for due in schedule {
                    match sleep_until(due.at, &timer, &stopped) {
                        Ok(Wake::Timer) => release(due),
                        Ok(Wake::Stop) => return,
                        Err(error) => drop(due.released.send(Err(error))),
                    }
                }
            })?;
        Ok(Self { stop })
    }
}

impl Drop for Releaser {
    fn drop(&mut self) {
        // It fails when the thread has ended, which is what is wanted.
        let _ = self.stop.shutdown(Shutdown::Both);
    }
}

enum Wake {
    Timer,
    Stop,
}

fn sleep_until(at: MonotonicTime, timer: &TimerFd, stopped: &UnixStream) -> io::Result<Wake> {
    // A timer set to zero is disarmed, one set to the past fires at once.
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

fn release(mut due: Due) {
    // The socket does not block, and never has to: it carried some hundred bytes so far.
    let sent = due.client.write_all(&due.message);
    let at = MonotonicTime::now();
    let release = Release {
        at,
        lateness: at.since(due.at),
        exact: due.exact,
    };
    // The flow may have ended before its instant.
    let _ = due.released.send(sent.map(|()| release));
}
