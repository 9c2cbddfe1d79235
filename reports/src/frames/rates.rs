//! Rates of QPs under congestion control, over time.

use std::collections::BTreeMap;

use lab_records::{RateRow, RecordsError};
use lab_units::FlowId;

use super::TimeGrid;
use crate::{facts::RunFacts, text};

/// Rates of QPs in the first repetition, by policy and flow.
pub type Rates = BTreeMap<String, FlowRates>;

/// Rates of QPs under one policy, by flow.
pub type FlowRates = BTreeMap<FlowId, RateSeries>;

/// Rate over time of one flow's sending QP.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateSeries {
    /// Mean of the samples in each narrow interval of a run's [`TimeGrid`], bit/s; `None` without a sample.
    pub means: Vec<Option<f64>>,
    /// Number of CNPs that the sender had received by the last sample.
    pub cnps: u64,
}

/// Samples of one flow's QP, as they are read.
#[derive(Default)]
struct RateSamples {
    /// Sum and number of the samples in each interval.
    sums: Vec<(f64, u32)>,
    cnps: u64,
}

/// Reads the rates of QPs in the first repetition.
pub fn rates(run: &RunFacts, grid: &TimeGrid) -> Result<Rates, RecordsError> {
    let mut flows: BTreeMap<(String, FlowId), RateSamples> = BTreeMap::new();
    run.visit(|row: RateRow| {
        if row.repetition != 0 {
            return;
        }
        let samples = flows.entry((row.policy, row.flow_id)).or_default();
        samples.cnps = samples.cnps.max(row.cnps);
        samples.sums.resize(grid.narrow_len(), (0.0, 0));
        if let Some(sum) = samples.sums.get_mut(grid.index(row.time_ns.get())) {
            sum.0 += text::to_float(row.rate_bps.get());
            sum.1 += 1;
        }
    })?;
    let mut rates = Rates::new();
    for ((policy, flow), samples) in flows {
        let mean = |(sum, count)| (count > 0).then(|| sum / f64::from(count));
        let series = RateSeries {
            means: samples.sums.into_iter().map(mean).collect(),
            cnps: samples.cnps,
        };
        rates.entry(policy).or_default().insert(flow, series);
    }
    Ok(rates)
}

/// Returns Jain's fairness index, (Σ r)² ÷ (n · Σ r²), over the flows that have a rate in each interval; 1 if all rates
/// are equal, `None` for fewer than two flows.
pub fn jains_index(flows: &FlowRates) -> Vec<Option<f64>> {
    let intervals = flows.values().map(|series| series.means.len()).max();
    let index = |interval: usize| {
        let rates = flows.values().filter_map(|series| series.means[interval]);
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
        let series = |means: [Option<f64>; 3]| RateSeries {
            means: means.into(),
            cnps: 0,
        };
        let flows = FlowRates::from([
            (FlowId(0), series([Some(4.0), Some(6.0), Some(5.0)])),
            (FlowId(7), series([Some(4.0), Some(2.0), None])),
        ]);
        // (6 + 2)² ÷ (2 · (36 + 4)) = 0.8. A single flow has no index.
        assert_eq!(jains_index(&flows), [Some(1.0), Some(0.8), None]);
    }
}
