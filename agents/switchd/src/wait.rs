//! Sleep of the agent until one of several file descriptors is ready.

use std::os::fd::{AsFd, BorrowedFd};

use nix::{
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
};

use crate::SwitchdError;

/// Source of a wake-up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WakeSource {
    /// A timer is due.
    Alarm,
    /// The controller sent a command, accepts more messages, or closed the socket.
    Controller,
    /// The ring buffer of decisions is filling up.
    Decisions,
    /// The state of a link changed.
    Links,
    /// A signal is pending.
    Signals,
}

const SOURCES: [WakeSource; 5] = [
    WakeSource::Alarm,
    WakeSource::Controller,
    WakeSource::Decisions,
    WakeSource::Links,
    WakeSource::Signals,
];

/// File descriptors of all sources, combined in one epoll descriptor.
pub(crate) struct Sleeper {
    epoll: Epoll,
}

impl Sleeper {
    pub(crate) fn new() -> Result<Self, SwitchdError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map(|epoll| Self { epoll });
        epoll.map_err(SwitchdError::io("make an epoll descriptor"))
    }

    /// Makes `source` wake the agent when `descriptor` is readable.
    pub(crate) fn add(
        &self,
        source: WakeSource,
        descriptor: BorrowedFd<'_>,
    ) -> Result<(), SwitchdError> {
        let interest = match source {
            // Records stay in the ring buffer until they are read, so the level would wake the agent constantly; only
            // the edge, which is the program's own wake-up, ends the sleep.
            WakeSource::Decisions => EpollFlags::EPOLLIN | EpollFlags::EPOLLET,
            WakeSource::Alarm
            | WakeSource::Controller
            | WakeSource::Links
            | WakeSource::Signals => EpollFlags::EPOLLIN,
        };
        let event = EpollEvent::new(interest, source as u64);
        self.epoll
            .add(descriptor, event)
            .map_err(SwitchdError::io("watch a descriptor"))
    }

    /// Makes `source` also wake the agent when its descriptor is writable, or stops doing so.
    pub(crate) fn set_writable(
        &self,
        source: WakeSource,
        descriptor: impl AsFd,
        is_wanted: bool,
    ) -> Result<(), SwitchdError> {
        let mut interest = EpollFlags::EPOLLIN;
        interest.set(EpollFlags::EPOLLOUT, is_wanted);
        let mut event = EpollEvent::new(interest, source as u64);
        self.epoll
            .modify(descriptor, &mut event)
            .map_err(SwitchdError::io("watch a descriptor"))
    }

    /// Sleeps until a source is ready; returns the sources that are ready.
    pub(crate) fn sleep(&self) -> Result<Vec<WakeSource>, SwitchdError> {
        let mut events = [EpollEvent::empty(); SOURCES.len()];
        match self.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => {
                let data = events[..count].iter().map(EpollEvent::data);
                let woken = |source: &WakeSource| data.clone().any(|data| data == *source as u64);
                Ok(SOURCES.into_iter().filter(woken).collect())
            }
            Err(Errno::EINTR) => Ok(Vec::new()),
            Err(errno) => Err(SwitchdError::io("sleep")(errno)),
        }
    }
}

/// Signals that are blocked for the calling thread and read from a file descriptor instead.
pub(crate) struct Signals(SignalFd);

impl Signals {
    /// Blocks `SIGTERM` and `SIGINT` for the calling thread.
    pub(crate) fn open() -> Result<Self, SwitchdError> {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGTERM);
        mask.add(Signal::SIGINT);
        mask.thread_block()
            .map_err(SwitchdError::io("block signals"))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        SignalFd::with_flags(&mask, flags)
            .map(Self)
            .map_err(SwitchdError::io("receive signals"))
    }

    /// Reads all pending signals; returns true if one is `SIGTERM`.
    pub(crate) fn has_sigterm(&self) -> Result<bool, SwitchdError> {
        let mut has_sigterm = false;
        let failed = || SwitchdError::io("receive signals");
        while let Some(signal) = self.0.read_signal().map_err(failed())? {
            has_sigterm |= i32::try_from(signal.ssi_signo) == Ok(Signal::SIGTERM as i32);
        }
        Ok(has_sigterm)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
