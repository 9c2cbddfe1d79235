//! Counts of paths and delays in a run's network, by the paper's definitions.

use std::collections::VecDeque;

use lab_records::{DcInfo, LinkInfo};
use serde::Serialize;

/// Numbers of paths, and spread of link delays, in a network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PathCounts {
    /// Number of unordered pairs of datacenters.
    pub pairs: usize,
    /// Number of pairs of datacenters that have several paths with the fewest links.
    pub multi_path_pairs: usize,
    /// Longest delay of an inter-DC link divided by the shortest; `NaN` without links.
    pub delay_ratio: f64,
}

impl PathCounts {
    /// Counts the paths in the network of `links` between `dcs`.
    #[must_use]
    pub fn of(dcs: &[DcInfo], links: &[LinkInfo]) -> Self {
        let position = |name: &str| dcs.iter().position(|dc| dc.name == name);
        let ends: Vec<[usize; 2]> = links
            .iter()
            .filter_map(|link| {
                let ends = [position(&link.a)?, position(&link.b)?];
                Some(ends)
            })
            .collect();
        let several = (0..dcs.len()).map(|from| {
            let counts = path_counts(dcs.len(), &ends, from);
            let beyond = counts.into_iter().skip(from + 1);
            beyond.filter(|count| *count > 1).count()
        });
        let delays = || links.iter().map(|link| float(link.delay_ns.get()));
        Self {
            pairs: dcs.len() * dcs.len().saturating_sub(1) / 2,
            multi_path_pairs: several.sum(),
            delay_ratio: delays().fold(f64::NAN, f64::max) / delays().fold(f64::NAN, f64::min),
        }
    }
}

/// Returns the number of paths with the fewest links from `from` to each node, by breadth-first search.
fn path_counts(nodes: usize, links: &[[usize; 2]], from: usize) -> Vec<u64> {
    let mut hops = vec![usize::MAX; nodes];
    let mut counts = vec![0; nodes];
    (hops[from], counts[from]) = (0, 1);
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for [a, b] in links {
            let next = match at {
                at if at == *a => *b,
                at if at == *b => *a,
                _ => continue,
            };
            if hops[next] == usize::MAX {
                hops[next] = hops[at] + 1;
                queue.push_back(next);
            }
            if hops[next] == hops[at] + 1 {
                counts[next] += counts[at];
            }
        }
    }
    counts
}

#[expect(clippy::cast_precision_loss, reason = "delays are far below 2^53 ns")]
const fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the paper's 8-DC network, DC1 and DC8 have links to each of the six others.
    #[test]
    fn sixteen_of_28_pairs_of_the_testbed_have_several_paths() {
        let links: Vec<[usize; 2]> = (1..7).flat_map(|dc| [[0, dc], [dc, 7]]).collect();
        let counts = |from| path_counts(8, &links, from);
        assert_eq!(counts(0), [1, 1, 1, 1, 1, 1, 1, 6]);
        assert_eq!(counts(1), [1, 1, 2, 2, 2, 2, 2, 1]);
        let several = (0..8).map(|from| {
            let beyond = counts(from).into_iter().skip(from + 1);
            beyond.filter(|count| *count > 1).count()
        });
        assert_eq!(several.sum::<usize>(), 16);
    }
}
