//! Facts of a run that are known after its last flow ends.

use std::{collections::BTreeMap, ops::AddAssign};

use lab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::{Conduct, Evidence, FlowFields, LiveChange, UtcTime};

/// Facts that the engine reports at the end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// Time at which the run ended, by the clock that also times its phases.
    pub ended_at: UtcTime,
    /// Phases of the run, in order.
    pub phases: Vec<Phase>,
    /// CPU use of the guest while flows ran, in virtual time; `None` outside a guest.
    pub guest_cpu: Option<GuestCpu>,
    /// Amount of work of the lab; `None` for the simulator.
    #[serde(default)]
    pub lab: Option<LabWork>,
    /// Amount of work of the simulator; `None` for the kernel engine.
    pub sim: Option<SimWork>,
    /// Number of flows whose start was late by more than the engine's tolerance.
    pub late_launches: u64,
    /// Figures about the lab and its machine, which decide the verdict.
    #[serde(default)]
    pub conduct: Conduct,
    /// Retransmissions by policy; empty if the engine did not count them.
    #[serde(default)]
    pub retransmissions: BTreeMap<String, Retransmissions>,
    /// Warnings of the engine during the run.
    pub warnings: Vec<String>,
    /// Problems that the engine reports and that the tables do not show; each is a reason not to trust the results.
    pub problems: Vec<String>,
    /// True if the user interrupted the run, so that missing flows are expected.
    #[serde(default)]
    pub is_interrupted: bool,
    /// Evidence that the run exercised the mechanisms in which its policies differ.
    #[serde(default)]
    pub evidence: Evidence,
    /// Changes made while flows ran, in order; faults are in [`RunInfo::faults`](crate::RunInfo::faults).
    #[serde(default)]
    pub changes: Vec<LiveChange>,
}

/// Phase of a run, with its duration.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Name of the phase, such as `build-up`.
    pub name: String,
    /// Duration by the clock of the machine on which the run was started.
    pub took_ns: Nanos,
    /// Duration in the guest's virtual time; `None` for phases in which virtual time jumps because the guest waits for
    /// its host.
    pub virtual_ns: Option<Nanos>,
}

/// CPU use of a guest in virtual time. Near 100 %, the guest was too slow for the lab.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct GuestCpu {
    /// CPU time that was used while flows ran.
    pub busy_ns: Nanos,
    /// CPU time that was available while flows ran.
    pub available_ns: Nanos,
}

/// Amount of work of the lab, over all policies and repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct LabWork {
    /// Number of packets while flows ran, each counted on every link that it crossed.
    pub packet_hops: u64,
    /// Time for which flows ran, by the lab's clock.
    pub lab_ns: Nanos,
}

/// Amount of work of the simulator, over all policies and repetitions.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct SimWork {
    /// Number of events that the simulator processed.
    pub events: u64,
    /// Number of packets, each counted at the far end of every link that it crossed.
    pub packet_hops: u64,
    /// Simulated time.
    pub virtual_ns: Nanos,
    /// Wall-clock time of the simulation.
    pub wall_ns: Nanos,
    /// Peak memory use of the process; `None` if unknown.
    pub peak_memory_bytes: Option<Bytes>,
}

/// Retransmissions of all senders under one policy.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Retransmissions {
    /// Number of times that a sender went back to a lost packet, for any reason.
    pub go_backs: u64,
    /// Number of go-backs that a retransmission time-out caused. In the lab, this number is a lower bound: SoftRoCE
    /// counts the NACKs that receivers sent, and go-backs in excess of the NACKs were time-outs.
    pub timeouts: u64,
}

impl AddAssign for Retransmissions {
    fn add_assign(&mut self, other: Self) {
        self.go_backs += other.go_backs;
        self.timeouts += other.timeouts;
    }
}

/// Numbers of a run's flow rows, by outcome.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// Number of flow rows.
    pub flows: u64,
    /// Number of flows that finished.
    pub finished: u64,
    /// Number of flows that did not finish.
    pub unfinished: u64,
    /// Number of finished flows that were too fast; see [`FlowFields::is_too_fast`].
    pub below_one: u64,
}

impl FlowCounts {
    /// Counts `flow`, whose data took this number of paths, by its outcome.
    pub fn add(&mut self, flow: FlowFields<'_>, paths: u32) {
        let is_finished = flow.status.is_finished();
        self.flows += 1;
        self.finished += u64::from(is_finished);
        self.unfinished += u64::from(!is_finished);
        self.below_one += u64::from(flow.is_too_fast(paths));
    }
}

impl AddAssign for FlowCounts {
    fn add_assign(&mut self, other: Self) {
        self.flows += other.flows;
        self.finished += other.finished;
        self.unfinished += other.unfinished;
        self.below_one += other.below_one;
    }
}
