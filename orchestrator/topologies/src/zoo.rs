//! Graphs of the Internet Topology Zoo, compiled into the program.
//!
//! The archive has one GraphML text by the name of each graph, which the importer reads like any other file. It has what
//! the conversion needs: labels, coordinates, edges and their speeds. `data/README.md` has the licence, the citation,
//! and the command that makes the archive.

use std::{collections::BTreeMap, io::Read, sync::LazyLock};

use flate2::read::GzDecoder;

use crate::{Format, Graph, read};

/// Returns the names of all graphs, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    TEXTS.keys().map(String::as_str)
}

/// Returns the GraphML text of the graph `name`; `None` if there is no such graph.
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    TEXTS.get(name).map(String::as_str)
}

/// Returns the graph `name`; `None` if there is no such graph.
#[must_use]
pub fn graph(name: &str) -> Option<Graph> {
    read(Format::Xml, text(name)?.as_bytes()).ok()
}

/// Texts of the archive, by name; a test compares their number with the collection's.
static TEXTS: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| unpacked(ARCHIVE).unwrap_or_default());

fn unpacked(archive: &[u8]) -> Option<BTreeMap<String, String>> {
    let mut plain = String::new();
    GzDecoder::new(archive).read_to_string(&mut plain).ok()?;
    serde_json::from_str(&plain).ok()
}

static ARCHIVE: &[u8] = include_bytes!("../data/zoo.json.gz");
