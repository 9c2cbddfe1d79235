//! What a simulation tells while it runs.

use lab_policy::{Decision, Rule, Trigger, lcmp::Levels};
use lab_records::StoryEvent;
use lab_units::BitsPerSec;

use crate::{port::Counts, time::SimTime};

/// Something worth a row.
#[derive(Clone, Debug)]
pub enum Note {
    /// A flow has all its ACKs.
    Finished(FlowEnd),
    /// A DCI switch chose.
    Decided(Box<DecisionNote>),
    /// What a port of an inter-DC link has sent.
    Link(PortNote),
    /// What has happened at a port until the end.
    Port(PortNote),
    /// What is in the egress queue of a port of an inter-DC link.
    Queue(QueueNote),
    /// How a DCI switch fared.
    Switch(Box<SwitchNote>),
    /// A switch or host was asked to wait, or to go on.
    Pfc(PfcNote),
    /// A flow takes this port out of a datacenter.
    Hop(HopNote),
    /// Something happened to a flow.
    Story(StoryNote),
}

/// A flow has all its ACKs.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnd {
    /// When.
    pub at: SimTime,
    /// Its place in the run's flows.
    pub flow: u32,
}

/// A DCI switch chose.
#[derive(Clone, Debug)]
pub struct DecisionNote {
    /// When.
    pub at: SimTime,
    /// The switch's datacenter.
    pub dc: u32,
    /// Whose packet.
    pub flow: u32,
    /// It was one of its ACKs.
    pub is_ack: bool,
    /// Why now.
    pub trigger: Trigger,
    /// The choice and its scores.
    pub decision: Decision,
    /// The candidates' ports, in the same order.
    pub ports: Vec<u32>,
}

/// Counters of a port.
#[derive(Clone, Copy, Debug)]
pub struct PortNote {
    /// When.
    pub at: SimTime,
    /// Which.
    pub port: u32,
    /// Since the start.
    pub counts: Counts,
    /// Its rate.
    pub rate: BitsPerSec,
}

/// An egress queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueNote {
    /// When.
    pub at: SimTime,
    /// Which.
    pub port: u32,
    /// Bytes in it.
    pub bytes: u64,
    /// What LCMP made of it at its last sample.
    pub levels: Levels,
}

/// How a DCI switch fared.
#[derive(Clone, Copy, Debug)]
pub struct SwitchNote {
    /// When.
    pub at: SimTime,
    /// The switch's datacenter.
    pub dc: u32,
    /// Rows of its flow table.
    pub flows: u64,
    /// Rows that had to go because the table was full.
    pub evicted: u64,
    /// Rows that had to go because their flows were idle.
    pub expired: u64,
    /// What it decided.
    pub tally: Tally,
}

/// What a DCI switch decided since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Decisions.
    pub decisions: u64,
    /// Those of them because a flow's port had died.
    pub failovers: u64,
    /// Those of them by a fallback rule.
    pub fallbacks: u64,
    /// Packets that needed none, as their flow was pinned.
    pub hits: u64,
}

impl Tally {
    /// Counts a decision by `rule`.
    pub fn decided(&mut self, trigger: Trigger, rule: Rule) {
        self.decisions += 1;
        self.failovers += u64::from(trigger == Trigger::Failover);
        self.fallbacks += u64::from(rule.is_fallback());
    }
}

/// PFC arrived.
#[derive(Clone, Copy, Debug)]
pub struct PfcNote {
    /// When.
    pub at: SimTime,
    /// At which port.
    pub port: u32,
    /// Which class.
    pub class: u8,
    /// To wait, or to go on.
    pub is_pause: bool,
}

/// A flow takes a port out of a datacenter.
#[derive(Clone, Copy, Debug)]
pub struct HopNote {
    /// When.
    pub at: SimTime,
    /// Which.
    pub flow: u32,
    /// Its ACKs do.
    pub is_ack: bool,
    /// The port.
    pub port: u32,
}

/// Something happened to a flow whose story was asked for.
#[derive(Clone, Copy, Debug)]
pub struct StoryNote {
    /// When.
    pub at: SimTime,
    /// To which.
    pub flow: u32,
    /// What.
    pub event: StoryEvent,
    /// The node where.
    pub node: u32,
    /// The rate from now on, in bit/s, if it changed.
    pub rate: Option<u64>,
    /// The packet it happened to.
    pub packet: Option<u32>,
}

impl Note {
    /// When.
    #[must_use]
    pub const fn at(&self) -> SimTime {
        match self {
            Self::Finished(note) => note.at,
            Self::Decided(note) => note.at,
            Self::Link(note) | Self::Port(note) => note.at,
            Self::Queue(note) => note.at,
            Self::Switch(note) => note.at,
            Self::Pfc(note) => note.at,
            Self::Hop(note) => note.at,
            Self::Story(note) => note.at,
        }
    }
}
