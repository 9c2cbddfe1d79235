//! Graphs as their files describe them.

use std::{collections::BTreeSet, ops::Range};

use lab_units::{BitsPerSec, Nanos};

use crate::geo::Coordinates;

/// Graph of a file; every number is one that the file has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    pub nodes: Vec<GraphNode>,
    pub edges: Vec<GraphEdge>,
    pub demands: Vec<GraphDemand>,
    /// True if the file gives no unit of rates and its format has none, so that a unit was assumed: Mbit/s.
    pub has_assumed_unit: bool,
}

impl Graph {
    /// Returns the number of pairs of nodes with at least one edge; an edge from a node to itself does not count.
    #[must_use]
    pub fn links(&self) -> usize {
        let pairs = self.edges.iter().map(|edge| {
            let [a, b] = edge.ends;
            [a.min(b), a.max(b)]
        });
        let links: BTreeSet<[usize; 2]> = pairs.filter(|[a, b]| a != b).collect();
        links.len()
    }
}

/// Node of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphNode {
    /// Identifier, unique in the file.
    pub id: String,
    /// Name for people; `None` if the file has none.
    pub label: Option<String>,
    /// Position on the earth; `None` if the file has none.
    pub at: Option<Coordinates>,
}

impl GraphNode {
    /// Returns the label or, without one, an identifier that is not a mere number. `None` for nodes without a name.
    #[must_use]
    pub fn shown(&self) -> Option<&str> {
        let id = Some(self.id.as_str()).filter(|id| id.parse::<f64>().is_err());
        let label = self.label.as_deref().map(str::trim);
        label.or(id).filter(|name| !NAMELESS.contains(name))
    }
}

/// Labels that stand for a missing label; the Topology Zoo has all of them.
const NAMELESS: [&str; 4] = ["", "?", "None", "none"];

/// Edge of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphEdge {
    /// Indices of the two nodes; a directed edge leads from the first to the second.
    pub ends: [usize; 2],
    /// True if the edge is one direction of a link.
    pub is_directed: bool,
    pub rate: Option<BitsPerSec>,
    /// One-way propagation delay.
    pub delay: Option<Nanos>,
}

/// Mean rate of the traffic from one node to another.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphDemand {
    /// Index of the sending node, and of the receiving node.
    pub ends: [usize; 2],
    pub rate: BitsPerSec,
    /// Byte range of the demand in its file.
    pub range: Range<usize>,
}

/// Maximum size of a graph file in bytes; the largest graph of the Topology Zoo has 0.5 MB.
pub const MAX_GRAPH_BYTES: usize = 4 << 20;
/// Maximum number of nodes in a graph.
pub const MAX_NODES: usize = 10_000;
/// Maximum number of edges, and of demands, in a graph file.
pub const MAX_EDGES: usize = 20_000;
/// Maximum number of demands in a file that has only demands: all pairs between 316 nodes.
pub const MAX_DEMANDS: usize = 100_000;
/// Maximum length of an identifier or label in characters.
pub const MAX_TEXT: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_shown_by_its_label_or_by_an_id_that_is_a_name() {
        let shown = |id: &str, label: Option<&str>| {
            let label = label.map(str::to_owned);
            let node = GraphNode {
                id: id.to_owned(),
                label,
                at: None,
            };
            node.shown().map(str::to_owned)
        };
        assert_eq!(shown("7", Some(" Paris ")).as_deref(), Some("Paris"));
        assert_eq!(shown("Paris", None).as_deref(), Some("Paris"));
        for nameless in ["", " ", "?", "None", "none"] {
            assert_eq!(shown("Paris", Some(nameless)), None, "{nameless}");
        }
        for number in ["7", "-7", "7.0"] {
            assert_eq!(shown(number, None), None, "{number}");
        }
    }
}
