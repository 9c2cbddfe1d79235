//! Options of a simulation, in a request and in the records of its run.

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

/// Options of a simulation.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimRequest {
    /// True if the scenario's scale is applied.
    pub is_scaled: bool,
    /// Time to stop at, in paper time; `None` if the run ends with its last flow.
    pub until_ns: Option<Nanos>,
    /// Flows whose events are recorded: numbers, or `all`.
    pub story: Vec<String>,
}
