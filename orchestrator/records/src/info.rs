//! What a run is: everything known before its first flow.

use lab_units::{BitsPerSec, Bytes, Clock, LinkChange, Nanos, Ratio, Semantics};
use serde::{Deserialize, Serialize};

/// What is run, with what, where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The scenario's name.
    pub scenario: String,
    /// The scenario's description.
    pub description: String,
    /// SHA-256 of the scenario's text and of every file it names, in hex.
    pub scenario_hash: String,
    /// SHA-256 of `plan.json`, in hex.
    pub plan_hash: String,
    /// Version of lcmp-lab.
    pub tool_version: String,
    /// Release of the kernel it ran on, as `uname -r` says it; it carried the packets, unless the
    /// engine is the simulator.
    pub kernel_release: String,
    /// What played the plan.
    pub engine: EngineInfo,
    /// Where.
    pub place: Place,
    /// By which clock.
    pub clock: Clock,
    /// What ran the guest's instructions: `kvm`, `tcg`; nothing outside a guest.
    pub accel: Option<String>,
    /// Emulated ÷ paper.
    pub scale: ScaleInfo,
    /// Seed of everything sampled.
    pub seed: u64,
    /// How often each policy runs.
    pub repetitions: u32,
    /// Labels of the policies, in the order of the scenario: the first is what others are compared
    /// with.
    pub policies: Vec<String>,
    /// Flows of the schedule, over all repetitions; each policy runs all of them.
    pub scheduled_flows: u64,
    /// The datacenters, in the order of the plan.
    pub dcs: Vec<DcInfo>,
    /// The inter-DC links, in the order of the plan.
    pub links: Vec<LinkInfo>,
    /// The faults, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultInfo>,
    /// What packets cost that are not scaled.
    pub granularity: Granularity,
    /// What the plan warns of.
    pub warnings: Vec<String>,
}

/// What plays a plan.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineInfo {
    /// The Linux kernel: namespaces, tc, SoftRoCE, eBPF.
    Kernel,
    /// The simulator.
    Sim(SimInfo),
}

/// What a simulated run is.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct SimInfo {
    /// The rules its network follows.
    pub semantics: Semantics,
    /// Congestion control of each policy's senders, in the order of [`RunInfo::policies`].
    pub cc: Vec<String>,
    /// Threads that share the work; results do not depend on them.
    pub threads: u32,
}

/// Where a run happened.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// On this machine, not in a guest.
    Here,
    /// In a QEMU guest.
    Guest,
}

/// Emulated ÷ paper: rates by `rate`, times by `time`, sizes by `size = rate · time`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ScaleInfo {
    /// Of rates.
    pub rate: Ratio,
    /// Of times.
    pub time: Ratio,
    /// Of sizes.
    pub size: Ratio,
}

/// A datacenter.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct DcInfo {
    /// Its name.
    pub name: String,
    /// Its hosts, by name.
    pub hosts: Vec<String>,
    /// Its DCI switch runs no agent: plain kernel ECMP.
    pub legacy: bool,
}

/// An inter-DC link, as the scenario has it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct LinkInfo {
    /// Its name: `dc1-dc2`.
    pub name: String,
    /// The DC at one end.
    pub a: String,
    /// The DC at the other end.
    pub b: String,
    /// Rate of each direction.
    pub rate_bps: BitsPerSec,
    /// One-way propagation delay.
    pub delay_ns: Nanos,
    /// Egress queue at each end.
    pub buffer_bytes: Bytes,
}

/// A fault of an inter-DC link.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FaultInfo {
    /// When, from a repetition's start.
    pub time_ns: Nanos,
    /// The link.
    pub link: String,
    /// What becomes of it.
    pub change: LinkChange,
}

/// What it costs that packets are not scaled.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Granularity {
    /// Share of flows whose emulated size is under one packet, in percent.
    pub sub_packet_flows_percent: u32,
    /// Longest serialisation of one full packet against the shortest inter-DC delay, in percent.
    pub packet_vs_delay_percent: u32,
}
