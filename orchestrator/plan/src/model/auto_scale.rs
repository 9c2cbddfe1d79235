//! Automatic scale of a plan.

use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;

/// Rationale of an automatic scale.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AutoScale {
    /// Capacity that the scale is chosen for.
    pub capacity: Capacity,
    /// Bounds that the scale does not keep, as sentences with their consequences.
    pub costs: Vec<String>,
}
