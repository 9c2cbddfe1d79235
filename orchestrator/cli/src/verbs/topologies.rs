//! `lcmp-lab topologies`: lists the built-in graphs of the Internet Topology Zoo.

use lab_scenario::near_graphs;
use lab_topologies::{Graph, choice::choice, geo::Coordinates, zoo};
use lab_units::show::{self, commas, sides};
use serde::Serialize;

use crate::{
    args::{Global, TopologiesArgs},
    failure::{Failure, Outcome},
    terminal::show,
};

/// Row of the list of graphs.
#[derive(Serialize)]
struct ListedGraph {
    name: &'static str,
    nodes: usize,
    /// Number of pairs of nodes with at least one edge.
    links: usize,
    /// Largest great-circle distance of two nodes in km; absent if fewer than two nodes have coordinates.
    #[serde(skip_serializing_if = "Option::is_none")]
    span_km: Option<f64>,
    /// Number of nodes without coordinates.
    unlocated: usize,
    /// Percentage of ordered pairs with several paths of fewest hops; absent unless asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    choice_percent: Option<f64>,
    /// Nodes, in the order of the file; absent unless a graph is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    listed_nodes: Vec<ListedNode>,
}

/// Node of a listed graph.
#[derive(Serialize)]
struct ListedNode {
    id: String,
    label: Option<String>,
    /// Degrees north and degrees east.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<[f64; 2]>,
}

/// Runs `lcmp-lab topologies`.
pub fn topologies(arguments: &TopologiesArgs, global: &Global) -> Outcome {
    let rows = match &arguments.name {
        Some(name) => vec![named(name, arguments.choice)?],
        None => zoo::names()
            .filter_map(|name| Some(row(name, &zoo::graph(name)?, arguments.choice)))
            .collect(),
    };
    show(global.json, &rows, |rows| {
        let nodes: Vec<&ListedNode> = rows.iter().flat_map(|row| &row.listed_nodes).collect();
        let mut text = table(rows, arguments.choice);
        if !nodes.is_empty() {
            text += &format!("\n{}", nodes_table(&nodes));
        }
        text.trim_end().to_owned()
    })
}

/// Returns the row of the graph `name`, with its nodes.
/// Fails if there is no such graph, with exit code 2.
fn named(name: &str, with_choice: bool) -> Result<ListedGraph, Failure> {
    let known = zoo::names().find(|known| *known == name);
    let found = known.and_then(|name| Some((name, zoo::graph(name)?)));
    let Some((name, graph)) = found else {
        let near = near_graphs(name).join("`, `");
        let hint = match near.as_str() {
            "" => "`lcmp-lab topologies` lists them".to_owned(),
            near => format!("did you mean `{near}`?"),
        };
        let message = format_args!("there is no graph `{name}` in the Topology Zoo (hint: {hint})");
        return Err(Failure::usage(message));
    };
    let nodes = graph.nodes.iter().map(|node| ListedNode {
        id: node.id.clone(),
        label: node.shown().map(str::to_owned),
        at: node.at.map(|at| [at.latitude, at.longitude]),
    });
    Ok(ListedGraph {
        listed_nodes: nodes.collect(),
        ..row(name, &graph, with_choice)
    })
}

fn row(name: &'static str, graph: &Graph, with_choice: bool) -> ListedGraph {
    let located: Vec<Coordinates> = graph.nodes.iter().filter_map(|node| node.at).collect();
    ListedGraph {
        name,
        nodes: graph.nodes.len(),
        links: graph.links(),
        span_km: span_km(&located),
        unlocated: graph.nodes.len() - located.len(),
        choice_percent: with_choice.then(|| choice(graph).percent()),
        listed_nodes: Vec::new(),
    }
}

/// Returns the largest distance of two of the positions in whole km; `None` if there are fewer than two.
fn span_km(located: &[Coordinates]) -> Option<f64> {
    let others = |index: usize| located.iter().skip(index + 1);
    let pairs =
        (located.iter().enumerate()).flat_map(|(index, a)| others(index).map(move |b| (a, b)));
    let distances = pairs.map(|(a, b)| a.distance_km(*b).round());
    distances.reduce(f64::max)
}

fn table(rows: &[ListedGraph], with_choice: bool) -> String {
    let titles = ["graph", "nodes", "links", "span, km", "unlocated", "choice"];
    let mut cells = vec![titles.map(str::to_owned)];
    cells.extend(rows.iter().map(|row| {
        [
            row.name.to_owned(),
            row.nodes.to_string(),
            row.links.to_string(),
            row.span_km.map_or_else(|| "–".to_owned(), thousands),
            row.unlocated.to_string(),
            row.choice_percent
                .map_or_else(String::new, |share| format!("{share:.1} %")),
        ]
    }));
    if !with_choice {
        cells.iter_mut().for_each(|row| row[5].clear());
    }
    show::table(0, sides(1), &cells)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a distance on the earth is between 0 and 20,016 km"
)]
fn thousands(km: f64) -> String {
    commas(km as u64)
}

fn nodes_table(nodes: &[&ListedNode]) -> String {
    let titles = ["id", "label", "latitude", "longitude"];
    let mut cells = vec![titles.map(str::to_owned)];
    cells.extend(nodes.iter().map(|node| {
        let degrees = |index: usize| match node.at {
            Some(at) => format!("{:.2}", at[index]),
            None => "–".to_owned(),
        };
        let label = node.label.clone().unwrap_or_else(|| "–".to_owned());
        [node.id.clone(), label, degrees(0), degrees(1)]
    }));
    show::table(0, sides(2), &cells)
}
