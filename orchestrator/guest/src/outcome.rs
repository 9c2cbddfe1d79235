//! What a guest run tells its caller, during and after.

use std::{ffi::OsString, io, time::Duration};

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::Clock;

/// The accelerator a guest runs on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accelerator {
    /// Software emulation.
    Tcg,
    /// Hardware virtualisation.
    Kvm,
}

impl Accelerator {
    /// The engine as users and the guest's environment spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcg => "tcg",
            Self::Kvm => "kvm",
        }
    }
}

/// What happens around the inner command, for progress displays.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GuestEvent {
    /// A trial boot is made to see whether KVM works; it takes up to six seconds, once per boot of
    /// this machine.
    TryingKvm,
    /// The machine was started.
    Booting {
        /// The accelerator chosen.
        engine: Accelerator,
        /// The clock chosen.
        clock: Clock,
        /// The guest's kernel release.
        kernel: String,
    },
    /// The guest is up and the inner command is about to start.
    Ready {
        /// Host time from start to here.
        boot_wall: Duration,
    },
    /// A signal of the host's was passed to the inner command.
    Forwarded {
        /// Its number.
        signal: i32,
    },
    /// A command comes in by the door; it takes time of what runs there.
    CommandCameIn {
        /// Its words, without those the door puts before them.
        words: Vec<OsString>,
    },
    /// The inner command ended; the machine is being taken away, unless it stays.
    Ended {
        /// Its exit code.
        exit_code: u8,
    },
}

/// Where the inner command's output goes.
pub struct Sinks<'a> {
    /// Standard output of the inner command.
    pub stdout: &'a mut dyn io::Write,
    /// Standard error of the inner command.
    pub stderr: &'a mut dyn io::Write,
    /// Called as things happen.
    pub events: &'a mut dyn FnMut(GuestEvent),
}

/// CPU time of the guest, in its own time.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct CpuUse {
    /// Time some CPU did work, summed over CPUs.
    pub busy_ns: Nanos,
    /// Time CPUs idled, summed over CPUs.
    pub idle_ns: Nanos,
}

impl CpuUse {
    /// What was used between two readings.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy_ns: self.busy_ns.saturating_sub(earlier.busy_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
        }
    }

    /// The busy share of all CPU time, in parts per thousand; `None` when no time passed.
    #[must_use]
    pub fn busy_permille(self) -> Option<u16> {
        let busy = u128::from(self.busy_ns.get());
        let all = busy + u128::from(self.idle_ns.get());
        let share = (busy * 1000).checked_div(all)?;
        u16::try_from(share).ok()
    }
}

/// How time passed in a guest.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ClockFacts {
    /// The guest's clock.
    pub clock: Clock,
    /// The accelerator.
    pub engine: Accelerator,
    /// The guest's kernel release.
    pub kernel: String,
    /// The kernel's clock source; anything but `tsc` makes measured rates doubtful.
    pub clocksource: String,
    /// Guest uptime when the inner command started.
    pub ready_uptime_ns: Nanos,
    /// Guest uptime when the inner command ended.
    pub exit_uptime_ns: Nanos,
    /// CPU use from the one to the other.
    pub cpu: CpuUse,
}

/// How a run ended whose inner command ended by itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GuestOutcome {
    /// Exit code of the inner command, or 128 plus the signal that ended it.
    pub exit_code: u8,
    /// Host time from starting the machine to the inner command's start.
    pub boot_wall: Duration,
    /// Host time of the whole run.
    pub total_wall: Duration,
    /// How time passed inside.
    pub clock: ClockFacts,
}
