//! Options of a simulation, in requests and in the records of a run.

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

/// Options of a simulation.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimRequest {
    /// True if the simulator applies the scenario's scale.
    pub is_scaled: bool,
    /// Time in paper time at which the simulation stops; `None` to stop with the last flow.
    pub until_ns: Option<Nanos>,
    /// Flows whose events are recorded: ids of flows, or `all`.
    pub story: Vec<String>,
    /// Maximum number of packets in a train; `None` without trains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trains: Option<u32>,
    #[serde(skip_serializing_if = "SimRecords::is_full")]
    pub records: SimRecords,
}

/// Records that a simulation keeps; `run.json` has the evidence from all rows, kept or not.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SimRecords {
    /// The plan and all rows.
    #[default]
    Full,
    /// Flows and their paths, and two samples of each link's counters, after the last flow's start and at the end. Ports
    /// have the second alone.
    Flows,
}

impl SimRecords {
    /// Returns true for the plan and all rows.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full)
    }
}
