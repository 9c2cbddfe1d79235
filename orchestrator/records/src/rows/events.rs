//! Rows for single events: switch decisions, PFC frames, and traced flows' events.

use std::net::Ipv4Addr;

use lab_units::{BitsPerSec, Bytes, FlowId, Nanos};
use serde::{Deserialize, Serialize};

use super::{List, fields, row};

row! {
    /// Decision of a DCI switch. Each list has one item per candidate, in the same order.
    pub struct DecisionRow in "decisions.csv", required: true {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the decision.
        pub time_ns: Nanos,
        /// The DCI switch.
        pub switch: String,
        /// Flow whose data or acknowledgements the decision is for; empty if unknown.
        pub flow_id: Option<FlowId>,
        /// Source address of the packet.
        pub src: Ipv4Addr,
        /// Destination address of the packet.
        pub dst: Ipv4Addr,
        /// UDP source port of the packet.
        pub sport: u16,
        /// Trigger and rule of the decision: `new_flow/scored`.
        pub reason: String,
        /// Age of the queue sample from which C_cong was computed; empty if the policy does not sample queues.
        pub signal_age_ns: Option<Nanos>,
        /// 1 if the age of the queue sample exceeds the policy's sampling interval, else 0; empty if the policy does
        /// not sample queues.
        pub stale_signals: Option<u8>,
        /// Next-hop datacenter of each candidate.
        pub candidates: List<String>,
        /// Path cost C_path of each candidate.
        pub c_path: List<u8>,
        /// Congestion cost C_cong of each candidate.
        pub c_cong: List<u8>,
        /// Total cost C of each candidate.
        pub cost: List<u32>,
        /// 1 for each kept candidate, from which the next hop was chosen; 0 for each dropped candidate.
        pub kept: List<u8>,
        /// Next-hop datacenter of the chosen candidate; empty if no candidate was chosen.
        pub chosen: Option<String>,
    }
}

row! {
    /// Split that traffic engineering installed at a DCI switch for one destination. Each list has one item per
    /// candidate, in the same order.
    pub struct SplitRow in "splits.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time at which the controller installed the split; equal for all switches in a controller interval.
        pub time_ns: Nanos,
        /// The DCI switch.
        pub switch: String,
        /// Destination datacenter.
        pub to_dc: String,
        /// Next-hop datacenter of each candidate.
        pub next_dcs: List<String>,
        /// Number of hash buckets of each candidate.
        pub buckets: List<u16>,
    }
}

row! {
    /// PFC frame that reached the port that it pauses or resumes.
    pub struct PfcRow in "pfc.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of arrival.
        pub time_ns: Nanos,
        /// The host or switch that has the port.
        pub node: String,
        /// Name of the port's interface.
        pub port: String,
        /// The host or switch at the other end, which sent the frame.
        pub peer: String,
        /// Priority that the frame is for.
        pub priority: u8,
        /// Kind of the frame.
        pub event: PfcEvent,
    }
}

/// Kind of PFC frame.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PfcEvent {
    /// Stops the sender.
    Pause,
    /// Lets the sender continue.
    Resume,
}

row! {
    /// Event of a traced flow.
    ///
    /// The inputs of decisions are in `decisions.csv`. Consecutive events of the same kind at the same node may share a
    /// row.
    pub struct StoryRow in "story.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// The flow.
        pub flow_id: FlowId,
        /// Time of the event; if the row is for several events, time of the first.
        pub time_ns: Nanos,
        /// Kind of the event.
        pub event: StoryEvent,
        /// Number of events in this row, from 1.
        pub count: u64,
        /// The host or switch where the event happened.
        pub node: String,
        /// Datacenter that the decision chose, or node that paused the port; empty for other events.
        pub peer: Option<String>,
        /// Sending rate after the event; empty if it did not change.
        pub rate_bps: Option<BitsPerSec>,
        /// Offset of the packet's first byte in the flow; empty for events without a packet.
        pub offset_bytes: Option<Bytes>,
    }
}

/// Kind of event of a traced flow.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoryEvent {
    /// The flow's QP was created and may start to send.
    Started,
    /// A DCI switch chose the flow's next hop.
    Decided,
    /// Congestion control set the flow's sending rate.
    RateSet,
    /// The flow's window became full, and its sender waits for an acknowledgement.
    WindowFull,
    /// A switch ECN-marked a packet of the flow.
    Marked,
    /// The sender received a CNP.
    Cnp,
    /// A switch dropped a packet of the flow.
    Dropped,
    /// The sender received a NAK.
    Nacked,
    /// The sender's retransmission timer expired.
    TimedOut,
    /// The sender went back to an earlier packet.
    Retransmitted,
    /// The sender's port was paused.
    Paused,
    /// The sender's port was resumed.
    Resumed,
    /// All bytes of the flow were acknowledged.
    Finished,
}

impl StoryEvent {
    /// Returns the event's text in tables.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Decided => "decided",
            Self::RateSet => "rate set",
            Self::WindowFull => "window full",
            Self::Marked => "marked",
            Self::Cnp => "CNP received",
            Self::Dropped => "dropped",
            Self::Nacked => "NAK received",
            Self::TimedOut => "timed out",
            Self::Retransmitted => "retransmitted",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Finished => "finished",
        }
    }
}

fields!(Text: PfcEvent, StoryEvent);
