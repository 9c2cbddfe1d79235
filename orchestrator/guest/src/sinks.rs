//! Receivers of a guest run's events and output.

use std::{ffi::OsString, io, time::Duration};

use crate::{Accelerator, Clock};

/// Event of a guest run, for progress displays.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GuestEvent {
    /// Start of a trial boot with KVM, which happens once after each boot of this machine and takes up to 6 s.
    TryingKvm,
    /// Start of the guest's machine.
    Booting {
        /// Accelerator with which the guest runs.
        accelerator: Accelerator,
        /// Clock on which the guest runs.
        clock: Clock,
        /// Release of the guest's kernel.
        kernel: String,
    },
    /// Start of the command in the guest.
    Ready {
        /// Host time from the machine's start until the command starts.
        boot_wall: Duration,
        /// Clock source of the guest's kernel; measured rates are reliable only with `tsc`.
        clocksource: String,
    },
    /// Start of an exec session, which takes CPU time from the command.
    ExecStarted {
        /// Words of the session's command, without the prefix in [`crate::ExecConfig`].
        words: Vec<OsString>,
    },
}

/// Receivers of the command's output and of the run's events.
///
/// Outbox bytes are received before any output that the guest sent after them.
pub struct Sinks<'a> {
    /// Receiver of the command's standard output.
    pub stdout: &'a mut dyn io::Write,
    /// Receiver of the command's standard error.
    pub stderr: &'a mut dyn io::Write,
    /// Receiver of the bytes that the guest sends through its [`crate::outbox::Outbox`]; an error of this receiver ends
    /// the run.
    pub outbox: &'a mut dyn io::Write,
    pub events: &'a mut dyn FnMut(GuestEvent),
}
