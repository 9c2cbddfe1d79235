//! Automatic scale of a plan.

use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;

/// Reasons of an automatic scale.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AutoScale {
    /// Capacity that the scale fits.
    pub capacity: Capacity,
    /// Bounds that the scale does not keep, as sentences with their cost.
    pub costs: Vec<String>,
}
