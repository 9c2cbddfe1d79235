//! Trace events of a simulation, which observers turn into records.

use std::collections::BTreeSet;

use lab_abi::rows::Counters;
use lab_policy::{Decision, Trigger, lcmp::Levels};
use lab_recorder::QpRate;
use lab_records::StoryEvent;
use lab_units::{BitsPerSec, FlowId, Nanos};

use crate::{port::Counts, te::Buckets, time::SimTime};

/// Event or sample that a simulation passes to its observer.
#[derive(Clone, Debug)]
pub enum TraceEvent {
    /// A flow finished: its sender received the last ACK.
    FlowFinished(FlowEnd),
    /// The QP of a flow failed; the flow sends nothing more.
    FlowGivenUp(FlowEnd),
    /// Decision of a DCI switch.
    Decision(Box<DecisionEvent>),
    /// Hash buckets installed by traffic engineering.
    Split(Box<SplitEvent>),
    /// Periodic sample of an inter-DC port's counters.
    LinkSample(PortSample),
    /// Counters of a port at the end of the run.
    PortTotals(PortSample),
    /// Periodic sample of an inter-DC port's egress queue.
    QueueSample(QueueSample),
    /// Periodic sample of a DCI switch's counters.
    SwitchSample(Box<SwitchSample>),
    /// Periodic sample of a sending QP's rate.
    RateSample(RateSample),
    /// Arrival of a PFC frame.
    Pfc(PfcSignal),
    /// Egress port through which a flow leaves a datacenter: recorded for the flow's first packet, and for the first
    /// packet on each new port.
    Hop(Hop),
    /// Event of a flow that the trace filter includes.
    Flow(FlowEvent),
}

/// Selection of flows for which each event is traced.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum TraceFilter {
    #[default]
    None,
    All,
    Flows(BTreeSet<FlowId>),
}

impl TraceFilter {
    /// Returns true if the filter includes the flow, whose id is computed only if needed.
    #[inline]
    pub fn includes(&self, flow: impl FnOnce() -> FlowId) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Flows(flows) => flows.contains(&flow()),
        }
    }
}

/// Amount of detail that a run records beside its flows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Samples {
    /// Rows of decisions, and links' counters and queues in the plan's intervals.
    #[default]
    Series,
    /// Links' counters alone: at the first interval's end after the last flow's start, and at the end of the run. This is
    /// what a run's evidence needs, beside the decisions in numbers.
    Totals,
}

/// End of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnd {
    /// Time of the last ACK, or of the time-out at which the QP gave up.
    pub at: SimTime,
    /// Index of the flow among the run's flows.
    pub flow: u32,
}

/// Decision of a DCI switch about one flow.
#[derive(Clone, Debug)]
pub struct DecisionEvent {
    /// Virtual time of the decision.
    pub at: SimTime,
    /// Datacenter of the switch.
    pub dc: u32,
    /// Index of the flow among the run's flows.
    pub flow: u32,
    /// True for the flow's ACKs, false for its data.
    pub is_ack: bool,
    /// Reason why a decision was needed.
    pub trigger: Trigger,
    /// Age of the queue sample from which C_cong was computed; 0 if the policy uses no samples.
    pub signal_age: Nanos,
    /// Chosen candidate and the scores of all candidates.
    pub decision: Decision,
    /// Ports of the candidates, in the order of the decision's candidates.
    pub ports: Vec<u32>,
}

/// Hash buckets for one destination that traffic engineering has installed at a DCI switch.
#[derive(Clone, Debug)]
pub struct SplitEvent {
    /// Virtual time of the controller tick at which the buckets were installed.
    pub at: SimTime,
    /// Datacenter of the switch.
    pub dc: u32,
    /// Destination datacenter.
    pub to_dc: u32,
    /// Ports of the candidates, with their numbers of buckets.
    pub buckets: Buckets,
}

/// Counters of a port at one time.
#[derive(Clone, Copy, Debug)]
pub struct PortSample {
    /// Virtual time of the sample.
    pub at: SimTime,
    /// Simulator's number of the port.
    pub port: u32,
    /// Counters of the port since the run's start.
    pub counts: Counts,
    /// Rate of the port's link at this time.
    pub rate: BitsPerSec,
}

/// State of a port's egress queue at one time.
#[derive(Clone, Copy, Debug)]
pub struct QueueSample {
    /// Virtual time of the sample.
    pub at: SimTime,
    /// Simulator's number of the port.
    pub port: u32,
    /// Number of queued bytes.
    pub bytes: u64,
    /// LCMP's congestion levels of the port at the last queue sample.
    pub levels: Levels,
}

/// Counters of a DCI switch at one time.
#[derive(Clone, Copy, Debug)]
pub struct SwitchSample {
    /// Virtual time of the sample.
    pub at: SimTime,
    /// Datacenter of the switch.
    pub dc: u32,
    /// Number of flows in the flow table.
    pub flows: u64,
    /// Number of flows evicted so far because the table was over its capacity.
    pub evicted: u64,
    /// Number of idle flows that garbage collection has removed so far.
    pub expired: u64,
    /// Numbers of packets and decisions so far.
    pub counters: Counters,
}

/// State of a sending QP's congestion control at one time.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Virtual time of the sample.
    pub at: SimTime,
    /// Index of the flow among the run's flows.
    pub flow: u32,
    /// Rate, target rate, α and number of CNPs so far.
    pub qp: QpRate,
}

/// Arrival of a PFC frame at a port.
#[derive(Clone, Copy, Debug)]
pub struct PfcSignal {
    /// Virtual time of the arrival.
    pub at: SimTime,
    /// Simulator's number of the port that is paused or resumed.
    pub port: u32,
    pub class: u8,
    /// True for a pause, false for a resume.
    pub is_pause: bool,
}

/// Departure of a packet from a datacenter: a flow's first packet, or the first one after re-routing.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Virtual time at which the switch forwards the packet.
    pub at: SimTime,
    /// Index of the flow among the run's flows.
    pub flow: u32,
    /// True for the flow's ACKs, false for its data.
    pub is_ack: bool,
    /// Number of the packet in its flow.
    pub packet: u32,
    /// Simulator's number of the egress port.
    pub port: u32,
}

/// Event of a flow that the trace filter includes.
#[derive(Clone, Copy, Debug)]
pub struct FlowEvent {
    /// Virtual time of the event.
    pub at: SimTime,
    /// Index of the flow among the run's flows.
    pub flow: u32,
    /// Kind of event.
    pub event: StoryEvent,
    /// Simulator's number of the node at which the event happens.
    pub node: u32,
    /// New rate in bit/s; `None` if the event did not change the rate.
    pub rate: Option<u64>,
    /// Number of the packet concerned; `None` if the event concerns no single packet.
    pub packet: Option<u32>,
}

impl TraceEvent {
    /// Returns the virtual time of the event.
    #[must_use]
    pub const fn at(&self) -> SimTime {
        match self {
            Self::FlowFinished(event) | Self::FlowGivenUp(event) => event.at,
            Self::Decision(event) => event.at,
            Self::Split(event) => event.at,
            Self::LinkSample(sample) | Self::PortTotals(sample) => sample.at,
            Self::QueueSample(sample) => sample.at,
            Self::SwitchSample(sample) => sample.at,
            Self::RateSample(sample) => sample.at,
            Self::Pfc(signal) => signal.at,
            Self::Hop(hop) => hop.at,
            Self::Flow(event) => event.at,
        }
    }
}
