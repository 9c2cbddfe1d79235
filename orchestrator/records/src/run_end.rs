//! Facts of a run that are known after its last flow.

use std::{collections::BTreeMap, ops::AddAssign};

use lab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::{Conduct, Evidence, FlowFields, FlowRow, LiveChange, UtcTime};

/// Facts that the engine knows at the end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// Time of the run's end, by the same clock as its phases.
    pub ended_at: UtcTime,
    /// Phases, in order.
    pub phases: Vec<Phase>,
    /// CPU use of the guest, in virtual time; none outside a guest.
    pub guest_cpu: Option<GuestCpu>,
    /// Work of the lab; none for the simulator.
    #[serde(default)]
    pub lab: Option<LabWork>,
    /// Work of the simulator; none for the kernel engine.
    pub sim: Option<SimWork>,
    /// Number of flows that started later than the engine tolerates.
    pub late_launches: u64,
    /// Figures of the lab and its machine.
    #[serde(default)]
    pub conduct: Conduct,
    /// Retransmissions by policy; empty if they were not counted.
    #[serde(default)]
    pub retransmissions: BTreeMap<String, Retransmissions>,
    /// Warnings of the engine.
    pub warnings: Vec<String>,
    /// Reasons why the results cannot be trusted, besides those that the rows give.
    pub problems: Vec<String>,
    /// True if the run was interrupted: the flows that are missing are so on purpose.
    #[serde(default)]
    pub is_interrupted: bool,
    /// Evidence that the run exercised what it ranks.
    #[serde(default)]
    pub evidence: Evidence,
    /// Changes while flows ran, in order; faults are in [`RunInfo::faults`](crate::RunInfo::faults).
    #[serde(default)]
    pub changes: Vec<LiveChange>,
}

/// One phase of a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Name: `build-up`.
    pub name: String,
    /// Duration, by the clock of the machine that shows the run's progress.
    pub took_ns: Nanos,
    /// Duration in a guest's virtual time; none where it has no meaning, as this clock jumps while
    /// the guest waits for the host.
    pub virtual_ns: Option<Nanos>,
}

/// CPU use of a guest, in virtual time. Near 100 % the guest was too slow for the lab.
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
    /// Time while flows ran, lab's clock.
    pub lab_ns: Nanos,
}

/// Work of the simulator, over all policies and repetitions.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct SimWork {
    /// Number of events handled.
    pub events: u64,
    /// Number of packets that arrived at the other end of a link, counted on every link.
    pub packet_hops: u64,
    /// Simulated time.
    pub virtual_ns: Nanos,
    /// Real time.
    pub wall_ns: Nanos,
    /// Largest memory of the process; none if it is not known.
    pub peak_memory_bytes: Option<Bytes>,
}

/// Retransmissions of all senders: the times that they went back to a lost packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Retransmissions {
    /// Times that a sender went back, for any reason.
    pub go_backs: u64,
    /// Those of them at a retransmission time-out. In the lab at least so many: SoftRoCE counts the NAKs that
    /// receivers sent, and each of the others was a time-out.
    pub timeouts: u64,
}

impl AddAssign for Retransmissions {
    fn add_assign(&mut self, other: Self) {
        self.go_backs += other.go_backs;
        self.timeouts += other.timeouts;
    }
}

/// Counts of a run's flow rows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// All rows.
    pub flows: u64,
    /// Flows that finished.
    pub finished: u64,
    /// Flows that did not finish.
    pub unfinished: u64,
    /// Finished flows that are too fast: [`FlowFields::is_too_fast`].
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
