//! Configuration of an agent.
//!
//! Times, rates and queue sizes are in emulated units. LCMP's parameters are those of the paper: the agent uses the
//! dimensionless parameters unchanged and scales port thresholds by `time_scale` and `size_scale`.

use alloc::{string::String, vec::Vec};
use core::net::Ipv4Addr;

use lab_units::{BitsPerSec, Bytes, Mac, Nanos, PortId, Ratio};
use serde::{Deserialize, Serialize};

use crate::LcmpConfig;

/// Maximum length of an interface name in Linux, in bytes.
pub const MAX_INTERFACE_NAME: usize = 15;

/// Configuration of the agent on one DCI switch.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Name of the lab, used in messages.
    pub lab: String,
    /// Name of the datacenter, used in messages.
    pub dc: String,
    /// Id of the switch in the plan; also the seed of its flow hash.
    pub switch_id: u32,
    pub policy: PolicyConfig,
    /// Ratio of time in the lab to time at the paper's scale.
    pub time_scale: Ratio,
    /// Ratio of bytes in the lab to bytes at the paper's scale.
    pub size_scale: Ratio,
    /// Ports of the switch, including those towards the hosts.
    pub ports: Vec<PortConfig>,
    /// Remote destinations; the kernel forwards packets to all other addresses.
    pub destinations: Vec<DestinationConfig>,
    /// Transit rows, for packets that other datacenters' switches have sent into tunnels. Those without a row are
    /// dropped if their destination is among `destinations`. `null`: there are no tunnels, and this switch chooses for
    /// all packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transits: Option<Vec<TransitConfig>>,
    /// Prefix of the datacenter's own hosts, whose traffic counts as the datacenter's demand.
    pub local: LocalPrefix,
    /// Buffer that the ports share under PFC. `null`: each port has its own queue and drops packets when that is
    /// full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_buffer: Option<SharedBufferConfig>,
    /// Start of the run on the agent's clock; every timer is due at whole multiples of its interval before and after
    /// this time.
    pub start_ns: Nanos,
    /// Interval between two samples of the queues, for policies that use congestion signals.
    pub sample_interval_ns: Nanos,
    /// Interval between two messages about queues and decisions.
    pub record_interval_ns: Nanos,
    /// Interval between two messages about link counters.
    pub link_interval_ns: Nanos,
    /// Interval between two messages about the switch's counters and flow table.
    pub stats_interval_ns: Nanos,
    /// Interval between two messages about demands. `null`: demands are not counted, which saves a table lookup per
    /// packet.
    pub demand_interval_ns: Option<Nanos>,
    /// Trained weights by which the agent itself changes the hash buckets at the end of every demand interval. `null`:
    /// only the controller changes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<ActorConfig>,
    /// Interval between two runs of the flow-cache garbage collection.
    pub gc_interval_ns: Nanos,
    /// Time without a packet after which a flow's entry is removed from the flow table.
    pub idle_timeout_ns: Nanos,
    /// Maximum age of the congestion signals; if they are older, LCMP hashes over all live candidates. `null`: no
    /// limit.
    pub stale_after_ns: Option<Nanos>,
    /// Maximum age of the tables since the controller's last write or confirmation; if they are older, every policy
    /// hashes over all live candidates. `null`: no limit.
    pub max_table_age_ns: Option<Nanos>,
    /// Number of rows in the flow table.
    pub flow_table_entries: u32,
    /// Path of the controller's unix socket.
    pub controller_socket: String,
    /// Directory on a bpffs mount in which maps and links are pinned, so that forwarding continues without the agent
    /// and the next agent takes over. `null`: maps and links are removed when the agent ends.
    pub pin_dir: Option<String>,
    /// How the program is attached to the ports.
    pub attach: AttachMode,
}

/// Trained weights of a switch, and the meaning of their inputs and outputs.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ActorConfig {
    /// Text of a weight file that contains only the switch's network.
    pub weights: String,
    /// Ports whose sent bytes are the first inputs; the demands of all destinations follow.
    pub links: Vec<PortId>,
    /// Destinations with a choice, in the order of the outputs.
    pub heads: Vec<HeadConfig>,
    /// Largest rate of an inter-DC link in the network, to which demands are relative.
    pub largest_rate_bps: BitsPerSec,
    /// Number of hash buckets that are divided among the candidates of a destination.
    pub buckets: u16,
}

/// Destination with a choice.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HeadConfig {
    /// Index of the destination in [`AgentConfig::destinations`].
    pub destination: usize,
    /// Buckets of the candidates before the first decision, which apply again if no live candidate has a share.
    pub provisioned: Vec<u16>,
}

/// Routing policy of a switch, reduced to the parameters that the switch program and its agent need.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyConfig {
    /// Hash over the live candidates' buckets: ECMP and weighted policies.
    Buckets,
    /// LCMP; the time parameters of [`AgentConfig`] override those given here.
    Lcmp(LcmpConfig),
    /// Switch program supplied by the user.
    Own(OwnPolicy),
}

