//! Messages between agent and controller, one JSON value per line.
//!
//! All times are `CLOCK_MONOTONIC` nanoseconds. In each repetition, an agent's first message is `ready`, and its last
//! one is `bye` or `error`. After `bye` it waits for the next repetition; it ends when its socket closes. A controller
//! starts a new agent if the socket closes without such a last message.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::net::Ipv4Addr;

use lab_units::{BitsPerSec, Bytes, Nanos, PortId};
use serde::{Deserialize, Serialize};

use super::{AgentConfig, DestinationConfig, EcnConfig, TransitConfig};
use crate::{LcmpConfig, Rule, Trigger, rows::Counters};

/// Command from the controller to an agent.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentCommand {
    /// Declares a port dead, or lets the state of its link decide again.
    SetPort {
        /// Port to enable or disable.
        port: PortId,
        /// False: the port counts as dead regardless of the state of its link.
        is_enabled: bool,
    },
    /// Changes a link's rate, queue limit and marking. The thresholds of the port's congestion levels change with the
    /// next sample.
    SetLink {
        /// Port through which the switch sends on the link.
        port: PortId,
        /// New rate of the link, after scaling.
        rate_bps: BitsPerSec,
        /// New size limit of the egress queue, after scaling.
        buffer_bytes: Bytes,
        /// Thresholds for marking packets; `null`: packets are not marked.
        ecn: Option<EcnConfig>,
    },
    /// Replaces a destination's candidates and path costs, for new flows, and for flows whose next hop is not among the
    /// new candidates.
    SetDestination(DestinationConfig),
    /// Adds transit rows; each replaces the row of the same pair and ingress port, if there is one.
    AddTransits(Vec<TransitConfig>),
    /// Replaces the candidates' hash buckets (traffic engineering), for new flows.
    SetBuckets(Vec<BucketRow>),
    /// Replaces LCMP's weights and thresholds from the next sample and the next decision on.
    SetLcmp(LcmpConfig),
    /// Confirms all tables, which resets their age.
    ConfirmTables,
    /// Sets the start time, to which all intervals are aligned, and suspends periodic work until shortly before the
    /// start.
    Start {
        /// Start time on the agent's clock.
        at_ns: Nanos,
        /// Time at which periodic work resumes, shortly before the start. Work whose interval exceeds the time from
        /// `rest_until_ns` to the start resumes earlier, one interval before the start.
        rest_until_ns: Nanos,
    },
    /// Ends the repetition: the agent detaches its program, sends its last reports, and empties the program's maps. If
    /// the socket is closed instead, nobody reads the reports.
    Stop,
    /// Begins the next repetition, after `bye`, with this configuration.
    Begin(Box<AgentConfig>),
}

/// Message from an agent to the controller.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentMessage {
    /// Report that the program is attached to all ports.
    Ready(Ready),
    /// State of the queues, sent every record interval.
    Queues(Queues),
    /// Link counters, sent after `ready`, every link interval, and at the end.
    Links(LinkReports),
    /// Bytes from the datacenter's hosts to each destination, sent every demand interval.
    Demands(Demands),
    /// Hash buckets that the agent's trained weights have installed for new flows.
    Splits(Splits),
    /// Decisions since the previous message of this kind, oldest first.
    Decisions(Vec<DecisionReport>),
    /// Change of a port's liveness.
    PortState(PortLiveness),
    /// Flows that garbage collection removed, and at the end all flows still in the table.
    Flows(Vec<FlowReport>),
    /// Counters, sent every stats interval and at the end.
    Stats(Stats),
    /// Failure that ends the agent.
    Error {
        /// Message text: the error and its causes on one line.
        message: String,
    },
    /// Regular end of a repetition, sent after the agent has detached its program and emptied the maps.
    Bye,
}

/// Mechanism by which an agent attached its program.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Attachment {
    Tcx,
    Netlink,
}

/// Report that an agent has attached its program.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Ready {
    pub time_ns: u64,
    pub dc: String,
    pub pid: u32,
    pub attachment: Attachment,
    /// True if the kernel itself marks a port dead when its link goes down; false if only the agent does.
    pub has_carriers: bool,
    /// Number of ports, all of which have the program attached at their ingress.
    pub ports: u32,
    /// Time in which the kernel verified and loaded the program, ns.
    pub load_ns: u64,
    /// Number of flows taken over from a killed agent; `null`: there was no such agent.
    pub adopted: Option<u64>,
    /// Destinations and their candidates as read back from the program's table, in the order of the configuration and
    /// without size thresholds; a destination without a row has no candidates.
    pub tables: Vec<DestinationConfig>,
}

/// Numbers of hash buckets for the candidates of a destination.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BucketRow {
    /// Network address of the prefix.
    pub addr: Ipv4Addr,
    /// Length of the prefix in bits.
    pub prefix_len: u8,
    /// Number of buckets per candidate, in the order of the configuration or the latest
    /// [`SetDestination`](AgentCommand::SetDestination).
    pub buckets: Vec<u16>,
}

