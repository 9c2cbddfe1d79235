//! One sleep for everything that can end it.

use std::os::fd::{AsFd, BorrowedFd};

use nix::{
    errno::Errno,
    sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
};

use crate::SwitchdError;

/// What can end the agent's sleep.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Source {
    /// Something is due.
    Alarm,
    /// The controller says something, takes more, or is gone.
    Controller,
    /// The ring buffer of decisions fills up.
    Decisions,
    /// Some link changed.
    Links,
    /// A signal has come.
    Signals,
}

const SOURCES: [Source; 5] = [
    Source::Alarm,
    Source::Controller,
    Source::Decisions,
    Source::Links,
    Source::Signals,
];

/// The sources, as one descriptor to sleep on.
pub(crate) struct Sleeper {
    epoll: Epoll,
}

impl Sleeper {
    pub(crate) fn new() -> Result<Self, SwitchdError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
            .map_err(SwitchdError::io("make an epoll descriptor"))?;
        Ok(Self { epoll })
    }

    /// Wakes for `source` whenever `descriptor` is readable.
    pub(crate) fn add(
        &self,
        source: Source,
        descriptor: BorrowedFd<'_>,
    ) -> Result<(), SwitchdError> {
        let interest = match source {
            // Records wait in the ring buffer until they are fetched; only the program's own call
            // is to wake, which an edge is.
            Source::Decisions => EpollFlags::EPOLLIN | EpollFlags::EPOLLET,
            Source::Alarm | Source::Controller | Source::Links | Source::Signals => {
                EpollFlags::EPOLLIN
            }
        };
        self.epoll
            .add(descriptor, EpollEvent::new(interest, source as u64))
            .map_err(SwitchdError::io("watch a descriptor"))
    }

    /// From now on wakes for `source` when it can be written too, or no longer.
    pub(crate) fn also_when_writable(
        &self,
        source: Source,
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

    /// Sleeps; returns what it was woken for.
    pub(crate) fn sleep(&self) -> Result<Vec<Source>, SwitchdError> {
        let mut events = [EpollEvent::empty(); SOURCES.len()];
        match self.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => {
                let woken = |source: &Source| {
                    events[..count]
                        .iter()
                        .any(|event| event.data() == *source as u64)
                };
                Ok(SOURCES.into_iter().filter(woken).collect())
            }
            Err(Errno::EINTR) => Ok(Vec::new()),
            Err(errno) => Err(SwitchdError::io("sleep")(errno)),
        }
    }
}
