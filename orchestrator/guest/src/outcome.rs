//! Events and outcome of a guest run.

use std::{ffi::OsString, io, time::Duration};

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::Clock;

/// Accelerator of a guest.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accelerator {
    /// Software emulation.
    Tcg,
    /// Hardware virtualisation.
    Kvm,
}

impl Accelerator {
    /// Returns the accelerator's spelling for users and in the guest's environment.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcg => "tcg",
            Self::Kvm => "kvm",
        }
    }
}

/// Event of a guest run, for progress displays.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GuestEvent {
    /// Start of a trial boot of KVM, which takes up to 6 s once per boot of this machine.
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
    },
    /// Signal forwarded to the command.
    Forwarded {
        /// Number of the signal.
        signal: i32,
    },
    /// Start of an exec session, which takes CPU time from the command.
    ExecStarted {
        /// Words of the session's command, without the prefix in [`crate::ExecConfig`].
        words: Vec<OsString>,
    },
    /// End of the command.
    Ended {
        /// Exit code of the command.
        exit_code: u8,
    },
}

/// Receivers of the command's output and of events.
pub struct Sinks<'a> {
    /// Receiver of standard output.
    pub stdout: &'a mut dyn io::Write,
    /// Receiver of standard error.
    pub stderr: &'a mut dyn io::Write,
    /// Receiver of events.
    pub events: &'a mut dyn FnMut(GuestEvent),
}

/// CPU time of the guest by the guest's clock.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct CpuUse {
    /// Busy time, summed over CPUs.
    pub busy_ns: Nanos,
    /// Idle time, summed over CPUs.
    pub idle_ns: Nanos,
}

impl CpuUse {
    /// Returns the CPU time since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy_ns: self.busy_ns.saturating_sub(earlier.busy_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
        }
    }

    /// Returns the busy share of all CPU time in parts per thousand; `None` if no time has passed.
    #[must_use]
    pub fn busy_permille(self) -> Option<u16> {
        let busy = u128::from(self.busy_ns.get());
        let all = busy + u128::from(self.idle_ns.get());
        let share = (busy * 1000).checked_div(all)?;
        u16::try_from(share).ok()
    }
}

/// Clock of a guest and its readings.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ClockFacts {
    /// Clock of the guest.
    pub clock: Clock,
    /// Accelerator of the guest.
    pub accelerator: Accelerator,
    /// Release of the guest's kernel.
    pub kernel: String,
    /// Clock source of the kernel; measured rates are reliable only with `tsc`.
    pub clocksource: String,
    /// Guest uptime at the command's start.
    pub ready_uptime_ns: Nanos,
    /// Guest uptime at the command's end.
    pub exit_uptime_ns: Nanos,
    /// CPU time between start and end.
    pub cpu: CpuUse,
}

/// Outcome of a run whose command has ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GuestOutcome {
    /// Exit code of the command, or 128 plus the signal that ended it.
    pub exit_code: u8,
    /// Host time from the machine's start to the command's start.
    pub boot_wall: Duration,
    /// Host time of the whole run.
    pub total_wall: Duration,
    /// Clock of the guest.
    pub clock: ClockFacts,
}
