//! Error of trains: the same cells, simulated by trains and packet by packet.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    stats::{median, nearest_rank},
    sweep::{CellNumbers, CellPolicy, DrawSlowdowns, P50, P99, Percentile, Slice, distinct},
};

/// Error of trains for one policy and percentile, over the cells of a sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainsError {
    /// Label of the policy.
    pub policy: String,
    pub slice: Slice,
    /// Name of the percentile, such as `p99`.
    pub statistic: &'static str,
    /// Errors of the slowdowns themselves.
    pub level: Errors,
    /// Errors of the changes against the baseline; `None` for the baseline.
    pub change: Option<Errors>,
    /// Agreement on which of the two policies is faster, where packets show more than 1 % between them; `None` for the
    /// baseline.
    pub order: Option<Agreement>,
}

/// Distribution of relative errors over the draws of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// Number of draws.
    pub draws: usize,
    /// Median error, with its sign.
    pub median: f64,
    /// Magnitude that 95 % of the errors do not exceed.
    pub p95: f64,
    /// Largest magnitude.
    pub largest: f64,
}

/// Number of draws in which trains and packets agree.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Agreement {
    pub draws: usize,
    pub agree: usize,
}

/// Cells with equal plans: by trains, and packet by packet.
pub(super) struct Sample<'a> {
    pub pairs: Vec<[&'a CellNumbers; 2]>,
}

impl<'a> Sample<'a> {
    /// Pairs the cells whose plans have equal hashes.
    pub fn new(
        trains: impl IntoIterator<Item = &'a CellNumbers>,
        packets: impl IntoIterator<Item = &'a CellNumbers>,
    ) -> Self {
        let by_plan: BTreeMap<&str, &CellNumbers> =
            trains.into_iter().map(|it| (&*it.plan, it)).collect();
        let pair = |exact: &'a CellNumbers| Some([*by_plan.get(&*exact.plan)?, exact]);
        Self {
            pairs: packets.into_iter().filter_map(pair).collect(),
        }
    }

    /// Computes the errors of each policy; `baseline` is the policy that the others are compared with.
    pub fn errors(&self, baseline: &str) -> Vec<TrainsError> {
        let by_trains = self.pairs.iter().flat_map(|[trains, _]| &trains.policies);
        let policies = distinct(by_trains.map(|policy| &policy.policy));
        let mut errors = Vec::new();
        for slice in [Slice::All, Slice::WithChoice] {
            for policy in &policies {
                errors.extend(
                    [P50, P99]
                        .iter()
                        .filter_map(|percentile| self.error(policy, baseline, slice, percentile)),
                );
            }
        }
        errors
    }

    fn error(
        &self,
        policy: &str,
        baseline: &str,
        slice: Slice,
        percentile: &Percentile,
    ) -> Option<TrainsError> {
        let mut levels = Vec::new();
        let mut changes = Vec::new();
        let mut order = Agreement::default();
        for pair in &self.pairs {
            let own = logs(pair, policy, slice, percentile);
            let base = logs(pair, baseline, slice, percentile);
            for (repetition, [trains, packets]) in own {
                levels.push(trains - packets);
                let Some([base_trains, base_packets]) = base.get(&repetition) else {
                    continue;
                };
                let change = [trains - base_trains, packets - base_packets];
                changes.push(change[0] - change[1]);
                if change[1].abs() > SHOWN {
                    order.draws += 1;
                    order.agree += usize::from(change[0] * change[1] > 0.0);
                }
            }
        }
        let is_base = policy == baseline;
        Some(TrainsError {
            policy: policy.to_owned(),
            slice,
            statistic: percentile.name(),
            level: Errors::of(&levels)?,
            change: Errors::of(&changes).filter(|_| !is_base),
            order: (!is_base).then_some(order),
        })
    }
}

/// Logarithmic change that packets must show before its sign is compared: about 1 %.
const SHOWN: f64 = 0.01;

/// Returns the logarithms of a percentile by trains and by packets, by repetition.
fn logs(
    pair: &[&CellNumbers; 2],
    policy: &str,
    slice: Slice,
    percentile: &Percentile,
) -> BTreeMap<u32, [f64; 2]> {
    let draws = |cell: &CellNumbers| {
        let known = cell.policy(policy);
        let draws = known.map_or(&[][..], |it: &CellPolicy| it.draws(slice));
        let log = |draw: &DrawSlowdowns| Some((draw.repetition, percentile.of(draw)?.ln()));
        draws.iter().filter_map(log).collect::<BTreeMap<_, _>>()
    };
    let [trains, packets] = pair.map(draws);
    let both = |(repetition, log): (u32, f64)| {
        packets
            .get(&repetition)
            .map(|exact| (repetition, [log, *exact]))
    };
    trains.into_iter().filter_map(both).collect()
}

impl Errors {
    /// Returns the distribution of errors that are given as logarithms; `None` if there are none.
    fn of(logs: &[f64]) -> Option<Self> {
        let mut sizes: Vec<f64> = logs.iter().map(|log| log.abs().exp_m1()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        Some(Self {
            draws: logs.len(),
            median: median(logs.to_vec())?.exp_m1(),
            p95: nearest_rank(&sizes, 95)?,
            largest: *sizes.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::testing::cell;

    #[test]
    fn errors_are_those_of_cells_with_equal_plans() {
        let trains = [
            cell("a", &[("ecmp", 4.4), ("lcmp", 2.0)]),
            cell("b", &[("ecmp", 4.0), ("lcmp", 3.0)]),
            cell("c", &[("ecmp", 9.0), ("lcmp", 9.0)]),
        ];
        let packets = [
            cell("b", &[("ecmp", 4.0), ("lcmp", 5.0)]),
            cell("a", &[("ecmp", 4.0), ("lcmp", 2.0)]),
            cell("d", &[("ecmp", 1.0), ("lcmp", 1.0)]),
        ];
        let sample = Sample::new(&trains, &packets);
        assert_eq!(sample.pairs.len(), 2);
        let errors = sample.errors("ecmp");
        let p99 = |policy: &str| {
            let mut found = errors.iter();
            found
                .find(|it| it.policy == policy && it.statistic == "p99")
                .unwrap()
        };
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        };
        let ecmp = p99("ecmp");
        assert_eq!((ecmp.level.draws, ecmp.change, ecmp.order), (2, None, None));
        // The errors are 10 % and none.
        near(ecmp.level.median, 1.1_f64.sqrt() - 1.0);
        near(ecmp.level.largest, 0.1);
        // By packets, lcmp changes the p99 from 4 to 2 and from 4 to 5; by trains, from 4.4 to 2 and from 4 to 3.
        let lcmp = p99("lcmp");
        near(lcmp.change.unwrap().largest, 5.0 / 3.0 - 1.0);
        near(lcmp.change.unwrap().p95, 5.0 / 3.0 - 1.0);
        near(
            lcmp.change.unwrap().median,
            (1.0 / 1.1 * 0.6_f64).sqrt() - 1.0,
        );
        let order = Agreement { draws: 2, agree: 1 };
        assert_eq!(lcmp.order, Some(order));
    }
}
