//! Inputs of a repetition: all information from the kernel, agents, flows and users that is not in the plan.
//!
//! The rows and the report of a run depend only on its plan and on these inputs, each of which is handled once by
//! [`Repetition::handle`](super::repetition::Repetition::handle). A run whose inputs were recorded, one JSON line per
//! input, can therefore be replayed without its lab.

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

/// Input of a repetition, which can be recorded and replayed.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Input {
    /// An agent of a datacenter caused an event.
    Agent(DcId, AgentEvent),
    /// A flow caused an event.
    Flow(Event),
    /// The repetition starts at this instant, from which flows and records count their time.
    Start(MonotonicTime),
    /// The plan's next fault has been injected.
    Fault,
    /// The plan's next reconvergence has taken effect.
    Reconvergence,
    /// The rates of the sending QPs were sampled.
    Rates(RateSample),
    /// A user changed parameters of a switch.
    Tuned {
        at: MonotonicTime,
        /// Name of the switch's datacenter.
        dc: String,
        /// Parameters and their new values, as text.
        changes: String,
    },
    /// A killed agent was restarted.
    Restarted { at: MonotonicTime, dc: DcId },
    /// The plan's next crash of an agent has taken place.
    AgentCrash,
    /// The agent of a datacenter was started again after a planned crash.
    AgentRestart(DcId),
    /// An agent ended and is not restarted, because the run was cancelled.
    Abandoned(DcId),
    /// All agents were asked to end.
    Stop,
    /// No further events from agents or flows will come.
    Drained,
    /// The PFC pauses of the hosts' NICs were read.
    Pauses {
        pauses: Vec<PauseRecord>,
        /// Port of each NIC, by interface index.
        nics: BTreeMap<u32, PortId>,
    },
    /// The repetition ended; the last input.
    End(Box<Ending>),
}

/// State of the sending QPs whose rates are recorded, at one moment.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct RateSample {
    pub at: MonotonicTime,
    pub law: DcqcnParams,
    /// State of each QP that has sent a packet, with its flow.
    pub qps: Vec<(FlowId, PacedQp)>,
}

/// Readings of a lab and its machine before and after the flows of a repetition.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Ending {
    pub at: MonotonicTime,
    pub before: Readings,
    pub after: Readings,
    /// Figures on CPU load and clock jumps that the watchdog collected; `None` on a virtual clock.
    pub watch: Option<Watch>,
    /// Counters of the host programs; `None` without congestion control.
    pub hosts: Option<HostCounts>,
    /// Descriptions of differences between the lab's objects and the plan.
    pub altered: Vec<String>,
}

/// Readings of counters that only grow; a repetition reports the difference between two readings.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) struct Readings {
    /// Number of packets sent on the lab's links.
    pub packets: u64,
    pub losses: Losses,
    /// Number of times that this kernel has waited for its host. The reading after the flows contains the number at the
    /// latest delivery.
    pub host_waits: u64,
    /// CPU time that this kernel has used; `None` outside a guest.
    pub cpu: Option<GuestCpu>,
}

/// Counters of the host programs, and of their pacer.
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
    /// Appends the input to a recording as one line of JSON.
    pub(super) fn record(&self, record: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *record, self)?;
        record.write_all(b"\n")
    }
}
