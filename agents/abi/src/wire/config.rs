//! An agent's configuration.
//!
//! Everything about the lab's own time and queues is in emulated units here. Of LCMP's parameters
//! the agent takes the numbers without a unit; what it scales itself it scales by the two factors.

use alloc::{string::String, vec::Vec};
use core::net::Ipv4Addr;

use lab_units::{BitsPerSec, Bytes, Mac, Nanos, PortId, Ratio};
use serde::{Deserialize, Serialize};

use crate::LcmpConfig;

/// The longest name Linux gives an interface.
pub const MAX_INTERFACE_NAME: usize = 15;

/// All that the agent of one DCI switch needs to know.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// The lab's name, for messages.
    pub lab: String,
    /// The datacenter's name, for messages.
    pub dc: String,
    /// The switch's id in the plan: the seed of its flow hash.
    pub switch_id: u32,
    /// How new flows are decided.
    pub policy: PolicyConfig,
    /// Emulated time over paper time.
    pub time_scale: Ratio,
    /// Emulated bytes over paper bytes.
    pub size_scale: Ratio,
    /// The switch's ports, those towards the hosts included.
    pub ports: Vec<PortConfig>,
    /// The remote destinations; what is not among them is left to the kernel.
    pub destinations: Vec<DestinationConfig>,
    /// The datacenter's own hosts; what they send is its demand.
    pub local: LocalPrefix,
    /// Time between two samples of the queues; only policies that look at queues sample for their
    /// decisions.
    pub sample_interval_ns: Nanos,
    /// Time between two messages about queues and decisions.
    pub record_interval_ns: Nanos,
    /// Time between two messages about what the links carried.
    pub link_interval_ns: Nanos,
    /// Time between two messages about the switch as a whole: its counters and its flow table.
    pub stats_interval_ns: Nanos,
    /// Time between two messages about what the datacenter's hosts sent to each destination; `null`:
    /// it is not counted, which saves every packet a table's row.
    pub demand_interval_ns: Option<Nanos>,
    /// Time between two searches for idle flows.
    pub gc_interval_ns: Nanos,
    /// A flow not seen for this long is forgotten.
    pub idle_timeout_ns: Nanos,
    /// Samples older than this are not decided by; `null`: they never age.
    pub stale_after_ns: Option<Nanos>,
    /// Destinations' rows that the controller has neither written nor confirmed for this long are not
    /// decided by: flows are then hashed over all live candidates. `null`: they never age.
    pub max_table_age_ns: Option<Nanos>,
    /// Rows of the flow table.
    pub flow_table_entries: u32,
    /// The unix socket the controller listens on.
    pub controller_socket: String,
    /// A directory of a BPF file system, for maps and links to outlive the agent: forwarding then
    /// goes on without it, and the next agent takes all of it over. `null`: all goes with the agent.
    pub pin_dir: Option<String>,
    /// How the program is attached to the ports.
    pub attach: AttachMode,
}

/// A routing policy, as far as a switch knows it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyConfig {
    /// The flow's hash over the live candidates' buckets: ECMP, and what weighs its next hops.
    Buckets,
    /// LCMP with its parameters; of its times those beside the policy count, not those within.
    Lcmp(LcmpConfig),
    /// A switch program of the user's own.
    Own(OwnPolicy),
}

impl PolicyConfig {
    /// What the ports' congestion is computed with, if the policy looks at it.
    #[must_use]
    pub const fn congestion(&self) -> Option<&LcmpConfig> {
        match self {
            Self::Buckets => None,
            Self::Lcmp(lcmp) => Some(lcmp),
            Self::Own(own) => Some(&own.parameters),
        }
    }
}

/// A switch program of the user's own, with the maps of the agent's.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OwnPolicy {
    /// The path of its object.
    pub object: String,
    /// What C_path and C_cong in its tables are computed with.
    pub parameters: LcmpConfig,
}

/// The addresses of a datacenter's hosts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LocalPrefix {
    /// The prefix's address.
    pub addr: Ipv4Addr,
    /// The prefix's length in bits.
    pub prefix_len: u8,
}

/// How the program is attached.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachMode {
    /// tcx where the kernel has it (6.6), else netlink.
    #[default]
    Auto,
    /// A tcx link, which ends with the agent.
    Tcx,
    /// A clsact filter, which the agent removes when it ends.
    Netlink,
}

/// A port of the switch.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PortConfig {
    /// The port's id in the plan.
    pub id: PortId,
    /// Its interface in the agent's network namespace.
    pub interface: String,
    /// Its own Ethernet address.
    pub src_mac: Mac,
    /// The Ethernet address at the other end of its link.
    pub dst_mac: Mac,
    /// Whether its queue is sampled and reported: true for the inter-DC ports.
    pub is_queue_sampled: bool,
    /// False: held dead, whatever its link says.
    pub is_enabled: bool,
    /// The link's emulated rate.
    pub rate_bps: BitsPerSec,
    /// The egress queue's emulated limit.
    pub buffer_bytes: Bytes,
}

/// A remote destination.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DestinationConfig {
    /// The prefix's address.
    pub addr: Ipv4Addr,
    /// The prefix's length in bits.
    pub prefix_len: u8,
    /// The next hops in order of increasing one-way delay.
    pub candidates: Vec<CandidateConfig>,
    /// The ages of a flow that goes there, which then decide instead of buckets; none: flows stay
    /// where they are, however they grow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ages: Vec<AgeConfig>,
}

/// The cheapest next hops of a flow that has sent so much.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgeConfig {
    /// Bytes as counted at the switch, headers included.
    pub from_bytes: Bytes,
    /// For each candidate, whether it is one of them.
    pub cheapest: Vec<bool>,
}

/// A next hop of a destination.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateConfig {
    /// The egress port.
    pub port: PortId,
    /// C_path of the path from here to the destination.
    pub c_path: u8,
    /// Hash buckets; none of it: never chosen by buckets.
    pub buckets: u16,
}
