//! Facts of a run that are known before its first flow starts.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use lab_units::{
    BitsPerSec, Bytes, CandidateSet, Clock, FlowId, LinkChange, Nanos, Ratio, Semantics,
};
use serde::{Deserialize, Serialize};

use crate::{DcNames, Provenance};

/// Facts of a run that are known before its first flow starts: scenario, versions, engine and network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Name of the scenario.
    pub scenario: String,
    /// Description of the scenario.
    pub description: String,
    /// SHA-256 of the scenario's text and of every file that it names, in hexadecimal.
    pub scenario_hash: String,
    /// SHA-256 of the plan's text, which `plan.json` has if it was kept, in hexadecimal.
    pub plan_hash: String,
    /// Version of lcmp-lab.
    pub tool_version: String,
    /// Kernel release, as `uname -r` prints it, where the run took place. In the kernel engine, this kernel forwarded
    /// the packets.
    pub kernel_release: String,
    /// Engine of the run, with its settings.
    pub engine: EngineInfo,
    /// Location of the run: on this machine's kernel or in a guest.
    #[serde(rename = "place")]
    pub location: Location,
    /// Clock that measured the run's times.
    pub clock: Clock,
    /// Accelerator of the guest: `kvm` or `tcg`; `None` outside a guest.
    pub accel: Option<String>,
    /// Scale factors, emulated ÷ paper.
    pub scale: ScaleInfo,
    /// Location, clock and capacity for which the scale was chosen automatically, as text; the capacity is a default,
    /// or measured and in the form of `--scale-for`. `None` if the scenario or the command line gives the factors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_fits: Option<String>,
    /// Seed of all random numbers in the plan.
    pub seed: u64,
    /// Number of repetitions per policy.
    pub repetitions: u32,
    /// Labels of the policies, in the scenario's order; the first is the baseline for comparisons.
    pub policies: Vec<String>,
    /// Number of scheduled flows, over all repetitions; each policy runs all of them.
    pub scheduled_flows: u64,
    /// True if there are several repetitions and all have the same flows, because these are listed; false in records of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_same_flows: bool,
    /// Flows that percentiles and comparisons include; `None` if they include all flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredFlows>,
    /// Measured flows with a choice of paths; `None` if all or none have one, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_choice: Option<FlowsWithChoice>,
    /// Rule by which next hops are candidates; left out if it is the default, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "CandidateSet::is_default")]
    pub candidate_set: CandidateSet,
    /// Time from a link's cut or repair to the switches' new candidates, in paper time; `None` if candidates never change,
    /// and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconverge_after_ns: Option<Nanos>,
    /// Datacenters, in the order of the plan.
    pub dcs: Vec<DcInfo>,
    /// Inter-DC links, in the order of the plan.
    pub links: Vec<LinkInfo>,
    /// Parameters of links that `links` lacks: loss and ECN marking on inter-DC links, and all parameters of links inside
    /// datacenters, each with the links that have it. Empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_details: Vec<String>,
    /// Faults by time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultInfo>,
    /// Parameters of each fault's link after the fault, for faults that set parameters. Empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault_details: Vec<String>,
    /// Crashes of switches' agents by time; left out if there are none, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_crashes: Vec<AgentCrashInfo>,
    /// Inaccuracy that results because packet sizes are not scaled.
    pub granularity: Granularity,
    /// Warnings of the plan.
    pub warnings: Vec<String>,
    /// Sentences, without full stops, on numbers of the topology that its graph does not have or that were changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// Origin of the run: program, command line, policies.
    #[serde(default)]
    pub provenance: Provenance,
}

/// Flows that are scheduled to start in the window of measured flows; times are paper time.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFlows {
    /// Earliest scheduled start in the window.
    pub from_ns: Nanos,
    /// End of the window: flows scheduled at or after this time are not measured. `None` if the window has no end.
    pub to_ns: Option<Nanos>,
    /// Ids of the measured flows, as ascending ranges.
    pub ids: Vec<Range<u32>>,
}

/// Flows whose data can reach a switch that has several candidates and a policy; all other flows take the same path
/// under every policy. The plan decides this for each pair of datacenters, so that the flows are the same for all
/// policies.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FlowsWithChoice {
    /// Number of measured flows with a choice, over all repetitions; each policy runs all of them.
    pub flows: u64,
    /// Destination datacenters by source datacenter, of the pairs with a choice between which flows are scheduled.
    pub pairs: BTreeMap<String, BTreeSet<String>>,
}

/// Engine of a run with its settings.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineInfo {
    /// The Linux kernel with network namespaces, tc, SoftRoCE and eBPF.
    Kernel,
    /// The simulator.
    Sim(SimInfo),
}

/// Settings of a simulated run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct SimInfo {
    /// Semantics of the simulated network, the paper's or the artifact's.
    pub semantics: Semantics,
    /// Congestion control of each policy's senders, in the order of [`RunInfo::policies`].
    pub cc: Vec<String>,
    /// Number of threads, which has no influence on the results.
    pub threads: u32,
    /// Maximum number of packets in a train, several packets that are one event; `None` if each packet is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trains: Option<u32>,
}

