//! Facts of a run that are known after its last flow.

use std::{collections::BTreeMap, ops::AddAssign};

use lab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::{Conduct, Evidence, FlowFields, FlowRow, LiveChange, UtcTime};

/// Facts that the engine reports at the end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// Time of the run's end, by the clock that times its phases.
    pub ended_at: UtcTime,
    /// Phases, in order.
    pub phases: Vec<Phase>,
    /// CPU use of the guest, in virtual time; `None` outside a guest.
    pub guest_cpu: Option<GuestCpu>,
    /// Work of the lab; `None` for the simulator.
    #[serde(default)]
    pub lab: Option<LabWork>,
    /// Work of the simulator; `None` for the kernel engine.
    pub sim: Option<SimWork>,
    /// Number of flows that started later than the engine's tolerance.
    pub late_launches: u64,
    /// Figures of the lab and its machine.
    #[serde(default)]
    pub conduct: Conduct,
    /// Retransmissions by policy; empty if not counted.
    #[serde(default)]
    pub retransmissions: BTreeMap<String, Retransmissions>,
    /// Warnings of the engine.
    pub warnings: Vec<String>,
    /// Problems that the engine reports and that the rows do not show, each a reason not to trust the results.
    pub problems: Vec<String>,
    /// True if the user interrupted the run, so that missing flows are expected.
    #[serde(default)]
    pub is_interrupted: bool,
    /// Evidence that the run exercised what it ranks.
    #[serde(default)]
    pub evidence: Evidence,
    /// Changes made while flows ran, in order; faults are in [`RunInfo::faults`](crate::RunInfo::faults).
    #[serde(default)]
    pub changes: Vec<LiveChange>,
}

/// Phase of a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Name: `build-up`.
    pub name: String,
    /// Duration, by the clock of the machine on which the run was started.
    pub took_ns: Nanos,
    /// Duration in a guest's virtual time; `None` where virtual time is meaningless, because it jumps while the guest
    /// waits for the host.
    pub virtual_ns: Option<Nanos>,
}

/// CPU use of a guest, in virtual time. A use near 100 % means that the guest was too slow for the lab.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct GuestCpu {
    /// CPU time used while flows ran.
    pub busy_ns: Nanos,
    /// CPU time available while flows ran.
    pub available_ns: Nanos,
}

/// Work of the lab, over all policies and repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct LabWork {
    /// Number of packets sent while flows ran, counted on every link.
    pub packet_hops: u64,
    /// Time during which flows ran, by the lab's clock.
    pub lab_ns: Nanos,
}

/// Work of the simulator, over all policies and repetitions.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct SimWork {
    /// Number of events handled.
    pub events: u64,
    /// Number of packets that arrived at the far end of a link, counted on every link.
    pub packet_hops: u64,
    /// Simulated time, over all policies and repetitions.
    pub virtual_ns: Nanos,
    /// Real time of the simulation.
    pub wall_ns: Nanos,
    /// Peak memory use of the process; `None` if unknown.
    pub peak_memory_bytes: Option<Bytes>,
}

/// Retransmissions of all senders: how often they went back to a lost packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Retransmissions {
    /// Number of times that a sender went back, for any reason.
    pub go_backs: u64,
    /// Number of these times that were caused by a retransmission time-out. In the lab, a lower bound: SoftRoCE counts
    /// the NAKs that receivers sent, and each go-back without a NAK was a time-out.
    pub timeouts: u64,
}

impl AddAssign for Retransmissions {
    fn add_assign(&mut self, other: Self) {
        self.go_backs += other.go_backs;
        self.timeouts += other.timeouts;
    }
}

/// Numbers of a run's flow rows by outcome.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// Number of rows.
    pub flows: u64,
    /// Number of flows that finished.
    pub finished: u64,
    /// Number of flows that did not finish.
    pub unfinished: u64,
    /// Number of finished flows that were too fast, see [`FlowFields::is_too_fast`].
    pub below_one: u64,
}

impl FlowCounts {
    /// Counts `flow`.
    pub fn add(&mut self, flow: FlowFields<'_>) {
        let is_finished = flow.status.is_finished();
        self.flows += 1;
        self.finished += u64::from(is_finished);
        self.unfinished += u64::from(!is_finished);
        self.below_one += u64::from(flow.is_too_fast());
    }
}

impl<'a> FromIterator<&'a FlowRow> for FlowCounts {
    fn from_iter<I: IntoIterator<Item = &'a FlowRow>>(rows: I) -> Self {
        let mut counts = Self::default();
        rows.into_iter().for_each(|row| counts.add(row.fields()));
        counts
    }
}
