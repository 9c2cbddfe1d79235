//! Cells for tests.

use lab_records::Grade;

use super::{CellNetwork, CellNumbers, CellPolicy, DrawSlowdowns};

/// Returns a cell with one draw, given its plan's hash and the p99 under each policy.
pub fn cell(plan: &str, p99s: &[(&str, f64)]) -> CellNumbers {
    let policy = |&(label, p99): &(&str, f64)| CellPolicy {
        policy: label.to_owned(),
        unfinished: 0,
        busiest: Some(0.5),
        mechanism: None,
        all: vec![DrawSlowdowns {
            repetition: 0,
            flows: 2_000,
            p50: Some(1.5),
            p99: Some(p99),
            mean: Some(2.0),
            p50_without_window: None,
            p99_without_window: None,
        }],
        with_choice: Vec::new(),
    };
    CellNumbers {
        cell: String::new(),
        identity: String::new(),
        plan: plan.to_owned(),
        verdict: Grade::Valid,
        reasons: Vec::new(),
        flows: 2_000,
        flows_with_choice: None,
        network: CellNetwork {
            dcs: 10,
            links: 12,
            pairs: 90,
            pairs_with_choice: 45,
            delay_spread: 2.0,
            capacity_spread: 1.0,
        },
        policies: p99s.iter().map(policy).collect(),
    }
}
