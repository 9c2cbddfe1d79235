//! Inputs of a repetition: all that the kernel, agents and flows add to the plan.
//!
//! Rows and report of a run depend only on its plan and on these inputs, each handled once by
//! [`Repetition::handle`](super::repetition::Repetition::handle). So a run whose inputs were recorded, one JSON line
//! each, can be replayed without its lab.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use lab_abi::{
    dcqcn::{DcqcnParams, HostCounters, PacedQp},
    pfc::PauseRecord,
};
use lab_generators::contract::{Event, MonotonicTime};
use lab_records::{GuestCpu, Watch};
use lab_units::{DcId, FlowId, PortId};
use serde::{Deserialize, Serialize};

use super::agents::AgentEvent;
use crate::lab::Losses;

/// Input of a repetition.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Input {
    /// Event of a datacenter's agent.
    Agent(DcId, AgentEvent),
    /// Event of a flow.
    Flow(Event),
    /// Start of the repetition's time.
    Start(MonotonicTime),
    /// Injection of the plan's next fault.
    Fault,
    /// Sample of sending QPs' rates.
    Rates(RateSample),
    /// Change of a switch's parameters by a user.
    Tuned {
        at: MonotonicTime,
        /// Name of the switch's datacenter.
        dc: String,
        /// Parameters and their new values.
        changes: String,
    },
    /// Restart of a killed agent.
    Restarted { at: MonotonicTime, dc: DcId },
    /// End of an agent that is not started again, because the run was cancelled.
    Abandoned(DcId),
    /// Request to all agents to end.
    Stop,
    /// End of all events from agents and flows.
    Drained,
    /// Pauses of hosts' NICs.
    Pauses {
        pauses: Vec<PauseRecord>,
        /// Ports of the NICs by interface index.
        nics: BTreeMap<u32, PortId>,
    },
    /// End of the repetition, its last input.
    End(Box<Ending>),
}

/// State of the sending QPs whose rates are recorded, at one moment.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct RateSample {
    pub at: MonotonicTime,
    pub law: DcqcnParams,
    /// QPs that have sent a packet, by flow.
    pub qps: Vec<(FlowId, PacedQp)>,
}

/// Readings from a lab and its machine around the flows of a repetition.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Ending {
    pub at: MonotonicTime,
    pub before: Readings,
    pub after: Readings,
    /// Watch over the machine; none on a virtual clock.
    pub watch: Option<Watch>,
    /// Counts of the host programs; none without congestion control.
    pub hosts: Option<HostCounts>,
    /// Differences of the lab's objects from the plan.
    pub altered: Vec<String>,
}

/// Counts that only grow; a repetition reports the difference between two readings.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) struct Readings {
    /// Packets sent on the lab's links.
    pub packets: u64,
    pub losses: Losses,
    /// Waits of this kernel for a host; in the reading after the flows, the waits until the latest delivery.
    pub host_waits: u64,
    /// CPU time of this kernel; none outside a guest.
    pub cpu: Option<GuestCpu>,
}

/// Counts of the host programs.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct HostCounts {
    pub counters: HostCounters,
    /// Packets that left the pacer out of order.
    pub out_of_order: u64,
}

impl From<(DcId, AgentEvent)> for Input {
    fn from((dc, event): (DcId, AgentEvent)) -> Self {
        Self::Agent(dc, event)
    }
}

impl Input {
    /// Appends the input to a record, as one line.
    pub(super) fn record(&self, record: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *record, self)?;
        record.write_all(b"\n")
    }
}
