//! GML, the Graph Modelling Language.
//!
//! Of nodes, `id`, `label`, `Latitude` and `Longitude` are read; of edges, `source`, `target`, `LinkSpeedRaw` (bits per
//! second), and `rate` and `delay` (with units). Capitals do not matter, other keys are left out.

use std::borrow::Cow;

use html_escape::decode_html_entities;

use crate::{
    draft::Draft,
    error::{ImportError, ImportErrorKind},
    gml_list::{GmlEntry, GmlValue, List, parse},
    graph::{Graph, GraphEdge, GraphNode},
    values,
};

/// Reads the graph of a GML file.
///
/// # Errors
/// If the text is not GML, or not a graph.
pub(crate) fn read(text: &str) -> Result<Graph, ImportError> {
    let file = parse(text)?;
    let graphs: Vec<(&GmlEntry<'_>, &List<'_>)> = lists(&file, "graph").collect();
    let [(entry, graph)] = graphs[..] else {
        let found = graphs.len();
        let end = text.trim_end().len();
        return Err(ImportErrorKind::Graphs { found }.at(end..end));
    };
    let mut draft = Draft::new(text);
    for (index, (entry, list)) in lists(graph, "node").enumerate() {
        let located = |kind: ImportErrorKind| {
            kind.at_path(entry.range.clone(), format!("graph.node[{index}]"))
        };
        let node = node(list).map_err(located)?;
        draft.node(&entry.range, node).map_err(located)?;
    }
    let is_directed = graph.text("directed") == Some("1");
    for (index, (entry, list)) in lists(graph, "edge").enumerate() {
        let located = |kind: ImportErrorKind| {
            kind.at_path(entry.range.clone(), format!("graph.edge[{index}]"))
        };
        let edge = edge(&draft, list, is_directed).map_err(located)?;
        draft.edge(edge).map_err(located)?;
    }
    let finished = draft.finish();
    finished.map_err(|kind| kind.at_path(entry.range.clone(), "graph".to_owned()))
}

fn node(list: &List<'_>) -> Result<GraphNode, ImportErrorKind> {
    let missing = ImportErrorKind::Missing {
        of: "node",
        what: "id",
    };
    let label = list.text("label").map(decoded);
    let label = label.map(|text| values::label("the label", &text));
    Ok(GraphNode {
        id: values::id(list.text("id").ok_or(missing)?)?,
        label: label.transpose()?,
        at: values::coordinates(list.text("latitude"), list.text("longitude"))?,
    })
}

fn edge(
    draft: &Draft<'_>,
    list: &List<'_>,
    is_directed: bool,
) -> Result<GraphEdge, ImportErrorKind> {
    let end = |what| {
        let id = list.text(what);
        let of = "edge";
        draft.find(id.ok_or(ImportErrorKind::Missing { of, what })?)
    };
    let rate = match (list.text("rate"), list.text("LinkSpeedRaw")) {
        (Some(text), _) => Some(values::rate(text)?),
        (None, Some(text)) => values::rate_in("`LinkSpeedRaw`", text, 1.0)?,
        (None, None) => None,
    };
    Ok(GraphEdge {
        ends: [end("source")?, end("target")?],
        is_directed,
        rate,
        delay: list.text("delay").map(values::delay).transpose()?,
    })
}

/// Returns the entries of `list` with the key `key` whose values are lists.
fn lists<'l, 'a>(
    list: &'l List<'a>,
    key: &'static str,
) -> impl Iterator<Item = (&'l GmlEntry<'a>, &'l List<'a>)> {
    list.all(key).filter_map(|entry| match &entry.value {
        GmlValue::List(list) => Some((entry, list)),
        GmlValue::Text(_) => None,
    })
}

/// Returns the label with the characters that GML names or numbers as HTML does; a label that would then have control
/// characters stays as it is.
fn decoded(label: &str) -> Cow<'_, str> {
    let decoded = decode_html_entities(label);
    if decoded.contains(char::is_control) {
        return label.into();
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_by_name_and_number_are_decoded_in_labels() {
        let label = |label: &str| {
            let text = format!("graph [ node [ id 0 label \"{label}\" ] ]");
            read(&text).expect("it is a graph").nodes[0].label.clone()
        };
        let accents = label("Li&egrave;ge &#233; &amp;lt;");
        assert_eq!(accents.as_deref(), Some("Li\u{e8}ge \u{e9} &lt;"));
        assert_eq!(label("a&#10;b").as_deref(), Some("a&#10;b"));
    }
}
