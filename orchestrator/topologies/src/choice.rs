//! Share of node pairs that have a choice of paths.

use crate::{
    components::{largest, neighbours},
    graph::Graph,
};

/// Pairs of nodes in the largest connected part of a graph.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PairChoice {
    /// Number of ordered pairs.
    pub pairs: usize,
    /// Number of ordered pairs with more than one path of fewest hops.
    pub with_choice: usize,
}

impl PairChoice {
    /// Returns the percentage of pairs with more than one path; 0 without pairs.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn percent(self) -> f64 {
        100.0 * self.with_choice as f64 / self.pairs.max(1) as f64
    }
}

/// Counts the ordered pairs of nodes, and those with more than one path when every node forwards to all neighbours on
/// paths of fewest hops. Parallel edges are one.
#[must_use]
pub fn choice(graph: &Graph) -> PairChoice {
    let (nodes, _) = largest(graph);
    let neighbours = neighbours(graph);
    let mut found = PairChoice::default();
    for &source in &nodes {
        let paths = paths_from(source, &neighbours);
        found.pairs += nodes.len() - 1;
        found.with_choice += nodes.iter().filter(|node| paths[**node] > 1).count();
    }
    found
}

/// Returns the number of paths of fewest hops from `source` to each node, at most 2: more are counted as 2.
fn paths_from(source: usize, neighbours: &[Vec<usize>]) -> Vec<u8> {
    let mut hops = vec![usize::MAX; neighbours.len()];
    let mut paths = vec![0_u8; neighbours.len()];
    hops[source] = 0;
    paths[source] = 1;
    let mut queue = vec![source];
    let mut next = 0;
    while let Some(&node) = queue.get(next) {
        next += 1;
        for &other in &neighbours[node] {
            if hops[other] == usize::MAX {
                hops[other] = hops[node] + 1;
                queue.push(other);
            }
            if hops[other] == hops[node] + 1 {
                paths[other] = (paths[other] + paths[node]).min(2);
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, read};

    fn of(edges: &str) -> (usize, usize) {
        let text = format!("source,target\n{edges}");
        let found = choice(&read(Format::EdgeList, text.as_bytes()).unwrap());
        (found.with_choice, found.pairs)
    }

    #[test]
    fn opposite_corners_of_a_square_have_two_paths() {
        assert_eq!(of("a,b\nb,c\nc,d\nd,a\n"), (4, 12));
        // In a triangle, with a tail and parallel edges, every path is alone.
        assert_eq!(of("a,b\nb,c\nc,a\nc,d\nc,d\n"), (0, 12));
        // Only the larger part counts.
        assert_eq!(of("x,y\na,b\nb,c\nc,d\nd,a\n"), (4, 12));
    }
}
