//! One policy in two runs.

use std::collections::BTreeMap;

use lab_units::Bytes;
use serde::Serialize;

use crate::{
    fidelity::flows::{Flows, Recorded},
    frames::Pair,
    size_bins::SizeBins,
    stats::{self, Change, Paired, PaperReductions, SeedChange, Slowdowns, nearest_rank},
};

/// Comparison of one policy in two runs. Slowdowns are those of finished flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyComparison {
    /// Label of the policy.
    pub policy: String,
    /// Flows that did not finish, in each run.
    pub unfinished: [u64; 2],
    /// Slowdowns in the first run; none if no flow finished.
    pub base: Option<Slowdowns>,
    /// Slowdowns in the other run; none if no flow finished.
    pub other: Option<Slowdowns>,
    /// Relative changes, of flows that finished in both runs if the runs have the same flows.
    pub change: Option<Change>,
    /// Changes of p50 and p99 with the repetitions as the sample; none for fewer than two.
    pub by_seed: Option<[SeedChange; 2]>,
    /// Ratios of each flow with itself; none if the runs have other flows.
    pub paired: Option<Paired>,
    /// Changes as the paper reduces its figures.
    pub paper: Option<PaperReductions>,
    /// Changes by flow size.
    pub bins: Vec<BinChange>,
}

/// Slowdowns in a bin of sizes; bins have about equally many flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BinChange {
    /// Largest size of the bin.
    pub upper_bytes: u64,
    /// Flows of each run.
    pub flows: [usize; 2],
    /// Median slowdown of each run.
    pub p50: [f64; 2],
    /// 99th percentile of the slowdown of each run.
    pub p99: [f64; 2],
}

/// Compares the policy at `policy` of both runs; `is_paired` if they have the same flows.
pub fn compare(flows: &Flows, policy: usize, is_paired: bool) -> PolicyComparison {
    let is_of_policy = |flow: &&Recorded| flow.key.policy == policy;
    // Sorted by key, flows are in the order of repetitions and their arrivals.
    let runs = flows.runs.each_ref();
    let runs = runs.map(|run| run.iter().filter(is_of_policy).collect::<Vec<&Recorded>>());
    let finished = runs.each_ref().map(|run| {
        let finished = run.iter().filter_map(|flow| Some((*flow, flow.slowdown?)));
        finished.collect::<Vec<(&Recorded, f64)>>()
    });
    let slowdowns = finished
        .each_ref()
        .map(|run| run.iter().map(|it| it.1).collect::<Vec<f64>>());
    let pairs = is_paired.then(|| pairs(flows, policy));
    let sizes = |run: &[(&Recorded, f64)]| {
        let sizes = run.iter().map(|(flow, slowdown)| (flow.size, *slowdown));
        sizes.collect::<Vec<_>>()
    };
    PolicyComparison {
        policy: flows.policies[policy].clone(),
        unfinished: [0, 1].map(|at| (runs[at].len() - finished[at].len()) as u64),
        base: stats::slowdowns(&slowdowns[0]),
        other: stats::slowdowns(&slowdowns[1]),
        change: match &pairs {
            Some(pairs) => stats::change(pairs),
            None => stats::change_between(&slowdowns[0], &slowdowns[1]),
        },
        by_seed: by_seed(&finished),
        paired: pairs.as_deref().and_then(stats::paired),
        paper: stats::reductions(sizes(&finished[0]), sizes(&finished[1])),
        bins: bins(&finished),
    }
}

/// Returns the flows of a policy that finished in both runs, in the order of their arrival.
fn pairs(flows: &Flows, policy: usize) -> Vec<Pair> {
    let pairs = flows.pairs().filter(|pair| pair[0].key.policy == policy);
    let pairs = pairs.filter_map(|[base, other]| {
        Some(Pair {
            base: base.slowdown?,
            other: other.slowdown?,
        })
    });
    pairs.collect()
}

/// Returns the changes of p50 and p99 over the repetitions that both runs have flows of.
fn by_seed(runs: &[Vec<(&Recorded, f64)>; 2]) -> Option<[SeedChange; 2]> {
    let percentiles = runs.each_ref().map(|run| {
        let mut repetitions: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (flow, slowdown) in run {
            let slowdowns = repetitions.entry(flow.key.repetition).or_default();
            slowdowns.push(*slowdown);
        }
        repetitions
            .values_mut()
            .for_each(|it| it.sort_by(f64::total_cmp));
        repetitions
    });
    let [base, other] = &percentiles;
    let at = |percent: u32| {
        let both = base.iter().filter_map(|(repetition, base)| {
            let other = other.get(repetition)?;
            Some([nearest_rank(base, percent)?, nearest_rank(other, percent)?])
        });
        stats::by_seed(&both.collect::<Vec<_>>())
    };
    Some([at(50)?, at(99)?])
}

fn bins(runs: &[Vec<(&Recorded, f64)>; 2]) -> Vec<BinChange> {
    let size = |(flow, _): &(&Recorded, f64)| Bytes::new(flow.size);
    let mut sizes: Vec<Bytes> = runs.iter().flatten().map(size).collect();
    sizes.sort_unstable();
    let bins = SizeBins::equal(&sizes, runs.len());
    let mut slowdowns = vec![[Vec::new(), Vec::new()]; bins.upper().len()];
    for (at, run) in runs.iter().enumerate() {
        for flow in run {
            slowdowns[bins.of(size(flow))][at].push(flow.1);
        }
    }
    let bin = |(upper, mut slowdowns): (&Bytes, [Vec<f64>; 2])| {
        slowdowns
            .iter_mut()
            .for_each(|it| it.sort_by(f64::total_cmp));
        let [base, other] = &slowdowns;
        let both = |percent| Some([nearest_rank(base, percent)?, nearest_rank(other, percent)?]);
        Some(BinChange {
            upper_bytes: upper.get(),
            flows: [base.len(), other.len()],
            p50: both(50)?,
            p99: both(99)?,
        })
    };
    bins.upper().iter().zip(slowdowns).filter_map(bin).collect()
}
