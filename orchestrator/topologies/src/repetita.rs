//! REPETITA's formats: `.graph` files of nodes and directed edges, and `.demands` files.
//!
//! A section starts with its name and number of rows, then comes a row of titles. Edges have their ends as node numbers
//! from 0, a weight, a bandwidth in kbit/s, and a delay in µs. Positions that are not degrees are left out.

use std::iter::Peekable;

use crate::{
    draft::Draft,
    error::{ImportError, ImportErrorKind, quoted},
    graph::{Graph, GraphDemand, GraphEdge, GraphNode, MAX_DEMANDS, MAX_EDGES, MAX_NODES},
    rows::{Row, rows},
    values,
};

/// Reads a `.graph` file.
///
/// # Errors
/// If the text does not have the two sections.
pub(crate) fn read(text: &str) -> Result<Graph, ImportError> {
    let end = text.trim_end().len();
    let mut rows = rows(text).peekable();
    let mut draft = Draft::new(text);
    let nodes = section(&mut rows, end, "NODES", "`label x y`", MAX_NODES)?;
    for row in nodes {
        let [label, x, y] = fields(&row, "3: label, x, y")?;
        let located = |kind: ImportErrorKind| kind.at(row.range());
        let (index, _) = draft.counts();
        let bounds = [-MAX_NUMBER, MAX_NUMBER];
        values::number("x", x, bounds).map_err(located)?;
        values::number("y", y, bounds).map_err(located)?;
        let node = GraphNode {
            id: index.to_string(),
            label: Some(values::label("the label", label).map_err(located)?),
            at: values::coordinates(Some(y), Some(x)).unwrap_or_default(),
        };
        draft.node(&row.range(), node).map_err(located)?;
    }
    let edges = section(
        &mut rows,
        end,
        "EDGES",
        "`label src dest weight bw delay`",
        MAX_EDGES,
    )?;
    for row in edges {
        let [_, source, target, weight, rate, delay] =
            fields(&row, "6: label, src, dest, weight, bw, delay")?;
        let located = |kind: ImportErrorKind| kind.at(row.range());
        values::number("the weight", weight, [0.0, MAX_NUMBER]).map_err(located)?;
        let edge = GraphEdge {
            ends: [
                draft.find(source).map_err(located)?,
                draft.find(target).map_err(located)?,
            ],
            is_directed: true,
            rate: values::rate_in("the bandwidth", rate, KILOBIT).map_err(located)?,
            delay: Some(values::delay_in("the delay", delay, MICROSECOND).map_err(located)?),
        };
        draft.edge(edge).map_err(located)?;
    }
    at_end(&mut rows)?;
    draft.finish().map_err(|kind| kind.at(end..end))
}

/// Reads a `.demands` file for a graph with `nodes` nodes.
///
/// # Errors
/// If the text does not have the section, or a demand has an unknown end.
pub fn demands(text: &str, nodes: usize) -> Result<Vec<GraphDemand>, ImportError> {
    let end = text.trim_end().len();
    let mut rows = rows(text).peekable();
    let mut demands = Vec::new();
    for row in section(
        &mut rows,
        end,
        "DEMANDS",
        "`label src dest bw`",
        MAX_DEMANDS,
    )? {
        let [_, source, target, rate] = fields(&row, "4: label, src, dest, bw")?;
        let located = |kind: ImportErrorKind| kind.at(row.range());
        let find = |id: &str| {
            let index = id.parse().ok().filter(|index| *index < nodes);
            let unknown = || ImportErrorKind::UnknownNode { id: quoted(id) };
            index.ok_or_else(unknown).map_err(located)
        };
        let ends = [find(source)?, find(target)?];
        let rate = values::rate_in("the demand", rate, KILOBIT).map_err(located)?;
        let range = row.range();
        demands.extend(rate.map(|rate| GraphDemand { ends, rate, range }));
    }
    at_end(&mut rows)?;
    Ok(demands)
}

/// Returns the rows of the section `name`, whose titles are `titles`. `end` is the byte offset of the file's end.
fn section<'a>(
    rows: &mut Peekable<impl Iterator<Item = Row<'a>>>,
    end: usize,
    name: &'static str,
    titles: &'static str,
    max: usize,
) -> Result<Vec<Row<'a>>, ImportError> {
    let syntax = |row: Option<&Row<'_>>, expected| {
        let range = row.map_or(end..end, Row::range);
        let found = row.map_or_else(
            || "the end of the file".to_owned(),
            |row| format!("`{}`", quoted(row.text)),
        );
        ImportErrorKind::Syntax { found, expected }.at(range)
    };
    let expected = match name {
        "NODES" => "`NODES` and their number",
        "EDGES" => "`EDGES` and their number",
        _ => "`DEMANDS` and their number",
    };
    let head = rows.next();
    let announced = match head.map(|row| row.fields()).as_deref() {
        Some([word, count]) if *word == name => *count,
        _ => return Err(syntax(head.as_ref(), expected)),
    };
    let range = head.map_or(end..end, |row| row.range());
    let announced = values::count("the number of rows", announced, max)
        .map_err(|kind| kind.at(range.clone()))?;
    let title = rows.next();
    let is_title =
        |row: &Row<'_>| row.fields() == titles.trim_matches('`').split(' ').collect::<Vec<_>>();
    if !title.as_ref().is_some_and(is_title) {
        return Err(syntax(title.as_ref(), titles));
    }
    let mut found = Vec::new();
    while found.len() < announced
        && let Some(row) = rows.next_if(|row| !is_head(row))
    {
        found.push(row);
    }
    if found.len() < announced {
        let found = found.len();
        let what = match name {
            "NODES" => "nodes",
            "EDGES" => "edges",
            _ => "demands",
        };
        return Err(ImportErrorKind::CountDiffers {
            what,
            announced,
            found,
        }
        .at(range));
    }
    Ok(found)
}

fn is_head(row: &Row<'_>) -> bool {
    let mut words = row.text.split_whitespace();
    matches!(words.next(), Some("NODES" | "EDGES" | "DEMANDS")) && words.count() == 1
}

/// Checks that no row is left.
fn at_end<'a>(rows: &mut impl Iterator<Item = Row<'a>>) -> Result<(), ImportError> {
    match rows.next() {
        None => Ok(()),
        Some(row) => {
            let found = format!("`{}`", quoted(row.text));
            let expected = "the end of the file";
            Err(ImportErrorKind::Syntax { found, expected }.at(row.range()))
        }
    }
}

/// Returns the `N` fields of a row; `expected` names them in messages.
fn fields<'a, const N: usize>(row: &Row<'a>, expected: &str) -> Result<[&'a str; N], ImportError> {
    row.fields().try_into().map_err(|fields: Vec<&str>| {
        let kind = ImportErrorKind::Fields {
            found: fields.len(),
            expected: expected.to_owned(),
        };
        kind.at(row.range())
    })
}

/// Maximum size of a position or weight.
const MAX_NUMBER: f64 = 1e12;
/// Bits per second of 1 kbit/s.
const KILOBIT: f64 = 1e3;
/// Nanoseconds of 1 µs.
const MICROSECOND: f64 = 1e3;
