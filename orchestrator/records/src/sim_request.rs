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
}
