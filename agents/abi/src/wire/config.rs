//! Configuration of an agent.
//!
//! Times, rates and queue sizes are emulated units. LCMP's parameters are the paper's: the agent
//! reads their dimensionless values and scales port thresholds by the two factors.

use alloc::{string::String, vec::Vec};
use core::net::Ipv4Addr;

use lab_units::{BitsPerSec, Bytes, Mac, Nanos, PortId, Ratio};
use serde::{Deserialize, Serialize};

use crate::LcmpConfig;

/// Length limit of an interface name in Linux, in bytes.
pub const MAX_INTERFACE_NAME: usize = 15;

/// Configuration for the agent on one DCI switch.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Name of the lab, for messages.
    pub lab: String,
    /// Name of the datacenter, for messages.
    pub dc: String,
    /// Id of the switch in the plan, and seed of its flow hash.
    pub switch_id: u32,
    /// Routing policy.
    pub policy: PolicyConfig,
    /// Emulated time over paper time.
    pub time_scale: Ratio,
    /// Emulated bytes over paper bytes.
    pub size_scale: Ratio,
    /// Ports of the switch, including those towards the hosts.
    pub ports: Vec<PortConfig>,
    /// Remote destinations; the kernel forwards packets to any other.
    pub destinations: Vec<DestinationConfig>,
    /// Prefix of the datacenter's own hosts, whose traffic is its demand.
    pub local: LocalPrefix,
    /// Buffer that the ports share under PFC; none: each has a queue of its own, and drops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_buffer: Option<SharedBufferConfig>,
    /// Time of the agent's clock that all intervals count from.
    pub start_ns: Nanos,
    /// Time between two samples of the queues, for policies that use congestion signals.
    pub sample_interval_ns: Nanos,
    /// Time between two messages about queues and decisions.
    pub record_interval_ns: Nanos,
    /// Time between two messages about the links' counters.
    pub link_interval_ns: Nanos,
    /// Time between two messages about the switch's counters and flow table.
    pub stats_interval_ns: Nanos,
    /// Time between two messages about demands; `null`: demands are not counted, which saves a table
    /// lookup per packet.
    pub demand_interval_ns: Option<Nanos>,
    /// Time between two runs of the flow-cache garbage collection.
    pub gc_interval_ns: Nanos,
    /// Time without a packet after which a flow's entry is removed.
    pub idle_timeout_ns: Nanos,
    /// Age of the congestion signals from which LCMP hashes over all candidates; `null`: no limit.
    pub stale_after_ns: Option<Nanos>,
    /// Time since the controller last wrote or confirmed the tables from which every policy hashes
    /// over all live candidates; `null`: no limit.
    pub max_table_age_ns: Option<Nanos>,
    /// Rows of the flow table.
    pub flow_table_entries: u32,
    /// Path of the controller's unix socket.
    pub controller_socket: String,
    /// Directory of a BPF file system where maps and links are pinned: forwarding goes on without the
    /// agent, and the next agent takes it over. `null`: maps and links end with the agent.
    pub pin_dir: Option<String>,
    /// Attachment of the program to the ports.
    pub attach: AttachMode,
}

/// Routing policy, as far as a switch knows it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyConfig {
    /// Hash over the live candidates' buckets: ECMP and the weighted policies.
    Buckets,
    /// LCMP; its time parameters are overridden by those of [`AgentConfig`].
    Lcmp(LcmpConfig),
    /// Switch program of the user's own.
    Own(OwnPolicy),
}

impl PolicyConfig {
    /// Returns the parameters of the ports' congestion, if the policy uses it.
    #[must_use]
    pub const fn congestion(&self) -> Option<&LcmpConfig> {
        match self {
            Self::Buckets => None,
            Self::Lcmp(lcmp) => Some(lcmp),
            Self::Own(own) => Some(&own.parameters),
        }
    }
}

/// The user's own switch program, with the same maps as the agent's program.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OwnPolicy {
    /// Path of the eBPF object.
    pub object: String,
    /// Parameters of C_path and C_cong in its tables.
    pub parameters: LcmpConfig,
}

/// Prefix of a datacenter's hosts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LocalPrefix {
    /// Address of the prefix.
    pub addr: Ipv4Addr,
    /// Length of the prefix in bits.
    pub prefix_len: u8,
}

/// Attachment of the program to the ports.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachMode {
    /// tcx from Linux 6.6 on, else netlink.
    #[default]
    Auto,
    /// tcx link, which ends with the agent unless it is pinned.
    Tcx,
    /// clsact filter, which the agent removes when it ends.
    Netlink,
}

/// Port of the switch.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PortConfig {
    /// Id of the port in the plan.
    pub id: PortId,
    /// Interface in the agent's network namespace.
    pub interface: String,
    /// Ethernet address of the port.
    pub src_mac: Mac,
    /// Ethernet address of the link's other end.
    pub dst_mac: Mac,
    /// True if the port's queue is sampled and reported, as for inter-DC ports.
    pub is_queue_sampled: bool,
    /// False: the port counts as dead, whatever the state of its link.
    pub is_enabled: bool,
    /// Emulated rate of the link.
    pub rate_bps: BitsPerSec,
    /// Emulated limit of the egress queue.
    pub buffer_bytes: Bytes,
    /// Thresholds of the packets that the queue marks; none: it marks none.
    pub ecn: Option<EcnConfig>,
    /// The port's part of the shared buffer, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<IngressConfig>,
}

/// Emulated sizes of a switch's shared buffer.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SharedBufferConfig {
    /// All bytes, the limit of each egress queue.
    pub bytes: Bytes,
    /// Bytes that the ports share: without their reserves and headrooms.
    pub shared_bytes: Bytes,
    /// Lowest rate of a port towards another datacenter, changes of its link included.
    pub lowest_rate_bps: BitsPerSec,
}

/// Part of a switch's shared buffer that an ingress port has.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IngressConfig {
    /// Emulated bytes for packets under way when a pause is sent; 0: the port drops instead.
    pub headroom_bytes: Bytes,
    /// The port's share of the free bytes is 2^-`threshold_shift`.
    pub threshold_shift: u32,
    /// True if a host is at the other end, which can be paused.
    pub is_from_host: bool,
}

/// Marking of packets that meet a queue: none up to `k_min`, all above `k_max`, in between a share that
/// grows to `p_max`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EcnConfig {
    /// Emulated queue up to which no packet is marked.
    pub k_min: Bytes,
    /// Emulated queue above which every packet is marked.
    pub k_max: Bytes,
    /// Share of marked packets at `k_max`.
    pub p_max: Ratio,
}

/// Remote destination.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DestinationConfig {
    /// Address of the prefix.
    pub addr: Ipv4Addr,
    /// Length of the prefix in bits.
    pub prefix_len: u8,
    /// Candidate next hops in order of increasing one-way delay.
    pub candidates: Vec<CandidateConfig>,
    /// Size thresholds of flow ageing, which replace the buckets; none: flows are never re-routed for
    /// their size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub size_thresholds: Vec<SizeThreshold>,
}

/// A flow's cheapest candidates from a number of sent bytes on (UCMP's flow ageing).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SizeThreshold {
    /// Bytes sent, as counted at the switch with headers.
    pub from_bytes: Bytes,
    /// True at the index of each candidate that is one of the cheapest.
    pub cheapest: Vec<bool>,
}

/// Candidate next hop of a destination.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateConfig {
    /// Egress port.
    pub port: PortId,
    /// C_path of the path to the destination.
    pub c_path: u8,
    /// Hash buckets; 0: never chosen by buckets.
    pub buckets: u16,
}
