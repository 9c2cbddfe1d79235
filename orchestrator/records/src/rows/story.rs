//! What happened to single flows.

use lab_units::{BitsPerSec, Bytes, FlowId, Nanos};
use serde::{Deserialize, Serialize};

use super::row;

row! {
    /// Something that happened to a flow whose story was asked for.
    ///
    /// What a decision was made from is in `decisions.csv`. Several events of a kind at one node
    /// with nothing else between may be one row.
    pub struct StoryRow in "story.csv" {
        /// Label of the policy.
        pub policy: String,
        /// The repetition, from 0.
        pub repetition: u32,
        /// The flow.
        pub flow_id: FlowId,
        /// When; the first time, if the row stands for several.
        pub time_ns: Nanos,
        /// What.
        pub event: StoryEvent,
        /// How many times, from 1.
        pub count: u64,
        /// The host or switch where.
        pub node: String,
        /// The DC a decision chose, or the node that paused; empty for other events.
        pub peer: Option<String>,
        /// The sending rate from now on; empty where it did not change.
        pub rate_bps: Option<BitsPerSec>,
        /// First byte of the packet it happened to, from the flow's start; empty for no packet.
        pub offset_bytes: Option<Bytes>,
    }
}

/// What can happen to a flow.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoryEvent {
    /// Its QP was made and may send.
    Started,
    /// A DCI switch chose its path.
    Decided,
    /// Congestion control set its sending rate.
    RateSet,
    /// Its window was full, so that it waits for an acknowledgement.
    WindowFull,
    /// A switch ECN-marked a packet of it.
    Marked,
    /// Its sender was told of a mark.
    Cnp,
    /// A switch dropped a packet of it.
    Dropped,
    /// Its sender was told that a packet is missing.
    Nacked,
    /// Its sender waited too long for an acknowledgement.
    TimedOut,
    /// Its sender went back to an earlier packet.
    Retransmitted,
    /// Its sender's port was paused.
    Paused,
    /// Its sender's port may go on.
    Resumed,
    /// All its bytes were acknowledged.
    Finished,
}

impl StoryEvent {
    /// The words of tables.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Decided => "decided",
            Self::RateSet => "rate set",
            Self::WindowFull => "window full",
            Self::Marked => "marked",
            Self::Cnp => "told of a mark",
            Self::Dropped => "dropped",
            Self::Nacked => "told of a gap",
            Self::TimedOut => "timed out",
            Self::Retransmitted => "retransmitted",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Finished => "finished",
        }
    }
}
