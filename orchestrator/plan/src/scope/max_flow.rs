//! Maximum flow from one node to another, and the minimum cut behind it.
//!
//! The workspace has no graph library, and a dependency for one function of fifty lines is not worth its build: Edmonds
//! and Karp's method for one source and one sink, in exact integers of 128 bits. A property test compares it with the
//! minimum over all cuts.

use std::collections::VecDeque;

/// Directed graph with capacities, in the form of residual arcs: the arc with an odd index is the reverse of the one
/// before it.
pub(super) struct FlowGraph {
    /// Head and remaining capacity of each arc.
    arcs: Vec<(usize, u128)>,
    /// Arcs that leave each node.
    out: Vec<Vec<usize>>,
}

impl FlowGraph {
    /// Returns a graph of `nodes` nodes without arcs.
    pub fn new(nodes: usize) -> Self {
        Self {
            arcs: Vec::new(),
            out: vec![Vec::new(); nodes],
        }
    }

    /// Adds an arc.
    pub fn add(&mut self, from: usize, to: usize, capacity: u128) {
        self.out[from].push(self.arcs.len());
        self.arcs.push((to, capacity));
        self.out[to].push(self.arcs.len());
        self.arcs.push((from, 0));
    }

    /// Sends the maximum flow from `source` to `sink`. Returns the flow, and for each node whether it is on the
    /// source's side of a minimum cut.
    pub fn run(mut self, source: usize, sink: usize) -> (u128, Vec<bool>) {
        let mut flow = 0;
        loop {
            let reached = self.shortest_paths(source);
            if reached[sink].is_none() {
                let mut side: Vec<bool> = reached.iter().map(Option::is_some).collect();
                side[source] = true;
                return (flow, side);
            }
            let mut path = Vec::new();
            let mut at = sink;
            while at != source
                && let Some(arc) = reached[at]
            {
                path.push(arc);
                at = self.arcs[arc ^ 1].0;
            }
            let room = path.iter().map(|&arc| self.arcs[arc].1).min().unwrap_or(0);
            for arc in path {
                self.arcs[arc].1 -= room;
                self.arcs[arc ^ 1].1 += room;
            }
            flow += room;
        }
    }

    /// Returns the last arc of a shortest path with remaining capacity from `source` to each node; `None` for the
    /// source and for nodes without such a path.
    fn shortest_paths(&self, source: usize) -> Vec<Option<usize>> {
        let mut last = vec![None; self.out.len()];
        let mut queue = VecDeque::from([source]);
        while let Some(at) = queue.pop_front() {
            for &arc in &self.out[at] {
                let (to, room) = self.arcs[arc];
                if room > 0 && to != source && last[to].is_none() {
                    last[to] = Some(arc);
                    queue.push_back(to);
                }
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two paths of 3 and 2 from node 0 to node 3, and an arc of 1 between them: 0→1 has 4, 1→3 has 3, 0→2 has 2, 2→3
    /// has 5, 1→2 has 1. All that leaves 0 arrives: 3 + (2 + 1) = 6. The minimum cut is {0}.
    #[test]
    fn a_flow_uses_the_arc_between_two_paths() {
        let mut graph = FlowGraph::new(4);
        for (from, to, capacity) in [(0, 1, 4), (1, 3, 3), (0, 2, 2), (2, 3, 5), (1, 2, 1)] {
            graph.add(from, to, capacity);
        }
        assert_eq!(graph.run(0, 3), (6, vec![true, false, false, false]));
    }

    #[test]
    fn without_a_path_there_is_no_flow() {
        let mut graph = FlowGraph::new(3);
        graph.add(1, 0, 7);
        assert_eq!(graph.run(0, 2), (0, vec![true, false, false]));
    }

    proptest! {
        /// The maximum flow equals the least capacity of all 2^(n - 2) cuts, and the reported side is such a cut.
        #[test]
        fn the_flow_is_the_minimum_over_all_cuts(
            arcs in prop::collection::vec((0usize..6, 0usize..6, 0u128..20), 0..20),
        ) {
            let mut graph = FlowGraph::new(6);
            for &(from, to, capacity) in &arcs {
                graph.add(from, to, capacity);
            }
            let (flow, side) = graph.run(0, 5);
            let crossing = |is_in: &dyn Fn(usize) -> bool| -> u128 {
                let cut = arcs.iter().filter(|(from, to, _)| is_in(*from) && !is_in(*to));
                cut.map(|(.., capacity)| capacity).sum()
            };
            let cuts = (0u32..16).map(|set| {
                crossing(&|node| node == 0 || (1..5).contains(&node) && set >> (node - 1) & 1 == 1)
            });
            prop_assert_eq!(Some(flow), cuts.min());
            prop_assert!(side[0] && !side[5]);
            prop_assert_eq!(flow, crossing(&|node| side[node]));
        }
    }
}
