//! Connected parts of a graph.

use crate::graph::Graph;

/// Returns the number of the connected part of each node; parts are numbered from 0 by their first nodes.
pub(crate) fn components(graph: &Graph) -> Vec<usize> {
    let neighbours = neighbours(graph);
    let mut part_of = vec![usize::MAX; graph.nodes.len()];
    let mut parts = 0;
    for first in 0..graph.nodes.len() {
        if part_of[first] != usize::MAX {
            continue;
        }
        let mut next = vec![first];
        while let Some(node) = next.pop() {
            if part_of[node] == usize::MAX {
                part_of[node] = parts;
                next.extend(&neighbours[node]);
            }
        }
        parts += 1;
    }
    part_of
}

/// Returns the neighbours of each node, sorted, each once, and without the node itself.
pub(crate) fn neighbours(graph: &Graph) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        let [a, b] = edge.ends;
        if a != b {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

/// Returns the nodes of the largest connected part, and the number of parts. Of equally large parts, the first counts.
pub(crate) fn largest(graph: &Graph) -> (Vec<usize>, usize) {
    let part_of = components(graph);
    let parts = part_of.iter().max().map_or(0, |last| last + 1);
    let mut sizes = vec![0_usize; parts];
    for part in &part_of {
        sizes[*part] += 1;
    }
    let largest = (0..parts).rev().max_by_key(|part| sizes[*part]);
    let nodes = (0..part_of.len()).filter(|node| Some(part_of[*node]) == largest);
    (nodes.collect(), parts)
}