impl PolicyConfig {
    /// Returns the parameters of the ports' congestion signals if the policy uses them.
    #[must_use]
    pub const fn congestion(&self) -> Option<&LcmpConfig> {
        match self {
            Self::Buckets => None,
            Self::Lcmp(lcmp) => Some(lcmp),
            Self::Own(own) => Some(&own.parameters),
        }
    }
}

/// Switch program supplied by the user; it has the same maps as the agent's program.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OwnPolicy {
    /// Path of the eBPF object.
    pub object: String,
    /// Parameters for C_path and C_cong in the program's tables.
    pub parameters: LcmpConfig,
}

/// Transit row: egress port of the packets between two datacenters that arrive at one port, on their tunnel. All
/// datacenters' prefixes have the length of [`AgentConfig::local`].
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TransitConfig {
    /// Network address of the source datacenter's prefix.
    pub from: Ipv4Addr,
    /// Network address of the destination datacenter's prefix.
    pub to: Ipv4Addr,
    /// Port at which the packets arrive.
    pub ingress: PortId,
    /// Port through which the packets leave.
    pub egress: PortId,
}

impl TransitConfig {
    /// Returns the pair and the ingress port, which together identify a row of a switch.
    #[must_use]
    pub const fn key(&self) -> ([Ipv4Addr; 2], PortId) {
        ([self.from, self.to], self.ingress)
    }
}

/// Prefix of a datacenter's hosts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LocalPrefix {
    /// Network address of the prefix.
    pub addr: Ipv4Addr,
    /// Length of the prefix in bits.
    pub prefix_len: u8,
}

/// How the program is attached to the ports.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachMode {
    /// tcx from Linux 6.6 on, otherwise netlink.
    #[default]
    Auto,
    /// tcx link, which ends with the agent unless it is pinned.
    Tcx,
    /// clsact filter, which the agent removes when it ends.
    Netlink,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PortConfig {
    pub id: PortId,
    /// Name of the interface in the agent's network namespace.
    pub interface: String,
    /// MAC address of the port.
    pub src_mac: Mac,
    /// MAC address of the interface at the other end of the link.
    pub dst_mac: Mac,
    /// True if the port's queue is sampled and reported, which is the case for inter-DC ports.
    pub is_queue_sampled: bool,
    /// False: the port counts as dead regardless of the state of its link.
    pub is_enabled: bool,
    /// Rate of the port's link, after scaling.
    pub rate_bps: BitsPerSec,
    /// Size limit of the egress queue, after scaling.
    pub buffer_bytes: Bytes,
    /// Thresholds for marking packets in the queue; `null`: packets are not marked.
    pub ecn: Option<EcnConfig>,
    /// Limits of the port in the shared buffer; `null`: the switch has no shared buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<IngressConfig>,
}

/// Sizes of a switch's shared buffer, after scaling.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SharedBufferConfig {
    /// Size of the whole buffer, which also limits each egress queue.
    pub bytes: Bytes,
    /// Size of the part that all ports share, without the ports' reserves and headrooms.
    pub shared_bytes: Bytes,
    /// Lowest rate of any port towards another datacenter during the run, including rate changes by faults.
    pub lowest_rate_bps: BitsPerSec,
}

/// Limits of an ingress port in the switch's shared buffer.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IngressConfig {
    /// Size, after scaling, of the headroom for packets in flight when a pause is sent; 0: the port drops packets
    /// instead of pausing.
    pub headroom_bytes: Bytes,
    /// Exponent of the port's share of the shared buffer: at most 2^-`threshold_shift` times the free bytes.
    pub threshold_shift: u32,
    /// True if the other end of the link is a host, which can be paused.
    pub is_from_host: bool,
}

/// ECN marking of queued packets: no packet up to `k_min`, every packet above `k_max`, and in between a fraction that
/// grows linearly to `p_max`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EcnConfig {
    /// Queue length, after scaling, up to which no packet is marked.
    pub k_min: Bytes,
    /// Queue length, after scaling, above which every packet is marked.
    pub k_max: Bytes,
    /// Fraction of packets marked at `k_max`.
    pub p_max: Ratio,
}

/// Remote destination and its candidate next hops.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DestinationConfig {
    /// Network address of the prefix.
    pub addr: Ipv4Addr,
    /// Length of the prefix in bits.
    pub prefix_len: u8,
    /// Candidate next hops in order of increasing one-way delay.
    pub candidates: Vec<CandidateConfig>,
    /// Size thresholds of flow ageing, which replace the hash buckets; empty: no flow is re-routed because of the bytes
    /// that it has sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub size_thresholds: Vec<SizeThresholdConfig>,
}

/// Cheapest candidates of a flow that has sent a given number of bytes (UCMP's flow ageing).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SizeThresholdConfig {
    /// Bytes sent, counted at the switch with headers.
    pub from_bytes: Bytes,
    /// One flag per candidate: true if it is one of the cheapest.
    pub cheapest: Vec<bool>,
}

/// Candidate next hop of a destination.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateConfig {
    /// Egress port towards the candidate.
    pub port: PortId,
    /// C_path of the candidate's path to the destination.
    pub c_path: u8,
    /// Number of hash buckets; 0: a hash over buckets never chooses the candidate.
    pub buckets: u16,
}
