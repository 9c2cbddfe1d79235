//! Comparison of one policy in two runs.

use lab_units::{Bytes, Nanos};
use serde::Serialize;

use crate::{
    fidelity::flows::{Flows, Recorded},
    frames::Unfinished,
    size_bins::{PERCENTS, SizeBins},
    stats::{self, Change, Pair, Paired, PaperReductions, Slowdowns, Statistic},
};

/// Comparison of one policy in two runs. Changes are computed only if both runs are valid; in a valid run, every
/// scheduled flow finished.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyComparison {
    /// Label of the policy.
    pub policy: String,
    /// Number of flows that did not finish in each run.
    pub unfinished: [u64; 2],
    /// Flow slowdowns in the first run; `None` if no flow finished.
    pub base: Option<Slowdowns>,
    /// Flow slowdowns in the second run; `None` if no flow finished.
    pub other: Option<Slowdowns>,
    /// Changes of the p50, p99 and mean slowdown from the first run to the second; `None` if a run is not valid.
    pub change: Option<Change>,
    /// Per-flow slowdown ratios between the runs; `None` if the runs schedule different flows, or too few flows.
    pub paired: Option<Paired>,
    /// Slowdown changes, computed by the paper's methods.
    pub paper: Option<PaperReductions>,
    /// Changes of the p50 and p99 slowdown by flow size.
    pub bins: Vec<BinChange>,
}

/// Slowdown percentile in one size bin; all bins of a percentile have about equally many flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BinChange {
    /// Percentile, 50 or 99.
    pub percentile: u32,
    /// Largest flow size in the bin, bytes.
    pub upper_bytes: u64,
    /// Number of flows in the bin in each run.
    pub flows: [usize; 2],
    /// Slowdown at the percentile in each run.
    pub slowdown: [f64; 2],
}

impl BinChange {
    /// Returns the relative change of the slowdown from the first run to the second.
    pub fn change(&self) -> f64 {
        self.slowdown[1] / self.slowdown[0] - 1.0
    }
}

/// Slowdowns of the flows of one policy in one run.
struct Played {
    /// Sorted slowdowns of the finished flows, by repetition.
    repetitions: Vec<Vec<f64>>,
    /// Size in bytes and slowdown of each finished flow.
    sizes: Vec<(u64, f64)>,
    /// Lower bound on the slowdown of each scheduled flow that did not finish.
    unfinished: Vec<f64>,
}

impl Played {
    /// Returns the flows of the policy at index `policy`; `flows` must be sorted by repetition.
    fn of(flows: &[Recorded], policy: usize, unfinished: &Unfinished) -> Self {
        let of_policy: Vec<&Recorded> = flows.iter().filter(|it| it.key.policy == policy).collect();
        let finished = |flows: &[&Recorded]| -> Vec<(u64, f64)> {
            flows
                .iter()
                .filter_map(|it| Some((it.size, it.slowdown?)))
                .collect()
        };
        let repetition = |flows: &[&Recorded]| {
            let mut sorted: Vec<f64> = finished(flows).into_iter().map(|it| it.1).collect();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        let repetitions = of_policy.chunk_by(|a, b| a.key.repetition == b.key.repetition);
        let least = |flow: &&Recorded| {
            let [start, ideal] = [flow.start, flow.ideal_fct].map(Nanos::new);
            unfinished.least_slowdown(start, ideal)
        };
        let mut without: Vec<f64> = of_policy
            .iter()
            .filter(|flow| flow.slowdown.is_none())
            .map(least)
            .collect();
        let all = without.len() + unfinished.unrecorded(of_policy.len());
        without.resize(all, 1.0);
        Self {
            repetitions: repetitions.map(repetition).collect(),
            sizes: finished(&of_policy),
            unfinished: without,
        }
    }
}

/// Compares the policy at index `policy` in both runs. `are_valid` means that both runs are valid, `is_paired` that
/// they schedule the same flows.
pub fn compare(
    flows: &Flows,
    policy: usize,
    unfinished: &[Unfinished; 2],
    are_valid: bool,
    is_paired: bool,
) -> PolicyComparison {
    let runs = [0, 1].map(|at| Played::of(&flows.runs[at], policy, &unfinished[at]));
    let [base, other] = &runs;
    let mut comparison = PolicyComparison {
        policy: flows.policies[policy].clone(),
        unfinished: runs.each_ref().map(|run| run.unfinished.len() as u64),
        base: stats::slowdowns(&base.repetitions, &base.unfinished),
        other: stats::slowdowns(&other.repetitions, &other.unfinished),
        change: None,
        paired: None,
        paper: None,
        bins: Vec::new(),
    };
    if are_valid {
        let change = if is_paired {
            stats::change(&base.repetitions, &other.repetitions)
        } else {
            stats::change_between(&base.repetitions, &other.repetitions)
        };
        comparison.change = Some(change);
        comparison.paired = is_paired
            .then(|| stats::paired(&pairs(flows, policy)))
            .flatten();
        comparison.bins = bins([&base.sizes, &other.sizes]);
        let [base, other] = runs.map(|run| run.sizes);
        comparison.paper = stats::reductions(base, other).filter(PaperReductions::is_complete);
    }
    comparison
}

/// Returns the pair of slowdowns that each flow has in the two runs, by repetition, for one policy.
fn pairs(flows: &Flows, policy: usize) -> Vec<Vec<Pair>> {
    let pairs: Vec<[&Recorded; 2]> = flows
        .pairs()
        .filter(|pair| pair[0].key.policy == policy)
        .collect();
    let pair = |[base, other]: &[&Recorded; 2]| {
        Some(Pair {
            base: base.slowdown?,
            other: other.slowdown?,
        })
    };
    let repetitions = pairs.chunk_by(|a, b| a[0].key.repetition == b[0].key.repetition);
    repetitions
        .map(|pairs| pairs.iter().filter_map(pair).collect())
        .collect()
}

/// Returns the slowdown percentiles of both runs in each size bin in which both runs have enough flows. Each run is a
/// list of flow sizes and slowdowns.
fn bins(runs: [&Vec<(u64, f64)>; 2]) -> Vec<BinChange> {
    let mut sizes: Vec<Bytes> = runs
        .into_iter()
        .flatten()
        .map(|flow| Bytes::new(flow.0))
        .collect();
    sizes.sort_unstable();
    let of_percentile = |percentile: u32| {
        let statistic = Statistic::Percentile(percentile);
        let bins = SizeBins::equal(&sizes, runs.len(), statistic.min_values());
        let mut slowdowns = vec![[Vec::new(), Vec::new()]; bins.upper().len()];
        for (at, run) in runs.into_iter().enumerate() {
            for &(size, slowdown) in run {
                slowdowns[bins.of(Bytes::new(size))][at].push(slowdown);
            }
        }
        let bin = |(upper, mut slowdowns): (&Bytes, [Vec<f64>; 2])| {
            slowdowns
                .iter_mut()
                .for_each(|it| it.sort_by(f64::total_cmp));
            let [base, other] = slowdowns.each_ref().map(|it| stats::shown(it, statistic));
            Some(BinChange {
                percentile,
                upper_bytes: upper.get(),
                flows: slowdowns.each_ref().map(Vec::len),
                slowdown: [base?, other?],
            })
        };
        bins.upper()
            .iter()
            .zip(slowdowns)
            .filter_map(bin)
            .collect::<Vec<_>>()
    };
    PERCENTS.into_iter().flat_map(of_percentile).collect()
}
