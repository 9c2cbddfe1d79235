//! Evidence that a run exercised what it ranks: the load on the network, and the actions of each policy's own
//! mechanism.
//!
//! A policy whose mechanism never acted gives the results of a simpler policy, so its rank shows nothing about the
//! mechanism.

use lab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Evidence of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Offered load of each datacenter; empty without workloads.
    #[serde(default)]
    pub load: Vec<OfferedLoad>,
    /// Last start of a workload's flow ÷ duration of the workloads, minimum over all repetitions; `None` without
    /// workloads. Flows that had not started when the run ended are not counted.
    #[serde(default)]
    pub covered: Option<f64>,
    /// Flows from lists and flow files, which are not part of the load.
    #[serde(default)]
    pub listed: ListedFlows,
    /// Evidence of each policy, in the order of the scenario.
    #[serde(default)]
    pub policies: Vec<PolicyEvidence>,
}

/// Load of one sending datacenter, as a fraction of the workload's `load_base`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedLoad {
    pub dc: String,
    /// Load that the workloads specify.
    pub requested: f64,
    /// Load that the workloads' flows offered over the workloads' duration; if the run ended before all flows had
    /// started, over the time until the run ended.
    pub offered: f64,
}

/// Flows from lists and flow files, over all repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct ListedFlows {
    /// Number of flows.
    pub flows: u64,
    /// Sum of their sizes.
    pub bytes: Bytes,
}

/// Evidence of one policy, over all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyEvidence {
    /// Label of the policy.
    pub policy: String,
    /// Flows under way at the same time.
    pub met: Met,
    /// The policy's mechanism.
    pub mechanism: Mechanism,
    /// Queue samples, and decisions based on them; `None` in the simulator, whose samples are never late.
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// Flow tables of the switches; `None` if no switch has an agent.
    pub tables: Option<FlowTables>,
    /// Failover after each link cut, in order of time.
    #[serde(default)]
    pub failovers: Vec<Failover>,
    /// Number of finished flows for which the responsible switch recorded no decision.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided: u64,
}

/// Flows under way at the same time, and the use of links by them. A flow that did not finish was under way until its
/// repetition's end, see [`RepetitionEnds`](crate::RepetitionEnds).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Met {
    /// Mean number of flows under way, from the first start to the last end.
    pub mean_concurrency: f64,
    /// Largest number of flows under way.
    pub peak_concurrency: u64,
    /// Number of flows that started and whose path is known.
    pub flows: u64,
    /// Number of these flows that shared a link direction with another flow while both were under way.
    pub overlapping: u64,
    /// Busiest link direction while flows start, see [`ArrivalUse`](crate::ArrivalUse); `None` without a sample.
    pub busiest: Option<BusyLink>,
}

/// Queue samples at all switches, and the age of the samples on which decisions were based.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Number of samples.
    pub samples: u64,
    /// Number of samples that began after the next sample was due.
    pub late_samples: u64,
    /// Number of decisions that used C_cong; 0 under policies that do not sample queues.
    pub decisions: u64,
    /// Number of these decisions whose sample was older than one sampling interval.
    pub stale: u64,
    /// Largest age of a decision's sample beyond one sampling interval.
    pub overdue_ns: Nanos,
}

/// Flow tables of all DCI switches with an agent, summed over switches and repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct FlowTables {
    /// Packets forwarded by a flow table entry.
    pub hits: u64,
    /// Number of decisions that the switches counted.
    pub decisions: u64,
    /// Number of counted decisions without a row in `decisions.csv`; 0 in the simulator, which loses no rows.
    pub unrecorded: u64,
    /// Largest decision rate of a switch between two rows, per second of paper time.
    pub peak_decisions_per_s: u64,
    /// Number of decisions made because a flow's port was dead.
    pub failovers: u64,
    /// Number of decisions by a fallback rule, including stale decisions.
    pub fallbacks: u64,
    /// Number of decisions with stale tables or signals.
    pub stale: u64,
    /// Largest number of flows in a switch's table.
    pub peak_flows: u64,
    /// Flows evicted from a full table.
    pub evicted: u64,
    /// Idle flows removed by flow-cache garbage collection.
    pub expired: u64,
    /// Restarts of killed agents.
    pub restarts: u64,
}

