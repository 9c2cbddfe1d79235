//! Evidence that a run tested what it ranks: the load on the network, and how often each policy's own mechanism acted.
//!
//! A policy whose mechanism never acted gives the results of a simpler policy, so its rank shows nothing about the
//! mechanism.

use lab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Evidence that a run exercised the mechanisms in which its policies differ. Without this evidence, a ranking means
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Offered load of each sending datacenter; empty without workloads.
    #[serde(default)]
    pub load: Vec<OfferedLoad>,
    /// Start of the last workload flow ÷ duration of the workloads, the minimum over all repetitions; `None` without
    /// workloads. Flows that had not started when the run ended do not count.
    #[serde(default)]
    pub covered: Option<f64>,
    /// Flows from lists and flow files, which do not count towards the load.
    #[serde(default)]
    pub listed: ListedFlows,
    /// Time spans in which faults leave pairs of datacenters with flows without a next hop, by start and end; left out if
    /// there are none, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutageInfo>,
    /// Evidence for each policy, in the scenario's order.
    #[serde(default)]
    pub policies: Vec<PolicyEvidence>,
}

/// Load of one sending datacenter, as a fraction of its workload's `load_base`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedLoad {
    pub dc: String,
    /// Load that the workloads specify.
    pub requested: f64,
    /// Load that the flows offered over the workloads' duration or, if the run ended before all flows had started, over
    /// the time until the run's end.
    pub offered: f64,
}

/// Flows from lists and flow files, over all repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct ListedFlows {
    /// Number of flows.
    pub flows: u64,
    /// Sum of the flows' sizes at the paper's scale, in bytes.
    pub bytes: Bytes,
}

/// Time span in which the same pairs of datacenters have no next hop: their traffic can reach a switch whose candidates'
/// links are all cut. The span ends at a repair, or when the switches get new candidates.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct OutageInfo {
    /// Start of the span relative to the repetition's start, in paper time.
    pub from_ns: Nanos,
    /// End of the span, in paper time; `None` if it lasts.
    pub to_ns: Option<Nanos>,
    /// Number of ordered pairs, from the source to the destination of data or acknowledgements.
    pub pairs: u64,
    /// Names of the first pairs.
    pub first_pairs: Vec<[String; 2]>,
}

/// Flows of one policy in one of the [outages](Evidence::outages), over all repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct OutageFlows {
    /// Number of flows that were under way during the outage and whose data or acknowledgements are of its pairs. A flow
    /// that did not finish counts as under way from its start on.
    pub flows: u64,
    /// Number of these flows that did not finish.
    pub unfinished: u64,
}

/// Counts for one policy while a switch had no agent, over all repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct CrashCounts {
    /// Number of decisions that the switch recorded meanwhile.
    pub decisions: u64,
    /// Number of these decisions for new flows by a hash over all live candidates, because tables or queue samples
    /// were stale; decisions for other reasons, such as a failover, are not counted.
    pub stale: u64,
    /// Number of times that the agent would have sampled queues or changed splits meanwhile; 0 if the policy needs neither.
    pub missed: u64,
}

/// Unfinished flows of one policy, over all repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct UnfinishedFlows {
    /// Number of flows that did not finish, measured or not.
    pub flows: u64,
    /// Number of these flows that were under way during an outage of their pair.
    pub stranded: u64,
    /// Number of ordered pairs of a source and a destination datacenter between which the stranded flows went.
    pub pairs: u64,
}

/// Evidence for one policy, over all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyEvidence {
    /// Label of the policy.
    pub policy: String,
    /// Concurrency of the flows, and their use of links.
    pub met: Met,
    /// Counts of the actions of the policy's own mechanism.
    pub mechanism: Mechanism,
    /// Counts of queue samples and of decisions based on them; `None` in the simulator, whose samples are never late.
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// Counts of the switches' flow tables; `None` if no switch has an agent.
    pub tables: Option<FlowTables>,
    /// Failover after each link cut, by time.
    #[serde(default)]
    pub failovers: Vec<Failover>,
    /// Flows in each of the [outages](Evidence::outages), in the same order; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutageFlows>,
    /// Counts for each [crash](crate::RunInfo::agent_crashes) of an agent, in the same order; left out if there are none, and
    /// in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crashes: Vec<CrashCounts>,
    /// Unfinished flows; `None` if none of them was under way during an outage of its pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<UnfinishedFlows>,
    /// Number of finished flows for which the switch of their source datacenter recorded no decision.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided: u64,
}

