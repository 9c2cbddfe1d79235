//! Facts of a flow in one run.

use serde::Serialize;

use super::flows::Recorded;

/// Facts of a flow in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSide {
    /// Start.
    pub start_ns: u64,
    /// FCT.
    pub fct_ns: u64,
    /// FCT ÷ ideal FCT.
    pub slowdown: Option<f64>,
    /// Path of the data; none if it is not known.
    pub path: Option<String>,
    /// Path of the acknowledgements; none if it is not known.
    pub ack_path: Option<String>,
    /// Start less scheduled start.
    pub lateness_ns: Option<u64>,
    /// Link of least rate on the data's path, the first of several; none if the path is not known.
    pub bottleneck: Option<Bottleneck>,
    /// Egress queue of each link on the data's path, near the flow's start; those not sampled are
    /// left out.
    pub queues: Vec<Queue>,
    /// Packets dropped on the data's path while the flow ran, of any flow; none if not recorded.
    pub drops: Option<u64>,
    /// Packets retransmitted; none if the run has no story of the flow.
    pub retransmissions: Option<u64>,
}

/// One direction of a link that limits a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bottleneck {
    /// Datacenter that sends.
    pub from_dc: String,
    /// Datacenter that receives.
    pub to_dc: String,
    /// Capacity.
    pub rate_bps: u64,
    /// Other flows whose data crossed the link in this direction while this flow ran.
    pub other_flows: u64,
}

/// A sample of an egress queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queue {
    /// The DCI switch.
    pub switch: String,
    /// Datacenter at the other end.
    pub to_dc: String,
    /// Bytes in the queue.
    pub backlog_bytes: u64,
    /// Time of the sample; the nearest to the flow's start.
    pub time_ns: u64,
}

/// A flow in one run, with the datacenters of its data's path.
pub struct Placed<'a> {
    /// Label of the policy.
    pub policy: &'a str,
    /// Record of the flow.
    pub flow: &'a Recorded,
    /// Datacenters crossed by the data; empty if they are not known.
    pub hops: Vec<String>,
}