/// Re-routing of flows away from dead ports after links were cut, over all repetitions.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Failover {
    /// Links that were cut at this time.
    pub links: Vec<String>,
    /// Time of the cut, from the repetition's start.
    pub at_ns: Nanos,
    /// Number of decisions for packets whose flow was pinned to a dead port.
    pub decisions: u64,
    /// Times of the first and last decision; `None` without decisions.
    pub span: Option<FailoverSpan>,
}

/// Times from a cut to the first and to the last decision that it caused.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FailoverSpan {
    /// Time from the cut to the first decision.
    pub first_ns: Nanos,
    /// Time from the cut to the last decision.
    pub last_ns: Nanos,
    /// Both times as measured in the lab, unscaled; `None` in the simulator, whose switches detect a cut at once.
    pub lab_ns: Option<(Nanos, Nanos)>,
}

/// Link direction and its use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusyLink {
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Bytes carried ÷ bytes that the link could carry, mean over the repetitions.
    pub utilisation: f64,
}

/// Counts of the actions that distinguish a policy from a simpler one. Only decisions for the first data packet of a
/// flow, between several candidates, are counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// LCMP: its decisions compared with decisions without one of its two costs.
    Lcmp(LcmpCounts),
    /// Hash over buckets: the next hops' shares of the decisions.
    Hash(HashCounts),
    /// UCMP with flow ageing.
    FlowAgeing {
        /// Number of flows with a decision.
        flows: u64,
        /// Number of these flows that flow ageing re-routed.
        rerouted: u64,
    },
    /// Minimum delay: UCMP without flow ageing.
    MinDelay {
        /// Number of decisions.
        decisions: u64,
        /// Number of decisions for the candidate with the least delay.
        least_delay: u64,
    },
    /// Traffic engineering.
    Splits(SplitCounts),
    /// A policy whose mechanism is unknown to the program.
    Unknown {
        /// Number of decisions.
        decisions: u64,
    },
}

/// LCMP's decisions, compared with the same decisions without one of its costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LcmpCounts {
    /// Number of decisions by LCMP's own rules.
    pub decisions: u64,
    /// Number of decisions that the records do not explain, for example after a change of parameters; no other count
    /// includes them.
    pub unexplained: u64,
    /// Decisions that would be different with `alpha` = 0, that is without C_path; `None` if `alpha` is 0.
    pub path: Option<Changed>,
    /// Decisions that would be different with `beta` = 0, that is without C_cong; `None` if `beta` is 0.
    pub congestion: Option<Changed>,
    /// Flows whose path differs from their path under the run's LCMP policy with `beta` = 0; `None` if the run has no
    /// such policy.
    pub against_rm_beta: Option<PathDifference>,
}

/// Numbers of decisions that would be different without one cost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// The set of kept candidates differs.
    pub kept: u64,
    /// The set or the order of the kept candidates differs; the hash indexes this list.
    pub order: u64,
    /// The chosen next hop differs.
    pub next_hop: u64,
}

/// Number of flows that take different paths under two policies.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PathDifference {
    /// Label of the other policy.
    pub policy: String,
    /// Number of flows whose paths under both policies are known.
    pub flows: u64,
    /// Number of these flows whose paths differ.
    pub differ: u64,
}

/// The next hops' shares of the decisions, compared with their shares of the buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HashCounts {
    /// Number of decisions; if the plan has faults, only decisions before the first fault, after which a next hop may
    /// be dead.
    pub decisions: u64,
    /// True if the plan has a fault.
    #[serde(default)]
    pub has_fault: bool,
    /// Number of next hops with buckets, summed over the switches' destinations that have several next hops.
    pub next_hops: u64,
    /// Number of these next hops that were chosen at least once.
    pub used: u64,
    /// Largest difference between a next hop's share of its destination's decisions and its share of the buckets.
    pub largest_difference: f64,
    /// Probability that a fair hash gives a larger chi-square; `None` if no destination has several next hops, or if
    /// all decisions are untested.
    pub p_value: Option<f64>,
    /// Number of decisions that the chi-square omits, because fewer than two next hops, or pools of next hops, have
    /// five expected decisions each.
    #[serde(default)]
    pub untested: u64,
}

/// Splits that traffic engineering installed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct SplitCounts {
    /// Number of controller intervals that ended with the installation of a split.
    pub installed: u64,
    /// Number of these intervals in which a table changed.
    pub changed: u64,
    /// Number of decisions.
    pub decisions: u64,
    /// Number of decisions after the first split in their repetition that changed a table.
    pub after_first: u64,
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}
