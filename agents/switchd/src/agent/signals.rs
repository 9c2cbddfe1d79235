//! What ends the agent from outside.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::{
    signal::{SigSet, Signal},
    signalfd::{SfdFlags, SignalFd},
};

use crate::SwitchdError;

/// The signals the calling thread no longer gets but can read.
pub(super) struct Signals(SignalFd);

impl Signals {
    /// Holds back `SIGTERM` and `SIGINT`.
    pub(super) fn open() -> Result<Self, SwitchdError> {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGTERM);
        mask.add(Signal::SIGINT);
        mask.thread_block()
            .map_err(SwitchdError::io("block signals"))?;
        SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map(Self)
            .map_err(SwitchdError::io("receive signals"))
    }

    /// Takes what has come; true if one of them was `SIGTERM`.
    pub(super) fn say_end(&self) -> Result<bool, SwitchdError> {
        let mut is_over = false;
        while let Some(signal) = self
            .0
            .read_signal()
            .map_err(SwitchdError::io("receive signals"))?
        {
            is_over |= i32::try_from(signal.ssi_signo) == Ok(Signal::SIGTERM as i32);
        }
        Ok(is_over)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
