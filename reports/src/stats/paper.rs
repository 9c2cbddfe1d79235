//! Reductions that the paper reports, computed as in the authors' analysis.
//!
//! Flows are sorted by size and divided into 20 bins of equal count. In each bin of k flows, the median is the slowdown
//! at the 0-based position ⌊0.5 k⌋ of the sorted slowdowns, and the 99th percentile is the slowdown at ⌊0.99 k⌋;
//! slowdowns less than 1 are set to 1. A percentage in the paper's text is either the median over all bins of the
//! change of the bin's median, or the worst change of a bin's 99th percentile. These numbers differ from the
//! nearest-rank percentiles of all flows that this tool shows elsewhere.

use serde::Serialize;

/// Changes of slowdown, computed as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PaperReductions {
    /// Number of size bins that have flows.
    pub bins: usize,
    /// Median over the bins of the relative change of the bin's median; −0.4 is a reduction by 40 %.
    pub median_bin_p50: f64,
    /// Largest, that is worst, relative change of a bin's 99th percentile.
    pub worst_bin_p99: f64,
}

impl PaperReductions {
    /// Returns true if every size bin has flows, as in the paper.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.bins == BINS
    }
}

/// Returns the changes from `base` to `other`, which are lists of flow size and slowdown; `None` if a list is empty.
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

/// Returns p50 and p99 of each size bin of `flows`, given as size and slowdown; `None` for a bin without flows. Flows
/// of equal size are assigned to bins in their given order.
#[must_use]
pub fn bins(flows: Vec<(u64, f64)>) -> Vec<Option<[f64; 2]>> {
    let flows = flows.into_iter().enumerate();
    let flow = |(place, (size, slowdown)): (usize, (u64, f64))| SizedFlow {
        order: (size, place),
        slowdown: slowdown.max(1.0),
    };
    let mut flows: Vec<SizedFlow> = flows.map(flow).collect();
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

/// Flow to assign to a size bin.
struct SizedFlow {
    /// Flow size, and index among all flows, which orders equal sizes.
    order: (u64, usize),
    slowdown: f64,
}

/// Partitions the flows at `edges` as a sort would, but leaves the flows between two edges in any order; sorting
/// completely would take several times as long. Edges are indices among all flows; the first edge is the index of
/// `flows[0]`.
fn part(flows: &mut [SizedFlow], edges: &[usize]) {
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

/// Number of size bins in the paper's figures.
const BINS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_bin_and_the_worst_one_speak() {
        // There are twenty bins of five flows. `other` halves all slowdowns except that of the slowest flow in one bin.
        let base: Vec<(u64, f64)> = (0..100).map(|id| (id, 10.0)).collect();
        let mut other: Vec<(u64, f64)> = base.iter().map(|&(size, it)| (size, it / 2.0)).collect();
        other[42].1 = 12.0;
        let found = reductions(base, other).unwrap();
        assert_eq!(found.bins, 20);
        assert!((found.median_bin_p50 + 0.5).abs() < 1e-12, "{found:?}");
        assert!((found.worst_bin_p99 - 0.2).abs() < 1e-12, "{found:?}");
    }

    /// The cases include many flows of equal size, and so few flows that some bins are empty.
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
