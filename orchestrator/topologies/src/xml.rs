//! Files in XML: the outermost element gives the format.

use roxmltree::{Document, ParsingOptions};

use crate::{
    error::{ImportError, ImportErrorKind, quoted},
    graph::Graph,
    graphml, sndlib,
};

/// Reads a graph in GraphML or in SNDlib's format.
///
/// # Errors
/// If the text is not XML, or not a graph.
pub(crate) fn read(text: &str) -> Result<Graph, ImportError> {
    // A DTD could define entities that expand without bound.
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: MAX_XML_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let start = offset(text, error.pos());
        let message = error.to_string();
        // The place is shown beside the message.
        let message = message
            .rsplit_once(" at ")
            .map_or(message.as_str(), |(message, _)| message)
            .to_owned();
        let message = quoted(&message);
        ImportErrorKind::Xml { message }.at(start..start)
    })?;
    let root = document.root_element();
    match root.tag_name().name() {
        "graphml" => graphml::read(text, root),
        "network" => sndlib::read(text, root),
        other => {
            let found = quoted(other);
            let expected = "`graphml`, or `network` of SNDlib";
            let start = root.range().start;
            Err(ImportErrorKind::Root { found, expected }.at(start..start + 1))
        }
    }
}

/// Returns the byte offset of a position in `text`.
fn offset(text: &str, at: roxmltree::TextPos) -> usize {
    let index = |number: u32| {
        usize::try_from(number)
            .unwrap_or_default()
            .saturating_sub(1)
    };
    let lines = text.split_inclusive('\n').take(index(at.row));
    let start = lines.map(str::len).sum::<usize>().min(text.len());
    let characters = text[start..].chars().take(index(at.col));
    start + characters.map(char::len_utf8).sum::<usize>()
}

/// Maximum number of XML nodes and attributes: twenty for each of the edges that a graph may have.
const MAX_XML_NODES: u32 = 400_000;
