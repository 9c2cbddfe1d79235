//! Inputs from which an automatic scale is chosen.

use lab_scenario::Scenario;

use crate::{capacity::Capacity, drafts::Draft, network::Network, paths::Paths};

/// Inputs from which an automatic scale is chosen.
pub(crate) struct Inputs<'a> {
    pub scenario: &'a Scenario,
    /// Number of runs of each policy.
    pub repetitions: u32,
    /// Network before scaling.
    pub paper: &'a Network,
    pub paths: &'a Paths,
    pub drafts: &'a [(u32, Draft)],
    pub capacity: Capacity,
}
