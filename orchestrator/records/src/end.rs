//! How a run went: everything known only after its last flow.

use lab_units::{BitsPerSec, Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::UtcTime;

/// What the engine knows when it is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// When the run ended, by the same clock as its phases.
    pub ended_at: UtcTime,
    /// What it did, in order, and how long that took.
    pub phases: Vec<Phase>,
    /// The guest's CPU use in its own time; nothing outside a guest.
    pub guest_cpu: Option<GuestCpu>,
    /// What the simulator did; nothing for another engine.
    pub sim: Option<SimWork>,
    /// Flows let go later than the engine tolerates.
    pub late_launches: u64,
    /// What each inter-DC link turned out to be.
    pub measured_links: Vec<MeasuredLink>,
    /// What was met on the way that a reader should know.
    pub warnings: Vec<String>,
    /// Why the results cannot be trusted, apart from what the rows themselves say.
    pub problems: Vec<String>,
}

/// One phase of a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name: `build-up`.
    pub name: String,
    /// How long it took, by the clock of the machine that shows it.
    pub took_ns: Nanos,
    /// How long that was in a guest's virtual time; nothing where it means nothing, as that clock
    /// leaps while the guest waits for the host.
    pub virtual_ns: Option<Nanos>,
}

/// How busy the guest was in its own time: near 100 % it was too slow for the lab.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct GuestCpu {
    /// Time its CPUs worked while flows ran.
    pub busy_ns: Nanos,
    /// CPU time there was.
    pub available_ns: Nanos,
}

/// What the simulator did, over all policies and repetitions.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct SimWork {
    /// Events handled.
    pub events: u64,
    /// Packets that arrived at the other end of a link, each link counted.
    pub packet_hops: u64,
    /// Virtual time that passed.
    pub virtual_ns: Nanos,
    /// Real time it took.
    pub wall_ns: Nanos,
    /// Most memory the process had; nothing if that is not known.
    pub peak_memory_bytes: Option<Bytes>,
}

/// One direction of an inter-DC link, as configured and as measured, both emulated.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLink {
    /// The link: `dc1-dc2`.
    pub link: String,
    /// Where this direction comes from.
    pub from_dc: String,
    /// Where this direction goes to.
    pub to_dc: String,
    /// Rate as configured.
    pub emu_rate_bps: BitsPerSec,
    /// Rate as measured; nothing if it was not.
    pub emu_measured_rate_bps: Option<BitsPerSec>,
    /// One-way delay as configured.
    pub emu_delay_ns: Nanos,
    /// One-way delay as measured; nothing if it was not.
    pub emu_measured_delay_ns: Option<Nanos>,
    /// How the delay was measured.
    pub delay_method: DelayMethod,
}

/// How a one-way delay is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DelayMethod {
    /// Time stamps at both ends, of one clock.
    OneWay,
    /// Half of a round trip.
    HalfRtt,
}
