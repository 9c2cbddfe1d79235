//! Scale that is chosen automatically.

use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;

/// Rationale of an automatically chosen scale.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AutoScale {
    /// Capacity of the place of the run, which the scale must fit.
    pub capacity: Capacity,
    /// Bounds that the scale does not meet, each as a sentence with its consequence.
    pub costs: Vec<String>,
}
