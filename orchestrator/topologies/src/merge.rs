//! Parallel edges merged into links.

use std::collections::BTreeMap;

use lab_units::{BitsPerSec, Nanos};

use crate::graph::Graph;

/// Link between two nodes, made of all edges between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merged {
    /// Sum of the edges' rates; with directed edges, the lesser one. `None` if any edge has none.
    pub rate: Option<BitsPerSec>,
    /// Least delay of the edges; `None` if any edge has none.
    pub delay: Option<Nanos>,
    /// Number of links that were merged: undirected edges, and directed edges in the direction that has more.
    pub count: usize,
    /// True if there are edges in one direction only.
    pub is_one_way: bool,
    /// True if the two directions have different rates.
    pub is_uneven: bool,
}

/// Edges between two nodes, by direction: undirected, from the lower node, from the higher node.
#[derive(Default)]
struct Bundle {
    counts: [usize; 3],
    /// Sum of the rates in bits per second; `None` if an edge has none.
    rates: [Option<u64>; 3],
    delay: Option<Nanos>,
    lacks_delay: bool,
}

/// Returns the links of a graph by their ends, the lower node first; self loops are left out.
pub(crate) fn merge(graph: &Graph) -> BTreeMap<[usize; 2], Merged> {
    let mut bundles: BTreeMap<[usize; 2], Bundle> = BTreeMap::new();
    for edge in &graph.edges {
        let [a, b] = edge.ends;
        if a == b {
            continue;
        }
        let bundle = bundles
            .entry([a.min(b), a.max(b)])
            .or_insert_with(|| Bundle {
                rates: [Some(0); 3],
                ..Bundle::default()
            });
        let direction = match (edge.is_directed, a < b) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => 2,
        };
        bundle.counts[direction] += 1;
        let rate = &mut bundle.rates[direction];
        *rate = rate
            .zip(edge.rate)
            .map(|(sum, rate)| sum.saturating_add(rate.get()));
        bundle.lacks_delay |= edge.delay.is_none();
        bundle.delay = [bundle.delay, edge.delay].into_iter().flatten().min();
    }
    let merged = bundles.into_iter();
    merged
        .map(|(ends, bundle)| (ends, bundle.merged()))
        .collect()
}

impl Bundle {
    fn merged(self) -> Merged {
        let [both, up, down] = self.counts;
        let [shared, rate_up, rate_down] = self.rates;
        let one_way = match (up, down) {
            (0, _) => rate_down,
            (_, 0) => rate_up,
            (_, _) => rate_up.zip(rate_down).map(|(up, down)| up.min(down)),
        };
        let sum = shared.zip(one_way).map(|(a, b)| a.saturating_add(b));
        Merged {
            rate: sum.and_then(BitsPerSec::new),
            delay: self.delay.filter(|_| !self.lacks_delay),
            count: both + up.max(down),
            is_one_way: (up == 0) != (down == 0),
            is_uneven: up > 0 && down > 0 && rate_up != rate_down,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::GraphEdge;

    fn merged(edges: &[(usize, usize, bool, u64, u64)]) -> Merged {
        let edge = |&(a, b, is_directed, rate, delay): &(usize, usize, bool, u64, u64)| GraphEdge {
            ends: [a, b],
            is_directed,
            rate: BitsPerSec::new(rate),
            delay: (delay > 0).then(|| Nanos::new(delay)),
        };
        let graph = Graph {
            edges: edges.iter().map(edge).collect(),
            ..Graph::default()
        };
        merge(&graph).remove(&[0, 1]).unwrap()
    }

    fn rate(merged: &Merged) -> Option<u64> {
        merged.rate.map(BitsPerSec::get)
    }

    #[test]
    fn parallel_edges_add_their_rates_and_keep_the_least_delay() {
        let link = merged(&[
            (0, 1, false, 10, 7),
            (1, 0, false, 30, 5),
            (1, 1, false, 9, 1),
        ]);
        assert_eq!((rate(&link), link.delay), (Some(40), Some(Nanos::new(5))));
        assert_eq!(
            (link.count, link.is_one_way, link.is_uneven),
            (2, false, false)
        );
    }

    #[test]
    fn two_directions_are_one_link() {
        let link = merged(&[(0, 1, true, 10, 7), (1, 0, true, 10, 7)]);
        assert_eq!((rate(&link), link.count), (Some(10), 1));
        assert!(!link.is_one_way && !link.is_uneven);
        let uneven = merged(&[(0, 1, true, 10, 7), (1, 0, true, 4, 7), (0, 1, true, 1, 7)]);
        assert_eq!((rate(&uneven), uneven.count), (Some(4), 2));
        assert!(uneven.is_uneven);
        assert!(merged(&[(1, 0, true, 10, 7)]).is_one_way);
    }

    #[test]
    fn an_edge_without_a_number_leaves_the_link_without_it() {
        let link = merged(&[(0, 1, false, 10, 7), (0, 1, false, 0, 0)]);
        assert_eq!((rate(&link), link.delay), (None, None));
    }
}