/// Hash buckets that the agent has installed without a command.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Splits {
    /// Time of the decision, which is the end of a demand interval.
    pub time_ns: u64,
    /// New buckets of the destinations with a choice.
    pub rows: Vec<BucketRow>,
}

/// Traffic that the datacenter's hosts sent in one interval.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Demands {
    /// Start of the interval, which is the time of the previous message.
    pub since_ns: u64,
    /// End of the interval.
    pub time_ns: u64,
    /// Traffic per destination, in the order of the configuration.
    pub destinations: Vec<DemandReport>,
}

/// Traffic that the datacenter's hosts sent to one destination.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DemandReport {
    /// Network address of the prefix.
    pub addr: Ipv4Addr,
    /// Length of the prefix in bits.
    pub prefix_len: u8,
    /// Bytes sent in the interval, Ethernet headers included.
    pub bytes: u64,
}

/// Queues of the sampled ports.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Queues {
    /// Time at which the queues were sampled.
    pub time_ns: u64,
    /// Queues in the order of the configuration's ports.
    pub ports: Vec<QueueReport>,
}

/// Egress queue of a port.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct QueueReport {
    pub port: PortId,
    /// Bytes waiting in the queue.
    pub backlog_bytes: u64,
    /// Largest backlog since the previous report, in bytes.
    pub max_backlog_bytes: u64,
    /// Queue level Q, 0 to 255.
    pub q: u8,
    /// Trend level T, 0 to 255.
    pub t: u8,
    /// Duration level D, 0 to 255.
    pub d: u8,
    pub c_cong: u8,
}

/// Counters of the sampled ports.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LinkReports {
    /// Time at which the counters were read.
    pub time_ns: u64,
    /// Counters in the order of the configuration's ports.
    pub ports: Vec<LinkReport>,
}

/// Counters of a port since its qdisc was created.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LinkReport {
    pub port: PortId,
    /// Bytes sent through the port.
    pub tx_bytes: u64,
    /// Packets sent through the port.
    pub tx_packets: u64,
    /// Packets that the port's qdisc dropped.
    pub drops: u64,
    /// Packets marked; `null`: the port does not mark packets.
    pub marks: Option<u64>,
}

/// Report of a decision that the switch program made.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DecisionReport {
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
    /// Destination QP of the packet; `null`: the packet is not RoCEv2.
    pub dest_qp: Option<u32>,
    /// Sequence number of the packet; `null`: the packet is not RoCEv2.
    pub psn: Option<u32>,
    /// Flow hash that the decision used.
    pub hash: u32,
    /// Cause of the decision, such as a new flow or a failover.
    pub trigger: Trigger,
    /// Rule by which the policy decided.
    pub rule: Rule,
    /// Age of the ports' latest congestion sample at the time of the decision, ns.
    pub signal_age_ns: u64,
    /// Candidates in the order of the configuration.
    pub candidates: Vec<CandidateReport>,
    /// Port that the flow is pinned to.
    pub port: PortId,
}

/// Candidate with the state that a decision was based on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CandidateReport {
    pub port: PortId,
    pub c_path: u8,
    pub c_cong: u8,
    /// Total cost C (Eq. 1); 0 if the rule does not compute it.
    pub cost: u32,
    /// True if the port was alive.
    pub is_alive: bool,
    /// True if the candidate was in the set that the hash chose from.
    pub is_kept: bool,
}

/// Change of a port's liveness.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PortLiveness {
    /// Time at which the agent noticed the change.
    pub time_ns: u64,
    /// Port whose liveness changed.
    pub port: PortId,
    /// True if flows may use the port.
    pub is_alive: bool,
}

/// Report of a row of the flow table.
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
    /// Port that the flow is pinned to.
    pub port: PortId,
    /// Packets forwarded for the flow.
    pub packets: u64,
    /// Bytes forwarded for the flow, Ethernet headers included.
    pub bytes: u64,
    /// Decisions made for the flow; more than 1 after a failover or flow ageing.
    pub decisions: u32,
    /// Time of the flow's latest packet.
    pub last_seen_ns: u64,
}

/// Counters of the switch since its program was first attached.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Stats {
    /// Time at which the counters were read.
    pub time_ns: u64,
    /// Counters of the switch program.
    pub counters: Counters,
    /// Flows in the table: counted by every garbage collection and at the end, in between estimated
    /// as that count plus the flows entered since.
    pub occupancy: u64,
    /// Idle flows, and flows whose next hop was no longer a candidate, that flow-cache garbage collection removed.
    pub expired: u64,
    /// Flows that the agent evicted from a full table, the least recently seen first.
    pub evicted: u64,
    /// Messages dropped because the controller did not read them.
    pub messages_lost: u64,
    /// Number of queue samples taken.
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
