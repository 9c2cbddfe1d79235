//! Trace events of a simulation, which observers convert to records.

use std::collections::BTreeSet;

use lab_abi::rows::Counters;
use lab_policy::{Decision, Trigger, lcmp::Levels};
use lab_recorder::QpRate;
use lab_records::StoryEvent;
use lab_units::{BitsPerSec, FlowId, Nanos};

use crate::{port::Counts, te::Buckets, time::SimTime};

/// Event or sample for observers.
#[derive(Clone, Debug)]
pub enum TraceEvent {
    /// A flow has received all its ACKs.
    FlowFinished(FlowEnd),
    /// The QP of a flow failed; the flow sends nothing more.
    FlowGivenUp(FlowEnd),
    /// Decision of a DCI switch.
    Decision(Box<DecisionEvent>),
    /// Split installed by traffic engineering.
    Split(Box<SplitEvent>),
    /// Periodic counters of an inter-DC port.
    LinkSample(PortSample),
    /// Final counters of a port.
    PortTotals(PortSample),
    /// Periodic sample of an inter-DC port's egress queue.
    QueueSample(QueueSample),
    /// Periodic counters of a DCI switch.
    SwitchSample(Box<SwitchSample>),
    /// Periodic sample of a sending QP's rate.
    RateSample(RateSample),
    /// Arrival of a PFC frame.
    Pfc(PfcSignal),
    /// Egress port through which a flow leaves a datacenter: for its first packet, and for the first packet on each new
    /// port.
    Hop(Hop),
    /// Event of a flow that the trace filter includes.
    Flow(FlowEvent),
}

/// Flows whose single events are traced.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum TraceFilter {
    #[default]
    None,
    All,
    Flows(BTreeSet<FlowId>),
}

impl TraceFilter {
    /// Returns true if the filter includes `flow`, which is evaluated only if needed.
    #[inline]
    pub fn includes(&self, flow: impl FnOnce() -> FlowId) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Flows(flows) => flows.contains(&flow()),
        }
    }
}

/// End of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnd {
    /// Time of the last ACK, or of the time-out after which the QP gave up.
    pub at: SimTime,
    /// Index among the run's flows.
    pub flow: u32,
}

/// Decision of a DCI switch for a flow.
#[derive(Clone, Debug)]
pub struct DecisionEvent {
    /// Time of the decision.
    pub at: SimTime,
    /// Datacenter of the switch.
    pub dc: u32,
    /// Index among the run's flows.
    pub flow: u32,
    /// True for the flow's ACKs, false for its data.
    pub is_ack: bool,
    /// Cause of the decision.
    pub trigger: Trigger,
    /// Age of the sample from which C_cong was computed; 0 under policies without samples.
    pub signal_age: Nanos,
    /// Chosen candidate and the scores of all candidates.
    pub decision: Decision,
    /// Ports of the candidates, in the same order as the decision's candidates.
    pub ports: Vec<u32>,
}

/// Split that traffic engineering installed at a DCI switch.
#[derive(Clone, Debug)]
pub struct SplitEvent {
    /// Time of the tick.
    pub at: SimTime,
    /// Datacenter of the switch.
    pub dc: u32,
    /// Destination datacenter.
    pub to_dc: u32,
    /// Ports of the candidates and their buckets.
    pub buckets: Buckets,
}

/// Counters of a port.
#[derive(Clone, Copy, Debug)]
pub struct PortSample {
    /// Time of the sample.
    pub at: SimTime,
    /// Number of the port in the simulation.
    pub port: u32,
    /// Counters since the run's start.
    pub counts: Counts,
    /// Current rate of the link.
    pub rate: BitsPerSec,
}

/// State of a port's egress queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueSample {
    /// Time of the sample.
    pub at: SimTime,
    /// Number of the port in the simulation.
    pub port: u32,
    /// Number of queued bytes.
    pub bytes: u64,
    /// LCMP's levels at its last sample.
    pub levels: Levels,
}

/// Counters of a DCI switch.
#[derive(Clone, Copy, Debug)]
pub struct SwitchSample {
    /// Time of the sample.
    pub at: SimTime,
    /// Datacenter of the switch.
    pub dc: u32,
    /// Number of entries in the flow table.
    pub flows: u64,
    /// Number of entries evicted because the table was full.
    pub evicted: u64,
    /// Number of collected entries of idle flows.
    pub expired: u64,
    /// Counters of packets and decisions.
    pub counters: Counters,
}

/// State of a sending QP's congestion control.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Time of the sample.
    pub at: SimTime,
    /// Index among the run's flows.
    pub flow: u32,
    /// Rate, target rate, α and number of CNPs.
    pub qp: QpRate,
}

/// A PFC frame arrived.
#[derive(Clone, Copy, Debug)]
pub struct PfcSignal {
    /// Time of arrival.
    pub at: SimTime,
    /// Paused or resumed port.
    pub port: u32,
    pub class: u8,
    /// True for a pause, false for a resume.
    pub is_pause: bool,
}

/// Departure from a datacenter of a flow's first packet, or of its first packet after re-routing.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Time of forwarding.
    pub at: SimTime,
    /// Index among the run's flows.
    pub flow: u32,
    /// True for the flow's ACKs, false for its data.
    pub is_ack: bool,
    /// Number of the packet in its flow.
    pub packet: u32,
    /// Egress port.
    pub port: u32,
}

/// Event of a traced flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowEvent {
    /// Time of the event.
    pub at: SimTime,
    /// Index among the run's flows.
    pub flow: u32,
    /// Kind of event.
    pub event: StoryEvent,
    /// Node of the event.
    pub node: u32,
    /// New rate in bit/s, if the rate changed.
    pub rate: Option<u64>,
    /// Number of the packet concerned.
    pub packet: Option<u32>,
}

impl TraceEvent {
    /// Returns the event's time.
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
