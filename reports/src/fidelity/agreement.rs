//! Agreement of two runs, for each policy and for all flows.

use lab_units::Bytes;
use serde::Serialize;

use super::{
    correlation::{pearson, spearman},
    flows::{Flows, Recorded},
};
use crate::{size_bins::SizeBins, stats::nearest_rank, text::to_float};

/// Agreement between two runs of the same flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Label of the policy; none for all policies' flows.
    pub policy: Option<String>,
    /// Flows of the plan.
    pub scheduled: u64,
    /// Flows that both runs recorded.
    pub recorded: u64,
    /// Flows that finished in both runs: FCTs and slowdowns are compared of these.
    pub compared: u64,
    /// Recorded flows whose data took one path in both runs.
    pub same_data_path: u64,
    /// Recorded flows whose acknowledgements took one path in both runs.
    pub same_ack_path: u64,
    /// Recorded flows whose data and acknowledgements did.
    pub same_paths: u64,
    /// Recorded flows with a path that one run does not know; it counts as another path.
    pub unknown_paths: u64,
    /// |ΔFCT| ÷ the first run's FCT; none if no flow is compared.
    pub fct_difference: Option<Differences>,
    /// Pearson's coefficient between the flows' slowdowns; none if those in one run do not vary.
    pub pearson: Option<f64>,
    /// Spearman's coefficient of the flows' slowdowns.
    pub spearman: Option<f64>,
    /// Bins of flow sizes that have flows, each policy's for itself.
    pub bins: u64,
    /// Pearson's coefficient of the bins' p50 slowdown, as in the paper's Figure 6.
    pub pearson_of_p50: Option<f64>,
    /// Pearson's coefficient of the bins' p99 slowdown.
    pub pearson_of_p99: Option<f64>,
}

/// Relative differences of FCTs; percentiles by the nearest-rank rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Differences {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// Slowdowns of one policy's flows in one size bin.
#[derive(Clone, Debug, PartialEq)]
pub struct BinPoint {
    /// Position of the policy.
    pub policy: usize,
    /// Median slowdown of each run.
    pub p50: [f64; 2],
    /// 99th percentile of each run's slowdown.
    pub p99: [f64; 2],
}

impl Agreement {
    /// Share of recorded flows whose data and acknowledgements took one path in both runs; none if
    /// there are none.
    #[must_use]
    pub fn path_share(&self) -> Option<f64> {
        share(self.same_paths, self.recorded)
    }

    /// Share of the plan's flows that finished in both runs; none if there are none.
    #[must_use]
    pub fn compared_share(&self) -> Option<f64> {
        share(self.compared, self.scheduled)
    }

    /// Returns the agreement between the two runs in `pairs`, for which the plan has `scheduled`
    /// flows, with their size `bins`.
    fn of<'a>(
        policy: Option<String>,
        scheduled: u64,
        pairs: impl Iterator<Item = [&'a Recorded; 2]>,
        bins: &[&BinPoint],
    ) -> Self {
        let points = |of: fn(&BinPoint) -> [f64; 2]| bins.iter().map(|bin| of(bin)).collect();
        let p50s: Vec<_> = points(|bin| bin.p50);
        let p99s: Vec<_> = points(|bin| bin.p99);
        let mut agreement = Self {
            policy,
            scheduled,
            recorded: 0,
            compared: 0,
            same_data_path: 0,
            same_ack_path: 0,
            same_paths: 0,
            unknown_paths: 0,
            fct_difference: None,
            pearson: None,
            spearman: None,
            bins: bins.len() as u64,
            pearson_of_p50: pearson(&p50s),
            pearson_of_p99: pearson(&p99s),
        };
        let mut differences = Vec::new();
        let mut slowdowns = Vec::new();
        for pair in pairs {
            agreement.count_paths(pair);
            differences.extend(difference(pair).map(f64::abs));
            slowdowns.extend(slowdowns_of(pair));
        }
        differences.sort_by(f64::total_cmp);
        agreement.compared = differences.len() as u64;
        agreement.fct_difference = Differences::of(&differences);
        agreement.pearson = pearson(&slowdowns);
        agreement.spearman = spearman(&slowdowns);
        agreement
    }

