//! Points of a sweep.

use serde::Serialize;

use super::{effects::P99, numbers::CellNumbers};

/// Cells of a sweep that differ in the seed alone.
#[derive(Clone, Debug, PartialEq)]
pub struct PointCells {
    /// Name of the scenario.
    pub scenario: String,
    /// Short name of each axis's value.
    pub values: Vec<String>,
    /// Number of cells.
    pub cells: usize,
    /// Results of the cells that have usable ones: valid or doubtful.
    pub numbers: Vec<CellNumbers>,
}

/// Point of a sweep, in a few numbers over all cells with usable results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Name of the scenario.
    pub scenario: String,
    /// Short name of each axis's value.
    pub values: Vec<String>,
    /// Number of cells.
    pub cells: usize,
    /// Number of cells with usable results.
    pub done: usize,
    /// Number of measured flows per policy.
    pub flows: u64,
    /// Number of them with a choice of paths; `None` if all or none have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows_with_choice: Option<u64>,
    /// Level of each policy, in the order of the scenario.
    pub levels: Vec<PolicyLevel>,
}

/// Slowdown of a policy at a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyLevel {
    /// Label of the policy.
    pub policy: String,
    /// Geometric mean of the draws' p99 slowdowns; `None` if one is unknown, or a draw has too few flows.
    pub p99: Option<f64>,
}

impl PointCells {
    /// Returns the point's numbers.
    pub(super) fn point(&self) -> Point {
        let cells = &self.numbers;
        let first = cells.first().map_or(&[][..], |cell| &cell.policies);
        Point {
            scenario: self.scenario.clone(),
            values: self.values.clone(),
            cells: self.cells,
            done: cells.len(),
            flows: cells.iter().map(|cell| cell.flows).sum(),
            flows_with_choice: cells.iter().map(|cell| cell.flows_with_choice).sum(),
            levels: first
                .iter()
                .map(|it| PolicyLevel {
                    policy: it.policy.clone(),
                    p99: self.level(&it.policy),
                })
                .collect(),
        }
    }

    fn level(&self, policy: &str) -> Option<f64> {
        let mut logs = Vec::new();
        for cell in &self.numbers {
            for draw in &cell.policy(policy)?.all {
                logs.push(P99.of(draw)?.ln());
            }
        }
        let draws = u32::try_from(logs.len()).ok().filter(|&draws| draws > 0)?;
        Some((logs.iter().sum::<f64>() / f64::from(draws)).exp())
    }
}
