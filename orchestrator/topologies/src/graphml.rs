//! GraphML, the format of the Topology Zoo.
//!
//! Of the data of nodes, `label`, `Latitude` and `Longitude` are read; of edges, `LinkSpeedRaw` (bits per second), and
//! `rate` and `delay` (with units). Capitals do not matter, other data are left out.

use std::collections::BTreeMap;

use roxmltree::Node;

use crate::{
    draft::Draft,
    element::{at, attribute, children, start},
    error::{ImportError, ImportErrorKind},
    graph::{Graph, GraphEdge, GraphNode},
    values,
};

/// Reads the graph of the element `graphml`.
///
/// # Errors
/// If the element is not a graph.
pub(crate) fn read(text: &str, root: Node<'_, '_>) -> Result<Graph, ImportError> {
    let graphs: Vec<Node<'_, '_>> = children(root, "graph").collect();
    let [graph] = graphs[..] else {
        let found = graphs.len();
        return Err(at(root, ImportErrorKind::Graphs { found }));
    };
    let mut names = BTreeMap::new();
    for key in children(root, "key") {
        let id = attribute(key, "key", "id")?;
        let name = attribute(key, "key", "attr.name")?;
        names.insert(id, name.to_ascii_lowercase());
    }
    let mut draft = Draft::new(text);
    for node in children(graph, "node") {
        let read = read_node(node, &names)?;
        draft
            .node(&start(node), read)
            .map_err(|kind| at(node, kind))?;
    }
    let is_directed = graph.attribute("edgedefault") == Some("directed");
    for edge in children(graph, "edge") {
        let read = read_edge(&draft, edge, &names, is_directed)?;
        draft.edge(read).map_err(|kind| at(edge, kind))?;
    }
    draft.finish().map_err(|kind| at(graph, kind))
}

/// Names of data in lower case, by the ids of their keys.
type Names<'a> = BTreeMap<&'a str, String>;

fn read_node(node: Node<'_, '_>, names: &Names<'_>) -> Result<GraphNode, ImportError> {
    let data = data(node, names)?;
    let located = |kind| at(node, kind);
    let label = data
        .get("label")
        .map(|text| values::label("the label", text));
    let degrees = |name| data.get(name).copied();
    Ok(GraphNode {
        id: values::id(attribute(node, "node", "id")?).map_err(located)?,
        label: label.transpose().map_err(located)?,
        at: values::coordinates(degrees("latitude"), degrees("longitude")).map_err(located)?,
    })
}

fn read_edge(
    draft: &Draft<'_>,
    edge: Node<'_, '_>,
    names: &Names<'_>,
    is_directed: bool,
) -> Result<GraphEdge, ImportError> {
    let data = data(edge, names)?;
    let located = |kind| at(edge, kind);
    let end = |name| {
        let id = attribute(edge, "edge", name)?;
        draft.find(id.trim_matches(' ')).map_err(located)
    };
    let rate = match (data.get("rate"), data.get("linkspeedraw")) {
        (Some(text), _) => values::rate(text).map(Some),
        (None, Some(text)) => values::rate_in("`LinkSpeedRaw`", text, 1.0),
        (None, None) => Ok(None),
    };
    let delay = data.get("delay").map(|text| values::delay(text));
    Ok(GraphEdge {
        ends: [end("source")?, end("target")?],
        is_directed: match edge.attribute("directed") {
            Some(word) => word == "true",
            None => is_directed,
        },
        rate: rate.map_err(located)?,
        delay: delay.transpose().map_err(located)?,
    })
}

/// Returns the data of a node or edge by their names in lower case.
fn data<'a, 'n>(
    element: Node<'a, '_>,
    names: &'n Names<'_>,
) -> Result<BTreeMap<&'n str, &'a str>, ImportError> {
    let mut data = BTreeMap::new();
    for child in children(element, "data") {
        let key = attribute(child, "data", "key")?;
        if let (Some(name), Some(text)) = (names.get(key), child.text()) {
            data.insert(name.as_str(), text);
        }
    }
    Ok(data)
}