    fn count_paths(&mut self, pair: [&Recorded; 2]) {
        let is_same_data = is_known_and_same(pair.map(|flow| flow.path));
        let is_same_ack = is_known_and_same(pair.map(|flow| flow.ack_path));
        let is_unknown = pair
            .iter()
            .any(|flow| flow.path.is_none() || flow.ack_path.is_none());
        self.recorded += 1;
        self.same_data_path += u64::from(is_same_data);
        self.same_ack_path += u64::from(is_same_ack);
        self.same_paths += u64::from(is_same_data && is_same_ack);
        self.unknown_paths += u64::from(is_unknown);
    }
}

/// Returns the agreement for each policy's flows, and for all.
pub fn agreements(flows: &Flows, bins: &[BinPoint], scheduled: u64) -> (Vec<Agreement>, Agreement) {
    let of_policy = |(policy, label): (usize, &String)| {
        let pairs = flows.pairs().filter(|pair| pair[0].key.policy == policy);
        let bins: Vec<&BinPoint> = bins.iter().filter(|bin| bin.policy == policy).collect();
        Agreement::of(Some(label.clone()), scheduled, pairs, &bins)
    };
    let policies: Vec<Agreement> = flows.policies.iter().enumerate().map(of_policy).collect();
    let bins: Vec<&BinPoint> = bins.iter().collect();
    let scheduled = scheduled.saturating_mul(policies.len() as u64);
    let all = Agreement::of(None, scheduled, flows.pairs(), &bins);
    (policies, all)
}

/// Returns each policy's slowdowns by equally filled size bins: 20 as in the paper, or as many as have ten flows per
/// policy.
pub fn by_size(flows: &Flows) -> Vec<BinPoint> {
    let compared = flows.pairs().filter(|pair| slowdowns_of(*pair).is_some());
    let mut sizes: Vec<Bytes> = compared
        .clone()
        .map(|pair| Bytes::new(pair[0].size))
        .collect();
    sizes.sort_unstable();
    let bins = SizeBins::equal(&sizes, flows.policies.len(), MIN_FLOWS);
    let none = [Vec::new(), Vec::new()];
    let mut slowdowns = vec![vec![none; bins.upper().len()]; flows.policies.len()];
    for pair in compared {
        let bin = bins.of(Bytes::new(pair[0].size));
        let of_bin = &mut slowdowns[pair[0].key.policy][bin];
        for (slowdowns, slowdown) in of_bin.iter_mut().zip(slowdowns_of(pair).iter().flatten()) {
            slowdowns.push(*slowdown);
        }
    }
    let mut points = Vec::new();
    for (policy, bins) in slowdowns.into_iter().enumerate() {
        points.extend(bins.into_iter().filter_map(|bin| point(policy, bin)));
    }
    points
}

fn point(policy: usize, mut slowdowns: [Vec<f64>; 2]) -> Option<BinPoint> {
    for slowdowns in &mut slowdowns {
        slowdowns.sort_by(f64::total_cmp);
    }
    let [first, second] = &slowdowns;
    let both = |percent| {
        Some([
            nearest_rank(first, percent)?,
            nearest_rank(second, percent)?,
        ])
    };
    Some(BinPoint {
        policy,
        p50: both(50)?,
        p99: both(99)?,
    })
}

impl Differences {
    fn of(sorted: &[f64]) -> Option<Self> {
        Some(Self {
            p50: nearest_rank(sorted, 50)?,
            p95: nearest_rank(sorted, 95)?,
            p99: nearest_rank(sorted, 99)?,
            max: nearest_rank(sorted, 100)?,
        })
    }
}

/// Returns the second run's FCT less the first's, ÷ the first's; `None` if one did not finish.
pub fn difference([first, second]: [&Recorded; 2]) -> Option<f64> {
    let [first, second] = [first.fct?, second.fct?];
    let apart = to_float(first.abs_diff(second)) / to_float(first.max(1));
    Some(if second < first { -apart } else { apart })
}

/// Returns the slowdowns of a flow; `None` if either run has none.
pub fn slowdowns_of([first, second]: [&Recorded; 2]) -> Option<[f64; 2]> {
    Some([first.slowdown?, second.slowdown?])
}

/// True if the flow's data and acknowledgements took one path in both runs.
pub fn is_on_same_paths(pair: [&Recorded; 2]) -> bool {
    is_known_and_same(pair.map(|flow| flow.path))
        && is_known_and_same(pair.map(|flow| flow.ack_path))
}

fn is_known_and_same([first, second]: [Option<u32>; 2]) -> bool {
    first.is_some() && first == second
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| to_float(part) / to_float(whole))
}

/// Minimum number of flows per policy in a bin. A bin has the same flows of both runs, so its percentiles can be
/// compared however few flows it has.
const MIN_FLOWS: usize = 10;
