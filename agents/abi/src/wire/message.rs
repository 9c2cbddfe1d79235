//! Messages between agent and controller, one JSON value per line.
//!
//! All times are `CLOCK_MONOTONIC` nanoseconds. An agent's first message is `ready`, its last is `bye`
//! or `error`. An agent ends when its socket closes; a controller starts a new agent when the socket
//! closes without a last message.

use alloc::{string::String, vec::Vec};
use core::net::Ipv4Addr;

use lab_units::{BitsPerSec, Bytes, Nanos, PortId};
use serde::{Deserialize, Serialize};

use super::{DestinationConfig, EcnConfig};
use crate::{LcmpConfig, Rule, Trigger, rows::Counters};

/// Command of the controller to an agent.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentCommand {
    /// Holds a port dead, or lets the state of its link decide.
    SetPort {
        /// Port to change.
        port: PortId,
        /// False: dead, whatever the state of the link.
        is_enabled: bool,
    },
    /// Changes a link's provisioning and marking, hence its level thresholds from the next sample on.
    SetLink {
        /// Port of the link.
        port: PortId,
        /// Emulated rate of the link.
        rate_bps: BitsPerSec,
        /// Emulated limit of the egress queue.
        buffer_bytes: Bytes,
        /// Marking of packets; none: no packet is marked.
        ecn: Option<EcnConfig>,
    },
    /// Writes a destination's candidates and path costs, for new flows.
    SetDestination(DestinationConfig),
    /// Writes the candidates' hash buckets (traffic engineering), for new flows.
    SetBuckets(Vec<BucketRow>),
    /// Writes LCMP's weights and thresholds, from the next sample and the next decision on.
    SetLcmp(LcmpConfig),
    /// Confirms all tables, which resets their age.
    ConfirmTables,
    /// Starts the time that intervals count from, and lets the periodic work rest before it.
    Start {
        /// Start, on the agent's clock.
        at_ns: Nanos,
        /// Time before the start at which the periodic work goes on; what has a longer interval is done
        /// once, an interval before the start.
        rest_until_ns: Nanos,
    },
    /// Ends the agent after its last reports; closing the socket ends it without them.
    Stop,
}

/// Message of an agent to the controller.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentMessage {
    /// Program attached to all ports.
    Ready(Ready),
    /// Queues, every record interval.
    Queues(Queues),
    /// Link counters: after `ready`, every link interval, and at the end.
    Links(Links),
    /// Bytes from the datacenter's hosts to each destination, every demand interval.
    Demands(Demands),
    /// Decisions since the previous such message, oldest first.
    Decisions(Vec<DecisionReport>),
    /// Change of a port's liveness.
    PortState(PortLiveness),
    /// Flows that garbage collection removed; at the end, flows still in the table.
    Flows(Vec<FlowReport>),
    /// Counters, every stats interval and at the end.
    Stats(Stats),
    /// Failure that ends the agent.
    Error {
        /// Error and its causes on one line.
        message: String,
    },
    /// Orderly end of the agent; its program is detached.
    Bye,
}

/// Attachment that an agent chose.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Attachment {
    /// tcx links.
    Tcx,
    /// clsact filters.
    Netlink,
}

/// Report of an attached program.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Ready {
    /// Time of the report.
    pub time_ns: u64,
    /// Name of the datacenter.
    pub dc: String,
    /// Process id of the agent.
    pub pid: u32,
    /// Attachment of the program.
    pub attachment: Attachment,
    /// True if the kernel marks a port dead by itself when its link goes down; else the agent alone does.
    pub has_carriers: bool,
    /// Number of ports, all with the program at their ingress.
    pub ports: u32,
    /// Time the kernel took to verify and load the program.
    pub load_ns: u64,
    /// Flows taken over from an agent that was killed; `null`: there was none.
    pub adopted: Option<u64>,
    /// Destinations and their candidates as read back from the program's table, in the configuration's
    /// order, without size thresholds; a destination without a row has no candidates.
    pub tables: Vec<DestinationConfig>,
}

/// Hash buckets of a destination.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BucketRow {
    /// Address of the prefix.
    pub addr: Ipv4Addr,
    /// Length of the prefix in bits.
    pub prefix_len: u8,
    /// Buckets of each candidate, in the order of the configuration or the latest
    /// [`SetDestination`](AgentCommand::SetDestination).
    pub buckets: Vec<u16>,
}

/// Traffic of the datacenter's hosts in an interval.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Demands {
    /// Start of the interval: the time of the previous message.
    pub since_ns: u64,
    /// End of the interval.
    pub time_ns: u64,
    /// Destinations in the configuration's order.
    pub destinations: Vec<DemandReport>,
}

/// Traffic of the datacenter's hosts to one destination.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DemandReport {
    /// Address of the prefix.
    pub addr: Ipv4Addr,
    /// Length of the prefix in bits.
    pub prefix_len: u8,
    /// Bytes in the interval, Ethernet headers included.
    pub bytes: u64,
}

/// Queues of the sampled ports.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Queues {
    /// Time of the sample.
    pub time_ns: u64,
    /// Ports in the configuration's order.
    pub ports: Vec<QueueReport>,
}

/// Egress queue of a port.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct QueueReport {
    /// Port of the queue.
    pub port: PortId,
    /// Bytes waiting.
    pub backlog_bytes: u64,
    /// Largest backlog since the previous report, in bytes.
    pub max_backlog_bytes: u64,
    /// Q, the queue level.
    pub q: u8,
    /// T, the trend level.
    pub t: u8,
    /// D, the duration level.
    pub d: u8,
    /// C_cong.
    pub c_cong: u8,
}

