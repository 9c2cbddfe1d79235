//! What agent and controller say to each other, one JSON value per line.
//!
//! All times are `CLOCK_MONOTONIC` nanoseconds. The first message of an agent is `ready`, the last
//! one `bye` or `error`; an agent whose socket closes ends. One that was killed says nothing more: its
//! controller sees the socket closed, and starts another.

use alloc::{string::String, vec::Vec};
use core::net::Ipv4Addr;

use lab_units::{BitsPerSec, Bytes, PortId};
use serde::{Deserialize, Serialize};

use super::DestinationConfig;
use crate::{LcmpConfig, Rule, Trigger};

/// What the controller tells an agent.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentCommand {
    /// Holds a port dead, or lets its link tell again.
    SetPort {
        /// The port.
        port: PortId,
        /// False: dead whatever its link says.
        is_enabled: bool,
    },
    /// A link's provisioning changed: its levels begin elsewhere from the next sample on.
    SetLink {
        /// The port.
        port: PortId,
        /// The link's emulated rate.
        rate_bps: BitsPerSec,
        /// The egress queue's emulated limit.
        buffer_bytes: Bytes,
    },
    /// A destination's candidates or their path costs changed: new flows are decided by these.
    SetDestination(DestinationConfig),
    /// Traffic engineering: the candidates' hash buckets are others; new flows are decided by these.
    SetBuckets(Vec<BucketRow>),
    /// LCMP's weights and thresholds are others from the next sample and the next decision on.
    SetLcmp(LcmpConfig),
    /// All tables are still as they should be: they are young again.
    ConfirmTables,
    /// Ends the agent, as closing the socket does, but lets it say what it still has to say.
    Stop,
}

/// What an agent tells the controller.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentMessage {
    /// The program is attached to all ports.
    Ready(Ready),
    /// The queues, every record interval.
    Queues(Queues),
    /// What the links carried: after `ready`, every link interval, and at the end.
    Links(Links),
    /// What the datacenter's hosts sent to each destination, every demand interval.
    Demands(Demands),
    /// Decisions since the last such message, oldest first.
    Decisions(Vec<DecisionReport>),
    /// A port came to life or died.
    PortState(PortLiveness),
    /// Flows that left the flow table, at the end those still in it.
    Flows(Vec<FlowReport>),
    /// Counters, every stats interval and at the end.
    Stats(Stats),
    /// Why the agent ends.
    Error {
        /// The error and its causes.
        message: String,
    },
    /// The agent ends because it was told to; its program is detached.
    Bye,
}

/// How a program came to be attached.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Attachment {
    /// By tcx links.
    Tcx,
    /// By clsact filters.
    Netlink,
}

/// The program is attached.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Ready {
    /// When.
    pub time_ns: u64,
    /// The datacenter.
    pub dc: String,
    /// The agent's process.
    pub pid: u32,
    /// How the program is attached.
    pub attachment: Attachment,
    /// Ports, all with the program at their ingress.
    pub ports: u32,
    /// Time the kernel took to check and load the program.
    pub load_ns: u64,
    /// Flows of an agent that was killed, taken over with their ports; `null`: there was none.
    pub adopted: Option<u64>,
}

/// The hash buckets of a destination.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BucketRow {
    /// The prefix's address.
    pub addr: Ipv4Addr,
    /// The prefix's length in bits.
    pub prefix_len: u8,
    /// Buckets of each candidate, in the order of the configuration's or the latest
    /// [`SetDestination`](AgentCommand::SetDestination).
    pub buckets: Vec<u16>,
}

/// What the datacenter's hosts sent.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Demands {
    /// From here on: the time of the message before.
    pub since_ns: u64,
    /// To here.
    pub time_ns: u64,
    /// The destinations in the configuration's order.
    pub destinations: Vec<DemandReport>,
}

/// What the datacenter's hosts sent to a destination.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DemandReport {
    /// The prefix's address.
    pub addr: Ipv4Addr,
    /// The prefix's length in bits.
    pub prefix_len: u8,
    /// Bytes since the message before, Ethernet headers included.
    pub bytes: u64,
}

/// The queues of the sampled ports.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Queues {
    /// When they were sampled.
    pub time_ns: u64,
    /// The ports in the configuration's order.
    pub ports: Vec<QueueReport>,
}

