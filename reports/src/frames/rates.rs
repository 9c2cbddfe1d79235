//! Rates of QPs under congestion control over time.

use std::collections::BTreeMap;

use lab_records::{RateRow, RecordsError, RunDir};
use lab_units::FlowId;

use super::TimeGrid;
use crate::text;

/// Rates of the first repetition, by policy and flow: in each narrow interval of a run's grid the mean of
/// the samples, bit/s; none without a sample.
pub type Rates = BTreeMap<String, FlowRates>;

/// Rates under one policy, by flow.
pub type FlowRates = BTreeMap<FlowId, Vec<Option<f64>>>;

/// Sum and number of the samples of an interval.
type Sum = (f64, u32);

/// Reads the rates, and the number of truncated rows.
pub fn rates(run: &RunDir, grid: &TimeGrid) -> Result<(Rates, u64), RecordsError> {
    let mut sums: BTreeMap<(String, FlowId), Vec<Sum>> = BTreeMap::new();
    let truncated = run.visit(|row: RateRow| {
        let index = grid.index(row.time_ns.get());
        if row.repetition != 0 || index >= grid.narrow_len() {
            return;
        }
        let sums = sums.entry((row.policy, row.flow_id)).or_default();
        sums.resize(grid.narrow_len(), (0.0, 0));
        sums[index].0 += text::to_float(row.rate_bps.get());
        sums[index].1 += 1;
    })?;
    let mut rates = Rates::new();
    for ((policy, flow), sums) in sums {
        let mean = |(sum, count): Sum| (count > 0).then(|| sum / f64::from(count));
        let means = sums.into_iter().map(mean).collect();
        rates.entry(policy).or_default().insert(flow, means);
    }
    Ok((rates, truncated))
}

/// Returns Jain's index of fairness of the flows that have a rate, in each interval with two or more:
/// (Σ r)² ÷ (n · Σ r²), 1 if all rates are equal.
pub fn jains_index(flows: &FlowRates) -> Vec<Option<f64>> {
    let intervals = flows.values().map(Vec::len).max();
    let index = |interval: usize| {
        let rates = flows.values().filter_map(|rates| rates[interval]);
        let (count, sum, squares) = rates.fold((0.0, 0.0, 0.0), |(count, sum, squares), rate| {
            (count + 1.0, sum + rate, squares + rate * rate)
        });
        (count >= 2.0).then(|| sum * sum / (count * squares))
    };
    (0..intervals.unwrap_or(0)).map(index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_of_the_flows_under_way() {
        let flows = FlowRates::from([
            (FlowId(0), vec![Some(4.0), Some(6.0), Some(5.0)]),
            (FlowId(7), vec![Some(4.0), Some(2.0), None]),
        ]);
        // (6 + 2)² ÷ (2 · (36 + 4)) = 0.8; a flow alone shares with nobody.
        assert_eq!(jains_index(&flows), [Some(1.0), Some(0.8), None]);
    }
}
