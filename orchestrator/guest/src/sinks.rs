//! Events and output of a guest run.

use std::{ffi::OsString, io, time::Duration};

use crate::{Accelerator, Clock};

/// Event of a guest run, for progress displays.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GuestEvent {
    /// Start of a trial boot with KVM, which takes up to 6 s, once after each boot of this machine.
    TryingKvm,
    /// Start of the machine.
    Booting {
        /// Accelerator of the guest.
        accelerator: Accelerator,
        /// Clock of the guest.
        clock: Clock,
        /// Release of the guest's kernel.
        kernel: String,
    },
    /// Start of the command in the guest.
    Ready {
        /// Host time since the machine's start.
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

/// Receivers of the command's output and of events.
///
/// Outbox bytes that were sent before some output are also received before that output.
pub struct Sinks<'a> {
    /// Receiver of standard output.
    pub stdout: &'a mut dyn io::Write,
    /// Receiver of standard error.
    pub stderr: &'a mut dyn io::Write,
    /// Receiver of the bytes of the guest's [`crate::outbox::Outbox`]; its error ends the run.
    pub outbox: &'a mut dyn io::Write,
    pub events: &'a mut dyn FnMut(GuestEvent),
}
