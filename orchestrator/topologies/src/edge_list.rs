//! Edge lists: CSV with the columns `source` and `target`, and optionally `rate` and `delay` with units.
//!
//! Nodes are those that the edges name, in the order of their first appearance. Lines that start with `#` are comments.

use std::ops::Range;

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::{
    draft::Draft,
    error::{ImportError, ImportErrorKind, quoted},
    graph::{Graph, GraphEdge, GraphNode},
    values,
};

/// Reads an edge list.
///
/// # Errors
/// If the text is not CSV, or a column or field is wrong.
pub(crate) fn read(text: &str) -> Result<Graph, ImportError> {
    let mut reader = ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(Trim::All)
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let mut rows = reader.records();
    let end = text.trim_end().len();
    let head = match rows.next() {
        Some(row) => row.map_err(|_| unreadable(end..end))?,
        None => return Err(ImportErrorKind::NoNodes.at(end..end)),
    };
    let columns = columns(&head).map_err(|kind| kind.at(range(text, &head)))?;
    let mut draft = Draft::new(text);
    for row in rows {
        let row = row.map_err(|_| unreadable(end..end))?;
        let range = range(text, &row);
        edge(&mut draft, &row, &columns, &range).map_err(|kind| kind.at(range))?;
    }
    draft.finish().map_err(|kind| kind.at(end..end))
}

/// Indices of the columns in a row.
struct Columns {
    source: usize,
    target: usize,
    rate: Option<usize>,
    delay: Option<usize>,
    count: usize,
}

const COLUMNS: [&str; 4] = ["source", "target", "rate", "delay"];

fn columns(head: &StringRecord) -> Result<Columns, ImportErrorKind> {
    let mut found = [None; COLUMNS.len()];
    for (index, name) in head.iter().enumerate() {
        let known = COLUMNS.iter().position(|known| *known == name);
        let Some(column) = known else {
            let known = COLUMNS.map(|name| format!("`{name}`")).join(", ");
            let found = quoted(name);
            return Err(ImportErrorKind::UnknownColumn { found, known });
        };
        if found[column].replace(index).is_some() {
            let name = quoted(name);
            return Err(ImportErrorKind::DuplicateColumn { name });
        }
    }
    let [source, target, rate, delay] = found;
    let missing = |what| ImportErrorKind::Missing {
        of: "first row",
        what,
    };
    Ok(Columns {
        source: source.ok_or_else(|| missing("source"))?,
        target: target.ok_or_else(|| missing("target"))?,
        rate,
        delay,
        count: head.len(),
    })
}

fn edge(
    draft: &mut Draft<'_>,
    row: &StringRecord,
    columns: &Columns,
    range: &Range<usize>,
) -> Result<(), ImportErrorKind> {
    if row.len() != columns.count {
        return Err(ImportErrorKind::Fields {
            found: row.len(),
            expected: columns.count.to_string(),
        });
    }
    let mut end = |column| {
        let id = values::id(row.get(column).unwrap_or_default())?;
        if let Ok(index) = draft.find(&id) {
            return Ok(index);
        }
        let (index, _) = draft.counts();
        let node = GraphNode {
            id,
            label: None,
            at: None,
        };
        draft.node(range, node)?;
        Ok(index)
    };
    let ends = [end(columns.source)?, end(columns.target)?];
    let field = |column: Option<usize>| {
        let text = column.and_then(|column| row.get(column));
        text.filter(|text| !text.is_empty())
    };
    draft.edge(GraphEdge {
        ends,
        is_directed: false,
        rate: field(columns.rate).map(values::rate).transpose()?,
        delay: field(columns.delay).map(values::delay).transpose()?,
    })
}

/// Returns the byte range of a row, up to the end of its first line.
fn range(text: &str, row: &StringRecord) -> Range<usize> {
    let start = row.position().map_or(0, csv::Position::byte);
    let start = usize::try_from(start).unwrap_or(text.len());
    // The reader's position may be that of a blank line or comment before the row.
    let mut start = text.floor_char_boundary(start);
    while let Some((line, _)) = text[start..].split_once('\n')
        && (line.trim().is_empty() || line.trim_start().starts_with('#'))
    {
        start += line.len() + 1;
    }
    let line = text[start..].lines().next().unwrap_or_default();
    start..start + line.len()
}

fn unreadable(range: Range<usize>) -> ImportError {
    let found = "a row that cannot be read".to_owned();
    let expected = "a CSV row";
    ImportErrorKind::Syntax { found, expected }.at(range)
}
