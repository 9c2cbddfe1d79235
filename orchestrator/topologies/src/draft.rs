//! Graph under construction, which checks identifiers and numbers of parts.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    error::{ImportErrorKind, line, quoted},
    graph::{Graph, GraphDemand, GraphEdge, GraphNode, MAX_EDGES, MAX_NODES},
};

/// Graph under construction.
pub(crate) struct Draft<'a> {
    /// Text of the file.
    text: &'a str,
    graph: Graph,
    /// Index of each node, and byte offset of its definition, by identifier.
    ids: BTreeMap<String, (usize, usize)>,
}

impl<'a> Draft<'a> {
    pub const fn new(text: &'a str) -> Self {
        Self {
            text,
            graph: Graph {
                nodes: Vec::new(),
                edges: Vec::new(),
                demands: Vec::new(),
                has_assumed_unit: false,
            },
            ids: BTreeMap::new(),
        }
    }

    /// Adds a node that is defined at the byte range `range`.
    ///
    /// # Errors
    /// If another node has the identifier, or the graph has too many nodes.
    pub fn node(&mut self, range: &Range<usize>, node: GraphNode) -> Result<(), ImportErrorKind> {
        let index = self.graph.nodes.len();
        if index >= MAX_NODES {
            return Err(ImportErrorKind::TooManyNodes);
        }
        if let Some((_, first)) = self.ids.get(&node.id) {
            return Err(ImportErrorKind::DuplicateNode {
                id: quoted(&node.id),
                first_line: line(self.text, *first),
            });
        }
        self.ids.insert(node.id.clone(), (index, range.start));
        self.graph.nodes.push(node);
        Ok(())
    }

    /// Returns the index of the node `id`.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn find(&self, id: &str) -> Result<usize, ImportErrorKind> {
        let found = self.ids.get(id).map(|(index, _)| *index);
        found.ok_or_else(|| ImportErrorKind::UnknownNode { id: quoted(id) })
    }

    /// Adds an edge.
    ///
    /// # Errors
    /// If the graph has too many edges.
    pub fn edge(&mut self, edge: GraphEdge) -> Result<(), ImportErrorKind> {
        if self.graph.edges.len() >= MAX_EDGES {
            return Err(ImportErrorKind::TooManyEdges { what: "edges" });
        }
        self.graph.edges.push(edge);
        Ok(())
    }

    /// Adds a demand.
    ///
    /// # Errors
    /// If the graph has too many demands.
    pub fn demand(&mut self, demand: GraphDemand) -> Result<(), ImportErrorKind> {
        if self.graph.demands.len() >= MAX_EDGES {
            return Err(ImportErrorKind::TooManyEdges { what: "demands" });
        }
        self.graph.demands.push(demand);
        Ok(())
    }

    /// Returns the numbers of nodes and edges so far.
    pub const fn counts(&self) -> (usize, usize) {
        (self.graph.nodes.len(), self.graph.edges.len())
    }

    /// Notes that the unit of rates was assumed.
    pub const fn assume_unit(&mut self) {
        self.graph.has_assumed_unit = true;
    }

    /// Returns the graph.
    ///
    /// # Errors
    /// If the graph has no nodes.
    pub fn finish(self) -> Result<Graph, ImportErrorKind> {
        if self.graph.nodes.is_empty() {
            return Err(ImportErrorKind::NoNodes);
        }
        Ok(self.graph)
    }
}
