//! The reductions that the paper reports, by its authors' analysis.
//!
//! Flows are sorted by size and cut into 20 bins of equal count. In each bin of k flows the median is the
//! value at position ⌊0.5 k⌋ of the sorted slowdowns, from 0, and the 99th percentile the one at
//! ⌊0.99 k⌋; a slowdown under 1 counts as 1. A percentage of the paper's text is then the median over the
//! bins of the change of the bin's median, or the change of the bin's 99th percentile in the bin where it
//! is worst. Nearest-rank percentiles of all flows, which this tool shows elsewhere, say something else.

use serde::Serialize;

/// Reductions as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PaperReductions {
    /// Number of bins with flows.
    pub bins: usize,
    /// Median over the bins, of the relative change in the bin's median: −0.4 is 40 % less.
    pub median_bin_p50: f64,
    /// Largest, so worst, relative change of a bin's 99th percentile.
    pub worst_bin_p99: f64,
}

impl PaperReductions {
    /// True if every bin has flows, as the paper's have.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.bins == BINS
    }
}

/// Returns the changes from `base` to `other`, flows as size and slowdown; `None` if one has no flows.
#[must_use]
pub fn reductions(base: Vec<(u64, f64)>, other: Vec<(u64, f64)>) -> Option<PaperReductions> {
    let base = bins(base);
    let other = bins(other);
    let both: Vec<([f64; 2], [f64; 2])> = base
        .into_iter()
        .zip(other)
        .filter_map(|(base, other)| Some((base?, other?)))
        .collect();
    let changes = |at: usize| {
        let mut changes: Vec<f64> = both
            .iter()
            .map(|(base, other)| other[at] / base[at] - 1.0)
            .collect();
        changes.sort_by(f64::total_cmp);
        changes
    };
    let p50s = changes(0);
    let p99s = changes(1);
    let middle = (
        p50s.get(p50s.len().checked_sub(1)? / 2)?,
        p50s.get(p50s.len() / 2)?,
    );
    Some(PaperReductions {
        bins: both.len(),
        median_bin_p50: f64::midpoint(*middle.0, *middle.1),
        worst_bin_p99: *p99s.last()?,
    })
}

/// Returns p50 and p99 for each bin of flows, given as size and slowdown; `None` for a bin without flows. Flows of one
/// size stay in their order where an edge of a bin is between them.
#[must_use]
pub fn bins(flows: Vec<(u64, f64)>) -> Vec<Option<[f64; 2]>> {
    let flows = flows.into_iter().enumerate();
    let flow = |(place, (size, slowdown)): (usize, (u64, f64))| Flow {
        order: (size, place),
        slowdown: slowdown.max(1.0),
    };
    let mut flows: Vec<Flow> = flows.map(flow).collect();
    let edges: Vec<usize> = (0..=BINS).map(|bin| flows.len() * bin / BINS).collect();
    part(&mut flows, &edges);
    let bin = |edge: &[usize]| {
        let mut slowdowns: Vec<f64> = flows[edge[0]..edge[1]]
            .iter()
            .map(|flow| flow.slowdown)
            .collect();
        let mut at = |percent: usize| {
            let rank = slowdowns.len() * percent / 100;
            let is_there = rank < slowdowns.len();
            is_there.then(|| *slowdowns.select_nth_unstable_by(rank, f64::total_cmp).1)
        };
        Some([at(50)?, at(99)?])
    };
    edges.windows(2).map(bin).collect()
}

/// A flow in a bin.
struct Flow {
    /// Size and place among all.
    order: (u64, usize),
    slowdown: f64,
}

/// Moves the flows between each edge and the next where a sort would, in any order: to sort each bin would
/// take several times as long. The first edge is where `flows` start.
fn part(flows: &mut [Flow], edges: &[usize]) {
    let middle = edges.len() / 2;
    let at = edges[middle] - edges[0];
    if edges.len() < 3 || flows.is_empty() {
        return;
    }
    if at < flows.len() {
        flows.select_nth_unstable_by_key(at, |flow| flow.order);
    }
    let (under, over) = flows.split_at_mut(at);
    part(under, &edges[..=middle]);
    part(over, &edges[middle..]);
}

/// Number of bins in the paper's figures.
const BINS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_bin_and_the_worst_one_speak() {
        // Twenty bins of five flows; `other` halves all, but in one bin the slowest flow is as slow.
        let base: Vec<(u64, f64)> = (0..100).map(|id| (id, 10.0)).collect();
        let mut other: Vec<(u64, f64)> = base.iter().map(|&(size, it)| (size, it / 2.0)).collect();
        other[42].1 = 12.0;
        let found = reductions(base, other).unwrap();
        assert_eq!(found.bins, 20);
        assert!((found.median_bin_p50 + 0.5).abs() < 1e-12, "{found:?}");
        assert!((found.worst_bin_p99 - 0.2).abs() < 1e-12, "{found:?}");
    }

    /// Few flows, many of one size, and so many that some bins have no flow.
    #[test]
    fn bins_are_those_of_flows_sorted_by_size() {
        for (count, sizes) in [(0, 9), (7, 9), (199, 3), (1_000, 90), (2_011, 100_000)] {
            let flow = |id: u64| {
                let slowdown = u32::try_from(id * 7_919 % 1_013).unwrap();
                (id * 104_729 % sizes, 0.5 + f64::from(slowdown))
            };
            let flows: Vec<(u64, f64)> = (0..count).map(flow).collect();
            let mut sorted = flows.clone();
            sorted.sort_by_key(|&(size, _)| size);
            let expected = (0..BINS).map(|bin| {
                let from = sorted.len() * bin / BINS;
                let to = sorted.len() * (bin + 1) / BINS;
                let mut bin: Vec<f64> = sorted[from..to]
                    .iter()
                    .map(|flow| flow.1.max(1.0))
                    .collect();
                bin.sort_by(f64::total_cmp);
                Some([*bin.get(bin.len() / 2)?, *bin.get(bin.len() * 99 / 100)?])
            });
            assert_eq!(bins(flows), expected.collect::<Vec<_>>(), "{count} flows");
        }
    }

    #[test]
    fn a_slowdown_under_one_is_one_and_no_flows_have_no_reductions() {
        let flows = |slowdown: f64| (0..40).map(|id| (id, slowdown)).collect::<Vec<_>>();
        let found = reductions(flows(2.0), flows(0.5)).unwrap();
        assert!((found.median_bin_p50 + 0.5).abs() < 1e-12, "{found:?}");
        assert_eq!(reductions(Vec::new(), flows(1.0)), None);
    }
}
