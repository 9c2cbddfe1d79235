//! Facts of one flow in one run.

use serde::Serialize;

use super::flows::Recorded;

/// Facts of a flow in one run, at the paper's scale (before scaling for emulation).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSide {
    /// Actual start, ns.
    pub start_ns: u64,
    /// Completion time, ns.
    pub fct_ns: u64,
    /// FCT divided by ideal FCT; `None` if it is undefined.
    pub slowdown: Option<f64>,
    /// Path of the data; `None` if it is unknown.
    pub path: Option<String>,
    /// Path of the acknowledgements; `None` if it is unknown.
    pub ack_path: Option<String>,
    /// Actual minus scheduled start, ns.
    pub lateness_ns: Option<u64>,
    /// Link of the lowest rate on the data's path, the first if several have this rate; `None` if the path is unknown.
    pub bottleneck: Option<Bottleneck>,
    /// Sample of each egress queue on the data's path, nearest in time to the flow's start; queues without samples are
    /// left out.
    pub queues: Vec<Queue>,
    /// Number of packets, of any flow, dropped on the data's path while the flow ran; `None` if drops were not
    /// recorded.
    pub drops: Option<u64>,
    /// Number of packets that the flow retransmitted; `None` if the run recorded no events of the flow.
    pub retransmissions: Option<u64>,
}

/// Direction of a link that limits a flow's rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bottleneck {
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Capacity of the link, bit/s.
    pub rate_bps: u64,
    /// Number of other flows whose data crossed the link in this direction while this flow ran.
    pub other_flows: u64,
}

/// Sample of an egress queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queue {
    /// Datacenter of the DCI switch that has the queue.
    pub switch: String,
    /// Datacenter that the queue leads to.
    pub to_dc: String,
    /// Queue length, bytes.
    pub backlog_bytes: u64,
    /// Time of the sample, ns. Of the queue's samples, this one is nearest to the flow's start.
    pub time_ns: u64,
}

/// Flow in one run with the links on its data's path.
pub struct Placed<'a> {
    /// Label of the policy.
    pub policy: &'a str,
    /// Record of the flow in this run.
    pub flow: &'a Recorded,
    /// Links on the data's path, in order, each as its datacenter and its next hop; empty if the path is unknown.
    pub hops: Vec<[String; 2]>,
}
