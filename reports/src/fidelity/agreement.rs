//! Agreement of two runs, for each policy and over all flows.

use lab_units::Bytes;
use serde::Serialize;

use super::{
    correlation::{pearson, spearman},
    flows::{Flows, Recorded},
};
use crate::{size_bins::SizeBins, stats::nearest_rank, text::to_float};

/// Agreement of two runs of the same flows, under one policy or all policies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Label of the policy; `None` for the flows of all policies together.
    pub policy: Option<String>,
    /// Number of flows in the plan.
    pub scheduled: u64,
    /// Number of flows that both runs recorded.
    pub recorded: u64,
    /// Number of flows that finished in both runs; FCTs and slowdowns are compared for these.
    pub compared: u64,
    /// Number of recorded flows whose data took the same path in both runs.
    pub same_data_path: u64,
    /// Number of recorded flows whose acknowledgements took the same path in both runs.
    pub same_ack_path: u64,
    /// Number of recorded flows whose data and whose acknowledgements took the same paths in both runs.
    pub same_paths: u64,
    /// Number of recorded flows with a path that is unknown in one run; such a path counts as different.
    pub unknown_paths: u64,
    /// Distribution of |ΔFCT| divided by the first run's FCT; `None` if no flow is compared.
    pub fct_difference: Option<Differences>,
    /// Pearson's coefficient of the flows' slowdowns; `None` if the slowdowns of one run do not vary.
    pub pearson: Option<f64>,
    /// Spearman's coefficient of the flows' slowdowns; `None` if the slowdowns of one run do not vary.
    pub spearman: Option<f64>,
    /// Number of size bins that have flows; each policy has its own bins.
    pub bins: u64,
    /// Pearson's coefficient of the bins' p50 slowdowns, as in the paper's Figure 6.
    pub pearson_of_p50: Option<f64>,
    /// Pearson's coefficient of the bins' p99 slowdowns.
    pub pearson_of_p99: Option<f64>,
}

/// Distribution of the relative differences of FCTs; percentiles are by nearest rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Differences {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

/// Slowdown percentiles of one policy's flows in one size bin.
#[derive(Clone, Debug, PartialEq)]
pub struct BinPoint {
    /// Index of the policy.
    pub policy: usize,
    /// Median slowdown in each run.
    pub p50: [f64; 2],
    /// 99th percentile of the slowdown in each run.
    pub p99: [f64; 2],
}

impl Agreement {
    /// Returns the share of recorded flows whose data and acknowledgements took the same paths in both runs; `None` if
    /// no flow was recorded.
    #[must_use]
    pub fn path_share(&self) -> Option<f64> {
        share(self.same_paths, self.recorded)
    }

    /// Returns the share of the plan's flows that finished in both runs; `None` if the plan has no flows.
    #[must_use]
    pub fn compared_share(&self) -> Option<f64> {
        share(self.compared, self.scheduled)
    }

    /// Returns the agreement of the flow pairs in `pairs`, with their size bins in `bins`; the plan has `scheduled`
    /// flows.
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

/// Returns the agreement for each policy, and over all flows.
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

/// Returns each policy's slowdown percentiles in size bins of equal flow counts: 20 bins as in the paper, or fewer if a
/// bin would have fewer than [`MIN_FLOWS`] flows.
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

/// Returns the second run's FCT minus the first's, divided by the first's; `None` if the flow is unfinished in a run.
pub fn difference([first, second]: [&Recorded; 2]) -> Option<f64> {
    let [first, second] = [first.fct?, second.fct?];
    let apart = to_float(first.abs_diff(second)) / to_float(first.max(1));
    Some(if second < first { -apart } else { apart })
}

/// Returns the slowdowns of a flow in both runs; `None` unless the flow has a slowdown in each run.
pub fn slowdowns_of([first, second]: [&Recorded; 2]) -> Option<[f64; 2]> {
    Some([first.slowdown?, second.slowdown?])
}

/// Returns true if the flow's data and acknowledgements took the same paths in both runs.
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

/// Minimum number of flows per policy in a bin. A bin has the same flows in both runs, so even percentiles of few flows
/// can be compared.
const MIN_FLOWS: usize = 10;
