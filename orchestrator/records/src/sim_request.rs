//! Options of a simulation, in a request and in the records of its run.

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

/// Options of a simulation.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimRequest {
    /// True if the simulator applies the scenario's scale.
    pub is_scaled: bool,
    /// Time at which the simulation stops, in paper time; `None` to stop with the last flow.
    pub until_ns: Option<Nanos>,
    /// Flows whose events are recorded: flow numbers, or `all`.
    pub story: Vec<String>,
}
