//! Rows of single events: switch decisions, PFC frames, and events of traced flows.

use std::net::Ipv4Addr;

use lab_units::{BitsPerSec, Bytes, FlowId, Nanos};
use serde::{Deserialize, Serialize};

use super::{List, fields, row};

row! {
    /// Decision of a DCI switch. Lists have one item per candidate, all in the same order.
    pub struct DecisionRow in "decisions.csv", required: true {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the decision, relative to the repetition's start.
        pub time_ns: Nanos,
        /// Name of the DCI switch.
        pub switch: String,
        /// Flow to whose data or ACKs the packet belongs; empty if unknown.
        pub flow_id: Option<FlowId>,
        /// Source address of the packet that needed the decision.
        pub src: Ipv4Addr,
        /// Destination address of the packet that needed the decision.
        pub dst: Ipv4Addr,
        /// UDP source port of the packet that needed the decision.
        pub sport: u16,
        /// Trigger and rule of the decision, such as `new_flow/scored`.
        pub reason: String,
        /// Age of the queue sample from which C_cong was computed; empty if the policy does not sample queues.
        pub signal_age_ns: Option<Nanos>,
        /// 1 if the queue sample was older than the policy's sampling interval, else 0; empty if the policy does not
        /// sample queues.
        pub stale_signals: Option<u8>,
        /// Next datacenter on the path through each candidate, such as `dc2`, or `dc2_2` over a second link.
        pub candidates: List<String>,
        /// Path cost C_path of each candidate.
        pub c_path: List<u8>,
        /// Congestion cost C_cong of each candidate.
        pub c_cong: List<u8>,
        /// Total cost C of each candidate.
        pub cost: List<u32>,
        /// 1 for each candidate from which the hash chose, 0 for each that was excluded.
        pub kept: List<u8>,
        /// Next datacenter on the path through the chosen candidate; empty if no candidate was chosen.
        pub chosen: Option<String>,
    }
}

row! {
    /// Hash buckets that traffic engineering or trained weights installed at a DCI switch for one destination. Lists
    /// have one item per candidate, all in the same order.
    pub struct SplitRow in "splits.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time at which the split was installed, relative to the repetition's start; with a controller, the same
        /// for all switches.
        pub time_ns: Nanos,
        /// Name of the DCI switch.
        pub switch: String,
        /// Destination datacenter.
        pub to_dc: String,
        /// Next datacenter on the path through each candidate, such as `dc2`, or `dc2_2` over a second link.
        pub next_dcs: List<String>,
        /// Number of hash buckets of each candidate.
        pub buckets: List<u16>,
    }
}

row! {
    /// Arrival of a PFC frame at the port that it pauses or resumes.
    pub struct PfcRow in "pfc.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the arrival, relative to the repetition's start.
        pub time_ns: Nanos,
        /// Host or switch to which the port belongs.
        pub node: String,
        /// Name of the port's interface.
        pub port: String,
        /// Host or switch at the other end of the link, which sent the PFC frame.
        pub peer: String,
        /// Priority (traffic class) that the PFC frame pauses or resumes.
        pub priority: u8,
        /// Kind of the PFC frame: pause or resume.
        pub event: PfcEvent,
    }
}

/// Kind of a PFC frame.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PfcEvent {
    /// The port must stop sending.
    Pause,
    /// The port may send again.
    Resume,
}

row! {
    /// Event of a traced flow, or several consecutive equal events.
    ///
    /// Consecutive events of the same kind at the same node may share a row. The inputs of decisions are in
    /// `decisions.csv`.
    pub struct StoryRow in "story.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Flow that the event concerns.
        pub flow_id: FlowId,
        /// Time of the event, or of the first event in the row, relative to the repetition's start.
        pub time_ns: Nanos,
        /// Kind of the event.
        pub event: StoryEvent,
        /// Number of events that the row stands for, at least 1.
        pub count: u64,
        /// Host or switch at which the event happened.
        pub node: String,
        /// Datacenter that a decision chose, or node that paused the port; empty for other events.
        pub peer: Option<String>,
        /// Sending rate after the event; empty if the event did not change it.
        pub rate_bps: Option<BitsPerSec>,
        /// Offset in the flow of the packet's first byte; empty for events that concern no packet.
        pub offset_bytes: Option<Bytes>,
    }
}

/// Kind of an event of a traced flow.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoryEvent {
    /// The flow's QP was created and may send.
    Started,
    /// A DCI switch chose the flow's next hop.
    Decided,
    /// Congestion control set the flow's sending rate.
    RateSet,
    /// The flow's window is full, so its sender waits for an acknowledgement.
    WindowFull,
    /// A switch marked a packet of the flow with ECN.
    Marked,
    /// The sender received a CNP.
    Cnp,
    /// A switch dropped a packet of the flow.
    Dropped,
    /// The sender received a NACK.
    Nacked,
    /// The sender's retransmission timer expired.
    TimedOut,
    /// The sender went back to an earlier packet and retransmits from there.
    Retransmitted,
    /// PFC paused the sender's port.
    Paused,
    /// PFC resumed the sender's port.
    Resumed,
    /// All bytes of the flow were acknowledged.
    Finished,
}

impl StoryEvent {
    /// Returns the text of the event in tables.
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
