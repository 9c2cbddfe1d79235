//! Evidence that a run exercised what it ranks: the load that its flows met, and each policy's own
//! mechanism at work.
//!
//! A policy whose mechanism never acted has the results of a simpler policy, and a table that ranks it
//! says nothing about the mechanism.

use lab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Evidence of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Load that each datacenter's flows offered; empty without workloads.
    #[serde(default)]
    pub load: Vec<OfferedLoad>,
    /// Last start of a workload's flow ÷ duration of the workloads, the smallest over all repetitions; `None` without
    /// workloads. Flows that had not started when the run ended do not count.
    #[serde(default)]
    pub covered: Option<f64>,
    /// Flows from lists and flow files, which are not part of the load.
    #[serde(default)]
    pub listed: ListedFlows,
    /// Evidence of each policy, in the order of the scenario.
    #[serde(default)]
    pub policies: Vec<PolicyEvidence>,
}

/// Load of one sending datacenter, as a share of the workload's `load_base`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedLoad {
    /// The datacenter.
    pub dc: String,
    /// Load that the workloads ask for.
    pub requested: f64,
    /// Load that the workloads' flows offered: over the duration or, if the run ended before all of them had
    /// started, over the time that it covers.
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
    /// Flows that met.
    pub met: Met,
    /// The policy's mechanism.
    pub mechanism: Mechanism,
    /// Samples of the queues, and decisions by them; none in the simulator, whose samples are never late.
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// Flow tables of the switches; none if no switch has an agent.
    pub tables: Option<FlowTables>,
    /// Failover after each cut of links, by time.
    #[serde(default)]
    pub failovers: Vec<Failover>,
    /// Finished flows without a decision of the switch that decides for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided: u64,
}

/// Flows under way at once, and the links that they filled. A flow that did not finish was under way until its
/// repetition's end, [`RepetitionEnds`](crate::RepetitionEnds).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Met {
    /// Mean number of flows under way, from the first start to the last end.
    pub mean_concurrency: f64,
    /// Largest number of flows under way.
    pub peak_concurrency: u64,
    /// Flows that started and whose path is known.
    pub flows: u64,
    /// Flows on known paths that shared a link direction with another flow while both were under
    /// way.
    pub overlapping: u64,
    /// Busiest direction of a link while flows start, [`ArrivalUse`](crate::ArrivalUse); `None` without a
    /// sample.
    pub busiest: Option<BusyLink>,
}

/// Queue samples at all switches, and the age of the samples on which decisions were based.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Samples.
    pub samples: u64,
    /// Samples that began later than the next one was due.
    pub late_samples: u64,
    /// Decisions by C_cong; 0 under policies that read no queues.
    pub decisions: u64,
    /// Those of them whose sample was older than one sampling interval.
    pub stale: u64,
    /// Longest time by which a decision's sample was older than that.
    pub overdue_ns: Nanos,
}

/// Flow tables of all DCI switches with an agent, summed over switches and repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct FlowTables {
    /// Packets forwarded by their flow's entry.
    pub hits: u64,
    /// Decisions that the switches counted.
    pub decisions: u64,
    /// Counted decisions without a row in `decisions.csv`; 0 in the simulator, which loses no rows.
    pub unrecorded: u64,
    /// Largest decision rate of one switch between two rows, per second of paper time.
    pub peak_decisions_per_s: u64,
    /// Decisions because a flow's port was dead.
    pub failovers: u64,
    /// Decisions by a fallback rule, stale ones included.
    pub fallbacks: u64,
    /// Decisions without fresh tables or signals.
    pub stale: u64,
    /// Largest number of flows in one switch's table.
    pub peak_flows: u64,
    /// Flows evicted from a full table.
    pub evicted: u64,
    /// Idle flows removed by flow-cache garbage collection.
    pub expired: u64,
    /// Restarts of killed agents.
    pub restarts: u64,
}

