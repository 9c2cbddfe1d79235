//! XML format of SNDlib, with its demands.
//!
//! A link's rate is its pre-installed capacity; the modules that a plan may add are left out. The unit of capacities
//! and demands is that of the element `unit`, or else assumed: Mbit/s. Coordinates count if they are geographical.

use roxmltree::Node;

use crate::{
    draft::Draft,
    element::{at, attribute, child, child_text, children, start},
    error::{ImportError, ImportErrorKind},
    geo::Coordinates,
    graph::{Graph, GraphDemand, GraphEdge, GraphNode},
    values,
};

/// Reads the graph of the element `network`.
///
/// # Errors
/// If the element is not a network of SNDlib.
pub(crate) fn read(text: &str, root: Node<'_, '_>) -> Result<Graph, ImportError> {
    let missing = |what| {
        let of = "network";
        move || at(root, ImportErrorKind::Missing { of, what })
    };
    let structure = child(root, "networkStructure").ok_or_else(missing("networkStructure"))?;
    let nodes = child(structure, "nodes").ok_or_else(missing("nodes"))?;
    let is_geographical = nodes.attribute("coordinatesType") == Some("geographical");
    let mut draft = Draft::new(text);
    for node in children(nodes, "node") {
        let id = values::id(attribute(node, "node", "id")?).map_err(|kind| at(node, kind))?;
        let read = GraphNode {
            label: Some(id.clone()),
            id,
            at: is_geographical
                .then(|| coordinates(node))
                .transpose()?
                .flatten(),
        };
        draft
            .node(&start(node), read)
            .map_err(|kind| at(node, kind))?;
    }
    let unit = unit(root)?;
    let mut has_rates = false;
    for link in children_of(structure, "links", "link") {
        let rate = capacity(link)?;
        has_rates |= rate.is_some();
        let edge = GraphEdge {
            ends: ends(&draft, link, "link")?,
            is_directed: false,
            rate,
            delay: None,
        };
        draft.edge(edge).map_err(|kind| at(link, kind))?;
    }
    for demand in children_of(root, "demands", "demand") {
        let value = child_text(demand, "demand", "demandValue")?;
        let rate =
            values::rate_in("the demand", value, MEGABIT).map_err(|kind| at(demand, kind))?;
        let ends = ends(&draft, demand, "demand")?;
        let range = start(demand);
        if let Some(rate) = rate {
            has_rates = true;
            draft
                .demand(GraphDemand { ends, rate, range })
                .map_err(|kind| at(demand, kind))?;
        }
    }
    if has_rates && unit.is_none() {
        draft.assume_unit();
    }
    draft.finish().map_err(|kind| at(nodes, kind))
}

fn coordinates(node: Node<'_, '_>) -> Result<Option<Coordinates>, ImportError> {
    let Some(element) = child(node, "coordinates") else {
        return Ok(None);
    };
    let text = |name| child(element, name).and_then(|child| child.text());
    values::coordinates(text("y"), text("x")).map_err(|kind| at(element, kind))
}

/// Returns the pre-installed capacity of a link; `None` if there is none, or if it is zero.
fn capacity(link: Node<'_, '_>) -> Result<Option<lab_units::BitsPerSec>, ImportError> {
    let Some(module) = child(link, "preInstalledModule") else {
        return Ok(None);
    };
    let text = child_text(module, "module", "capacity")?;
    values::rate_in("the capacity", text, MEGABIT).map_err(|kind| at(module, kind))
}

/// Returns the unit of all rates; `None` if the file has none.
///
/// # Errors
/// If the unit is not Mbit/s.
fn unit<'a>(root: Node<'a, '_>) -> Result<Option<&'a str>, ImportError> {
    let Some(element) = child(root, "meta").and_then(|meta| child(meta, "unit")) else {
        return Ok(None);
    };
    match element.text().map(str::trim) {
        Some(unit @ "MBITPERSEC") => Ok(Some(unit)),
        other => Err(at(
            element,
            ImportErrorKind::Value {
                what: "the unit",
                found: crate::error::quoted(other.unwrap_or_default()),
                expected: "`MBITPERSEC`".to_owned(),
            },
        )),
    }
}

fn ends(
    draft: &Draft<'_>,
    element: Node<'_, '_>,
    of: &'static str,
) -> Result<[usize; 2], ImportError> {
    let end = |name| {
        let id = child_text(element, of, name)?;
        draft.find(id.trim()).map_err(|kind| at(element, kind))
    };
    Ok([end("source")?, end("target")?])
}

/// Returns the elements `name` in the element `list` of `parent`; none without the list.
fn children_of<'a, 'i>(
    parent: Node<'a, 'i>,
    list: &'static str,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    let list = child(parent, list);
    list.into_iter().flat_map(move |list| children(list, name))
}

/// Bits per second of 1 Mbit/s.
const MEGABIT: f64 = 1e6;
