//! An agent's configuration.
//!
//! Everything about the lab's own time and queues is in emulated units here. Of LCMP's parameters
//! the agent takes the numbers without a unit; what it scales itself it scales by the two factors.

use alloc::{string::String, vec::Vec};
use core::net::Ipv4Addr;

use lab_units::{BitsPerSec, Bytes, Nanos, PortId, Ratio};
use serde::{Deserialize, Serialize};

use super::MacAddr;
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
    /// Time between two samples of the queues; only LCMP samples for its decisions.
    pub sample_interval_ns: Nanos,
    /// Time between two messages about queues and decisions.
    pub record_interval_ns: Nanos,
    /// Time between two messages about what the links carried.
    pub link_interval_ns: Nanos,
    /// Time between two searches for idle flows.
    pub gc_interval_ns: Nanos,
    /// A flow not seen for this long is forgotten.
    pub idle_timeout_ns: Nanos,
    /// Samples older than this are not decided by; `null`: they never age.
    pub stale_after_ns: Option<Nanos>,
    /// Rows of the flow table.
    pub flow_table_entries: u32,
    /// The unix socket the controller listens on.
    pub controller_socket: String,
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
    pub src_mac: MacAddr,
    /// The Ethernet address at the other end of its link.
    pub dst_mac: MacAddr,
    /// Whether its queue is sampled and reported: true for the inter-DC ports.
    pub is_queue_sampled: bool,
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