/// Concurrency of flows and their use of links. A flow that did not finish counts as active until the end of its
/// repetition; see [`RepetitionEnds`](crate::RepetitionEnds).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Met {
    /// Mean number of active flows from the first start to the last end.
    pub mean_concurrency: f64,
    /// Maximum number of flows that were active at the same time.
    pub peak_concurrency: u64,
    /// Number of flows that started and whose path is known.
    pub flows: u64,
    /// Number of flows with a known path that shared a link direction with another flow while both flows were active.
    pub overlapping: u64,
    /// Busiest link direction while flows start; see [`ArrivalUse`](crate::ArrivalUse). `None` without a counter
    /// sample.
    pub busiest: Option<BusyLink>,
}

/// Counts of queue samples at all switches, and of decisions based on them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Number of samples.
    pub samples: u64,
    /// Number of samples that were taken only after the next one was due.
    pub late_samples: u64,
    /// Number of decisions that used C_cong; 0 under policies that do not sample queues.
    pub decisions: u64,
    /// Number of decisions that used C_cong from a sample older than a sampling interval.
    pub stale: u64,
    /// Maximum time by which a decision's sample was older than a sampling interval.
    pub overdue_ns: Nanos,
}

/// Counts of the flow tables at all DCI switches with an agent, summed over switches and repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct FlowTables {
    /// Number of packets forwarded by a flow table entry.
    pub hits: u64,
    /// Number of decisions, as counted by the switches.
    pub decisions: u64,
    /// Number of counted decisions that have no row in `decisions.csv`; 0 in the simulator, which loses no rows.
    pub unrecorded: u64,
    /// Maximum number of decisions per second of paper time at one switch, between successive rows in `switches.csv`.
    pub peak_decisions_per_s: u64,
    /// Number of decisions made because a flow's port was dead.
    pub failovers: u64,
    /// Number of decisions by a fallback rule, including those with stale inputs.
    pub fallbacks: u64,
    /// Number of decisions with stale tables or stale queue samples.
    pub stale: u64,
    /// Maximum number of flows in one switch's table.
    pub peak_flows: u64,
    /// Number of flows evicted because the flow table was full.
    pub evicted: u64,
    /// Number of idle flows that flow-cache garbage collection removed.
    pub expired: u64,
    /// Number of restarts of agents that had been killed.
    pub restarts: u64,
}

/// Re-routing of flows from dead ports after a link cut, over all repetitions.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Failover {
    /// Links that were cut at the same time.
    pub links: Vec<String>,
    /// Time of the cut relative to the repetition's start, in paper time.
    pub at_ns: Nanos,
    /// Number of decisions for flows that were pinned to a dead port.
    pub decisions: u64,
    /// Times from the cut to the first and the last decision for a flow that was pinned to a dead port; `None` without
    /// such decisions.
    pub span: Option<FailoverSpan>,
}

/// Times from a cut to the first and the last decision that it caused.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FailoverSpan {
    /// Time from the cut to the first decision, in paper time.
    pub first_ns: Nanos,
    /// Time from the cut to the last decision, in paper time.
    pub last_ns: Nanos,
    /// Times from the cut to the first and the last decision as measured in the lab, in emulated time; `None` in the
    /// simulator, whose switches detect a cut at once.
    pub lab_ns: Option<(Nanos, Nanos)>,
}

/// Link direction with its use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusyLink {
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Bytes carried ÷ bytes that the link could carry, mean over the repetitions.
    pub utilisation: f64,
}