/// Counters of the sampled ports.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Links {
    /// Time the counters were read.
    pub time_ns: u64,
    /// Ports in the configuration's order.
    pub ports: Vec<LinkReport>,
}

/// Counters of a port since its qdisc was made.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LinkReport {
    /// Port of the counters.
    pub port: PortId,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked; none if the port marks none.
    pub marks: Option<u64>,
}

/// Decision of the switch program.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DecisionReport {
    /// Time of the decision.
    pub time_ns: u64,
    /// Source address of the flow.
    pub src_ip: Ipv4Addr,
    /// Destination address of the flow.
    pub dst_ip: Ipv4Addr,
    /// Source port of the flow.
    pub sport: u16,
    /// Destination port of the flow.
    pub dport: u16,
    /// IP protocol of the flow.
    pub proto: u8,
    /// Destination QP of the packet; `null`: not RoCEv2.
    pub dest_qp: Option<u32>,
    /// Sequence number of the packet; `null`: not RoCEv2.
    pub psn: Option<u32>,
    /// Hash of the flow.
    pub hash: u32,
    /// Cause of the decision.
    pub trigger: Trigger,
    /// Rule of the decision.
    pub rule: Rule,
    /// Age of the latest congestion sample at the ports.
    pub signal_age_ns: u64,
    /// Candidates in the configuration's order.
    pub candidates: Vec<CandidateReport>,
    /// Port the flow is pinned to.
    pub port: PortId,
}

/// Candidate as a decision saw it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CandidateReport {
    /// Egress port.
    pub port: PortId,
    /// C_path.
    pub c_path: u8,
    /// C_cong.
    pub c_cong: u8,
    /// C, the total cost (Eq. 1); 0 where the rule does not compute it.
    pub cost: u32,
    /// True if the port was alive.
    pub is_alive: bool,
    /// True if the candidate was in the set that the hash was taken over.
    pub is_kept: bool,
}

/// Change of a port's liveness.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PortLiveness {
    /// Time the agent noticed the change.
    pub time_ns: u64,
    /// Port that changed.
    pub port: PortId,
    /// True if flows may use the port.
    pub is_alive: bool,
}

/// Row of the flow table.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FlowReport {
    /// Source address of the flow.
    pub src_ip: Ipv4Addr,
    /// Destination address of the flow.
    pub dst_ip: Ipv4Addr,
    /// Source port of the flow.
    pub sport: u16,
    /// Destination port of the flow.
    pub dport: u16,
    /// IP protocol of the flow.
    pub proto: u8,
    /// Port the flow is pinned to.
    pub port: PortId,
    /// Packets forwarded.
    pub packets: u64,
    /// Bytes forwarded, Ethernet headers included.
    pub bytes: u64,
    /// Decisions made for the flow: more than one after a failover or flow ageing.
    pub decisions: u32,
    /// Time of the latest packet.
    pub last_seen_ns: u64,
}

/// Counters of the switch since its program was first attached.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Stats {
    /// Time the counters were read.
    pub time_ns: u64,
    /// Counters of the switch program.
    pub counters: Counters,
    /// Flows in the table: counted by every garbage collection and at the end, in between estimated
    /// as that count plus the flows entered since.
    pub occupancy: u64,
    /// Idle flows that flow-cache garbage collection removed.
    pub expired: u64,
    /// Flows that the agent evicted from a full table, the least recently seen first.
    pub evicted: u64,
    /// Messages dropped because the controller did not read them.
    pub messages_lost: u64,
    /// Samples of the queues.
    pub samples: u64,
    /// Samples that began more than one interval late.
    pub late_samples: u64,
}

#[cfg(test)]
mod tests {
    use lab_fuzz::fuzz_json;

    use super::*;

    #[test]
    fn a_damaged_command_is_read_or_refused() {
        fuzz_json::<AgentCommand>(
            "command to an agent",
            &[
                "\"stop\"",
                "\"confirm_tables\"",
                r#"{"set_port":{"port":4,"is_enabled":false}}"#,
                r#"{"set_link":{"port":4,"rate_bps":40000000,"buffer_bytes":250000}}"#,
                r#"{"set_buckets":[{"addr":"10.8.0.0","prefix_len":16,"buckets":[1,0,65535]}]}"#,
            ],
        );
    }

    #[test]
    fn a_damaged_message_is_read_or_refused() {
        fuzz_json::<AgentMessage>(
            "message of an agent",
            &[
                "\"bye\"",
                r#"{"error":{"message":"failed"}}"#,
                r#"{"port_state":{"time_ns":5,"port":1,"is_alive":true}}"#,
                r#"{"queues":{"time_ns":5,"ports":[{"port":1,"backlog_bytes":9,"max_backlog_bytes":9,
                    "q":1,"t":2,"d":3,"c_cong":4}]}}"#,
                r#"{"decisions":[{"time_ns":5,"src_ip":"10.1.0.1","dst_ip":"10.8.0.1","sport":1,"dport":4791,
                    "proto":17,"dest_qp":17,"psn":3,"hash":5,"trigger":"new_flow","rule":"scored","signal_age_ns":7,
                    "candidates":[{"port":1,"c_path":2,"c_cong":3,"cost":4,"is_alive":true,"is_kept":true}],
                    "port":1}]}"#,
            ],
        );
    }
}
