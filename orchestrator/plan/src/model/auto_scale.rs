//! Scale that is chosen automatically.

use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;

/// Rationale of an automatically chosen scale.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AutoScale {
    /// Capacity of the machine that runs the plan, within which the scale must stay.
    pub capacity: Capacity,
    /// Bounds on fidelity and run time that the scale does not meet, one sentence each.
    pub costs: Vec<String>,
}
