//! Inputs of a repetition: all information from the kernel, agents and flows that is not in the plan.
//!
//! The rows and the report of a run depend only on its plan and on these inputs, each of which is handled once by
//! [`Repetition::handle`](super::repetition::Repetition::handle). A run whose inputs were recorded, as one JSON line
//! each, can therefore be replayed without its lab.

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
    /// Sample of the sending QPs' rates.
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
    /// End of an agent that is not restarted because the run was cancelled.
    Abandoned(DcId),
    /// Request to all agents to end.
    Stop,
    /// Marker that no further events from agents and flows will come.
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

/// Readings of a lab and its machine before and after the flows of a repetition.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Ending {
    pub at: MonotonicTime,
    pub before: Readings,
    pub after: Readings,
    /// Figures of the watchdog; `None` on a virtual clock.
    pub watch: Option<Watch>,
    /// Counts of the host programs; `None` without congestion control.
    pub hosts: Option<HostCounts>,
    /// Differences between the lab's objects and the plan.
    pub altered: Vec<String>,
}

/// Counts that only grow; a repetition reports the difference between two readings.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) struct Readings {
    /// Number of packets sent on the lab's links.
    pub packets: u64,
    pub losses: Losses,
    /// Number of times that this kernel waited for its host; in the reading after the flows, counted until the latest
    /// delivery.
    pub host_waits: u64,
    /// CPU time used by this kernel; `None` outside a guest.
    pub cpu: Option<GuestCpu>,
}

/// Counts of the host programs.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct HostCounts {
    pub counters: HostCounters,
    /// Number of packets that left the pacer out of order.
    pub out_of_order: u64,
}

impl From<(DcId, AgentEvent)> for Input {
    fn from((dc, event): (DcId, AgentEvent)) -> Self {
        Self::Agent(dc, event)
    }
}

impl Input {
    /// Appends the input to a recording, as one line of JSON.
    pub(super) fn record(&self, record: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *record, self)?;
        record.write_all(b"\n")
    }
}