/// Flows that left a dead port after links were cut, over all repetitions. Times count from the cut.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Failover {
    /// Links that were cut at one time.
    pub links: Vec<String>,
    /// Time of the cut, from the repetition's start.
    pub at_ns: Nanos,
    /// Decisions for packets whose flow was pinned to a dead port.
    pub decisions: u64,
    /// First and last of them; none without decisions.
    pub span: Option<FailoverSpan>,
}

/// Times from a cut to the first and to the last decision because of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FailoverSpan {
    /// First decision.
    pub first_ns: Nanos,
    /// Last decision.
    pub last_ns: Nanos,
    /// Both as measured in the lab; none in the simulator, whose switches notice a cut at once.
    pub lab_ns: Option<(Nanos, Nanos)>,
}

/// A direction of a link and its use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusyLink {
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Bytes carried ÷ bytes that fit, mean over the repetitions.
    pub utilisation: f64,
}

/// Counts of what makes a policy differ from a simpler one. Decisions are those for the first packet of
/// a flow's data where there was a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// LCMP: its two costs against decisions without them.
    Lcmp(LcmpCounts),
    /// Hash over buckets: shares of the next hops.
    Hash(HashCounts),
    /// UCMP with flow ageing.
    FlowAgeing {
        /// Flows that were decided.
        flows: u64,
        /// Those of them that flow ageing re-routed.
        rerouted: u64,
    },
    /// Minimum delay: UCMP without flow ageing.
    MinDelay {
        /// Decisions.
        decisions: u64,
        /// Decisions for the candidate of least delay.
        least_delay: u64,
    },
    /// Traffic engineering.
    Splits(SplitCounts),
    /// A policy that the program knows nothing of.
    Unknown {
        /// Decisions.
        decisions: u64,
    },
}

/// Decisions of LCMP, made again without one of its costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LcmpCounts {
    /// Decisions by LCMP's own rules.
    pub decisions: u64,
    /// Decisions that the records do not explain, as after a change of parameters; in no other count.
    pub unexplained: u64,
    /// Decisions that C_path changed, against `alpha` = 0; none if `alpha` is 0.
    pub path: Option<Changed>,
    /// Decisions that C_cong changed, against `beta` = 0; none if `beta` is 0.
    pub congestion: Option<Changed>,
    /// Flows on another path than under the policy of the run whose `beta` is 0; none without one.
    pub against_rm_beta: Option<PathDifference>,
}

/// Number of decisions that differ from the same decision without one cost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Another set of candidates was kept.
    pub kept: u64,
    /// The kept candidates are others, or in another order, by which the hash indexes them.
    pub order: u64,
    /// Another next hop was chosen.
    pub next_hop: u64,
}

/// Flows on different paths under two policies.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PathDifference {
    /// Label of the other policy.
    pub policy: String,
    /// Flows whose paths under both are known.
    pub flows: u64,
    /// Those of them whose paths differ.
    pub differ: u64,
}

/// The next hops' shares against their buckets' shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HashCounts {
    /// Decisions, before the first fault if the plan has one: after it a next hop may be dead.
    pub decisions: u64,
    /// True if the plan has a fault.
    #[serde(default)]
    pub has_fault: bool,
    /// Next hops with buckets, summed over switches and destinations that have a choice.
    pub next_hops: u64,
    /// Those of them that were chosen.
    pub used: u64,
    /// Largest difference between a next hop's share and its buckets' share, among its
    /// destination's decisions.
    pub largest_difference: f64,
    /// Probability that a fair hash gives a larger chi-square; `None` without a choice, or if all decisions are
    /// untested.
    pub p_value: Option<f64>,
    /// Decisions that the chi-square leaves out, because five are not expected of each of two next hops or
    /// pools.
    #[serde(default)]
    pub untested: u64,
}

/// Splits of traffic engineering.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct SplitCounts {
    /// Controller intervals at whose end a split was installed.
    pub installed: u64,
    /// Those of them that changed a table.
    pub changed: u64,
    /// Decisions.
    pub decisions: u64,
    /// Decisions after the first split of their repetition that changed a table.
    pub after_first: u64,
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}