/// The egress queue of a port.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct QueueReport {
    /// The port.
    pub port: PortId,
    /// Bytes waiting.
    pub backlog_bytes: u64,
    /// The most bytes seen waiting since the last report.
    pub max_backlog_bytes: u64,
    /// Q, the queue's level.
    pub q: u8,
    /// T, the trend's level.
    pub t: u8,
    /// D, the duration's level.
    pub d: u8,
    /// C_cong.
    pub c_cong: u8,
}

/// What the sampled ports sent.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Links {
    /// When their counters were read.
    pub time_ns: u64,
    /// The ports in the configuration's order.
    pub ports: Vec<LinkReport>,
}

/// What a port sent since its qdisc was made.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LinkReport {
    /// The port.
    pub port: PortId,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets dropped.
    pub drops: u64,
}

/// A decision.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DecisionReport {
    /// When.
    pub time_ns: u64,
    /// The flow's source address.
    pub src_ip: Ipv4Addr,
    /// The flow's destination address.
    pub dst_ip: Ipv4Addr,
    /// The flow's source port.
    pub sport: u16,
    /// The flow's destination port.
    pub dport: u16,
    /// The flow's IP protocol.
    pub proto: u8,
    /// The destination QP of the deciding packet, if it was RoCEv2.
    pub dest_qp: Option<u32>,
    /// The flow's hash.
    pub hash: u32,
    /// Why it was decided.
    pub trigger: Trigger,
    /// By which rule.
    pub rule: Rule,
    /// The candidates in the order of the configuration.
    pub candidates: Vec<CandidateReport>,
    /// The port it is pinned to.
    pub port: PortId,
}

/// A candidate as a decision saw it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CandidateReport {
    /// The egress port.
    pub port: PortId,
    /// C_path.
    pub c_path: u8,
    /// C_cong.
    pub c_cong: u8,
    /// C, the total cost; 0 where the rule does not compute it.
    pub cost: u32,
    /// Whether the port was alive.
    pub is_alive: bool,
    /// Whether the hash was taken over this candidate and those like it.
    pub is_kept: bool,
}

/// A port's liveness changed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PortLiveness {
    /// When the agent learned of it.
    pub time_ns: u64,
    /// The port.
    pub port: PortId,
    /// Whether flows may use it.
    pub is_alive: bool,
}

/// A row of the flow table.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FlowReport {
    /// The flow's source address.
    pub src_ip: Ipv4Addr,
    /// The flow's destination address.
    pub dst_ip: Ipv4Addr,
    /// The flow's source port.
    pub sport: u16,
    /// The flow's destination port.
    pub dport: u16,
    /// The flow's IP protocol.
    pub proto: u8,
    /// The port it is pinned to.
    pub port: PortId,
    /// Packets forwarded.
    pub packets: u64,
    /// Bytes forwarded, Ethernet headers included.
    pub bytes: u64,
    /// Decisions made for it: more than one after a failover.
    pub decisions: u32,
    /// Time of its latest packet.
    pub last_seen_ns: u64,
}

/// Counters of the switch since its program was first attached.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Stats {
    /// When they were read.
    pub time_ns: u64,
    /// Frames received.
    pub received: u64,
    /// Packets forwarded by their flow's entry.
    pub hits: u64,
    /// Flows decided for the first time.
    pub new_flows: u64,
    /// Flows decided again because their port had died.
    pub failovers: u64,
    /// Flows decided again because they had outgrown their port.
    pub outgrown: u64,
    /// Decisions by a fallback rule.
    pub fallbacks: u64,
    /// Those of them for want of fresh tables or signals.
    pub stale: u64,
    /// Frames left to the kernel: not IPv4, with IP options, or to no known destination.
    pub passed: u64,
    /// Packets left to the kernel because their TTL ended here.
    pub ttl_expired: u64,
    /// Packets dropped because their destination had no live candidate.
    pub no_destination: u64,
    /// Flows that could not be entered in the flow table.
    pub not_pinned: u64,
    /// Flows in the table: counted at every collection of idle flows and at the end, in between
    /// those entered since then on top of that.
    pub occupancy: u64,
    /// Flows forgotten because they were idle.
    pub expired: u64,
    /// Flows the kernel evicted from a full table, the least recently seen first.
    pub evicted: u64,
    /// Decisions that were not recorded because the ring buffer was full.
    pub records_lost: u64,
    /// Messages dropped because the controller did not read them.
    pub messages_lost: u64,
    /// Samples of the queues.
    pub samples: u64,
    /// Samples that began more than one interval late.
    pub late_samples: u64,
}