/// Location of a run or a lab: this machine or a guest.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Location {
    /// On this machine's kernel.
    #[default]
    Here,
    /// In a QEMU guest, with its own kernel. On this machine there is only the lab's directory, and the lab ends with
    /// its owner process.
    Guest,
}

/// Scale factors, emulated ÷ paper; `size = rate · time`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ScaleInfo {
    /// Factor of rates.
    pub rate: Ratio,
    /// Factor of times.
    pub time: Ratio,
    /// Factor of sizes.
    pub size: Ratio,
}

/// Datacenter of a scenario.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct DcInfo {
    pub name: String,
    pub hosts: Vec<String>,
    /// True if the DCI switch has no agent and forwards by plain kernel ECMP.
    pub legacy: bool,
}

/// Inter-DC link of a scenario, at the paper's scale (before scaling for emulation).
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct LinkInfo {
    /// Name of the link, such as `dc1-dc2`.
    pub name: String,
    /// Name of the datacenter at the link's first end.
    pub a: String,
    /// Name of the datacenter at the link's second end.
    pub b: String,
    /// Rate in each direction.
    pub rate_bps: BitsPerSec,
    /// One-way propagation delay.
    pub delay_ns: Nanos,
    /// Size of the egress queue at each end, in bytes.
    pub buffer_bytes: Bytes,
}

/// Fault at an inter-DC link.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FaultInfo {
    /// Time of the fault relative to the repetition's start, in paper time.
    pub time_ns: Nanos,
    /// Name of the link.
    pub link: String,
    /// Kind of change that the fault makes.
    pub change: LinkChange,
    /// Rate in each direction after the fault. `None` if the fault does not change the rate, and in runs of earlier
    /// versions, whose link rates are read as constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<BitsPerSec>,
}

/// Planned time span in which a datacenter's DCI switch has no agent.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AgentCrashInfo {
    /// Name of the datacenter.
    pub dc: String,
    /// Time of the crash relative to the repetition's start, in paper time.
    pub from_ns: Nanos,
    /// Start of the next agent, in paper time; `None` if there is none while flows run.
    pub to_ns: Option<Nanos>,
}

/// Inaccuracy that results because packet sizes are not scaled.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Granularity {
    /// Percentage of flows whose emulated size is less than one packet.
    pub sub_packet_flows_percent: u32,
    /// Longest serialisation time of a full packet ÷ shortest inter-DC delay, in percent.
    pub packet_vs_delay_percent: u32,
}

impl RunInfo {
    /// Returns the names of the datacenters.
    #[must_use]
    pub fn dc_names(&self) -> DcNames {
        self.dcs.iter().map(|dc| dc.name.as_str()).collect()
    }

    /// Returns the maximum number of packets in a train of a simulated run; `None` if each packet is one event.
    #[must_use]
    pub const fn trains(&self) -> Option<u32> {
        match &self.engine {
            EngineInfo::Sim(sim) => sim.trains,
            EngineInfo::Kernel => None,
        }
    }

    /// Returns true if the run kept flows and totals, but neither decisions nor samples over time.
    #[must_use]
    pub fn has_only_totals(&self) -> bool {
        let asked = self.provenance.asked.as_ref();
        asked.is_some_and(|asked| !asked.options.records.is_full())
    }

    /// Returns the number of flow rows of a complete run, in which each policy runs the whole schedule.
    #[must_use]
    pub fn total_flows(&self) -> u64 {
        let policies = u64::try_from(self.policies.len()).unwrap_or(u64::MAX);
        self.scheduled_flows.saturating_mul(policies)
    }

    /// Returns true if percentiles and comparisons include the flow.
    #[must_use]
    pub fn is_measured(&self, flow: FlowId) -> bool {
        self.measured.as_ref().is_none_or(|measured| {
            let ids = &measured.ids;
            let at = ids.partition_point(|range| range.end <= flow.0);
            ids.get(at).is_some_and(|range| range.contains(&flow.0))
        })
    }

    /// Returns true if the flows between two datacenters have a choice of paths and others have none.
    #[must_use]
    pub fn has_choice(&self, src_dc: &str, dst_dc: &str) -> bool {
        let pairs = self.with_choice.as_ref().map(|it| &it.pairs);
        let sinks = pairs.and_then(|pairs| pairs.get(src_dc));
        sinks.is_some_and(|sinks| sinks.contains(dst_dc))
    }

    /// Returns the number of scheduled flows per policy that percentiles and comparisons include.
    #[must_use]
    pub fn measured_flows(&self) -> u64 {
        match &self.measured {
            None => self.scheduled_flows,
            Some(measured) => measured
                .ids
                .iter()
                .map(|range| u64::from(range.end - range.start))
                .sum(),
        }
    }
}