/// Counts of the actions by which a policy differs from a simpler one. They only include decisions between several
/// candidates, for the first data packet of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// LCMP: decisions that would change without C_path or without C_cong.
    Lcmp(LcmpCounts),
    /// Hash over buckets: each next hop's share of the decisions.
    Hash(HashCounts),
    /// UCMP with flow ageing: flows that flow ageing re-routed.
    FlowAgeing {
        /// Number of flows with a decision.
        flows: u64,
        /// Number of flows that flow ageing re-routed.
        rerouted: u64,
    },
    /// UCMP without flow ageing: decisions for the candidate with the least delay.
    MinDelay {
        /// Number of decisions.
        decisions: u64,
        /// Number of decisions for the candidate with the least delay.
        least_delay: u64,
    },
    /// Traffic engineering or trained weights: splits that the controller, or each switch for itself, installed.
    Splits(SplitCounts),
    /// Policy whose mechanism this program does not know.
    Unknown {
        /// Number of decisions.
        decisions: u64,
    },
}

/// Counts of LCMP's decisions, compared with the decisions that LCMP would make without C_path or without C_cong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LcmpCounts {
    /// Number of decisions by LCMP's own rules.
    pub decisions: u64,
    /// Number of decisions that differ from what the records imply, for example after parameters were tuned; the other
    /// counts exclude them.
    pub unexplained: u64,
    /// Decisions that would change with `alpha` = 0, without C_path; `None` if `alpha` is 0.
    pub path: Option<Changed>,
    /// Decisions that would change with `beta` = 0, without C_cong; `None` if `beta` is 0.
    pub congestion: Option<Changed>,
    /// Number of flows whose path differs from the path under the run's LCMP policy with `beta` = 0; `None` if the run
    /// has no such policy.
    pub against_rm_beta: Option<PathDifference>,
}

/// Numbers of decisions that would change without C_path, or without C_cong.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Number of decisions for which the set of kept candidates would change.
    pub kept: u64,
    /// Number of decisions for which the set or the order of kept candidates would change; the hash indexes this list.
    pub order: u64,
    /// Number of decisions for which the chosen next hop would change.
    pub next_hop: u64,
}

/// Number of flows whose paths differ between two policies.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PathDifference {
    /// Label of the policy whose paths are compared with this policy's paths.
    pub policy: String,
    /// Number of flows whose paths under the two compared policies are known.
    pub flows: u64,
    /// Number of flows whose known paths under the two compared policies differ.
    pub differ: u64,
}

/// Counts of decisions by next hop, compared with the next hops' shares of the hash buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HashCounts {
    /// Number of decisions. If the plan has faults, only the decisions before the first fault, because a next hop may
    /// be dead afterwards.
    pub decisions: u64,
    /// True if the plan has faults.
    #[serde(default)]
    pub has_fault: bool,
    /// Number of next hops with buckets, over all switches and all their destinations with several next hops.
    pub next_hops: u64,
    /// Number of next hops with buckets that were chosen at least once.
    pub used: u64,
    /// Maximum difference between a next hop's share of the decisions for its destination and its share of the buckets.
    pub largest_difference: f64,
    /// Probability that a fair hash gives a larger chi-square value; `None` if no destination has several next hops, or
    /// if no decision could be tested.
    pub p_value: Option<f64>,
    /// Number of decisions in the first repetition that the chi-square test leaves out: even after next hops are
    /// pooled, the decisions' destinations have fewer than two groups with at least five expected decisions.
    #[serde(default)]
    pub untested: u64,
}

/// Counts of the splits that a policy installed, and of the decisions after them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct SplitCounts {
    /// Number of intervals at whose end the controller installed splits; with trained weights, the sum over all
    /// switches.
    pub installed: u64,
    /// Number of intervals, counted likewise, whose splits changed a switch's table.
    pub changed: u64,
    /// Number of decisions for first data packets in all repetitions; those for ACKs are not counted.
    pub decisions: u64,
    /// Number of these decisions after the first split that changed a table, in the same repetition.
    pub after_first: u64,
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}
