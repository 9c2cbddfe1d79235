//! Problems in a graph file.

use std::{fmt, ops::Range};

use crate::graph::{MAX_EDGES, MAX_GRAPH_BYTES, MAX_NODES, MAX_TEXT};

/// Problem in a graph file, with its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ImportError {
    /// Byte range in the file.
    pub range: Range<usize>,
    /// Path inside the file, such as `graphml.graph.edge[3]`, counted from 0; `None` in files of rows.
    pub path: Option<String>,
    pub kind: ImportErrorKind,
}

/// Kind of a problem in a graph file.
///
/// A message is a lowercase fragment, with an optional hint at the end: `(hint: …)`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ImportErrorKind {
    #[error(
        "the file has {found} bytes; a graph must have at most {MAX_GRAPH_BYTES} (hint: is this the right file?)"
    )]
    TooLarge { found: usize },
    #[error("byte 0x{byte:02x} is not UTF-8 (hint: save the file as UTF-8)")]
    NotUtf8 { byte: u8 },
    #[error("{message} (hint: the file must be well-formed XML without a DTD)")]
    Xml { message: String },
    #[error("the outermost element is `{found}`, not {expected}")]
    Root {
        found: String,
        expected: &'static str,
    },
    #[error("found {found}, expected {expected}")]
    Syntax {
        found: String,
        expected: &'static str,
    },
    #[error("lists are nested more than {max} deep")]
    TooDeep { max: usize },
    #[error("the {of} has no `{what}`")]
    Missing {
        of: &'static str,
        what: &'static str,
    },
    #[error("there are {found} graphs in the file; it must have one")]
    Graphs { found: usize },
    #[error("the graph has no nodes")]
    NoNodes,
    #[error("the graph has more than {MAX_NODES} nodes")]
    TooManyNodes,
    #[error("the graph has more than {MAX_EDGES} {what}")]
    TooManyEdges { what: &'static str },
    #[error("two nodes have the id `{id}`, the first on line {first_line}")]
    DuplicateNode { id: String, first_line: usize },
    #[error("there is no node `{id}`")]
    UnknownNode { id: String },
    #[error("{what} `{found}` is not {expected}")]
    Value {
        what: &'static str,
        found: String,
        expected: String,
    },
    #[error("{what} has {found} characters; it must have at most {MAX_TEXT}")]
    TooLong { what: &'static str, found: usize },
    #[error("{what} is empty")]
    EmptyText { what: &'static str },
    #[error("{what} `{found}` has a control character")]
    ControlCharacter { what: &'static str, found: String },
    #[error("the node has one coordinate (hint: give it latitude and longitude, or neither)")]
    HalfCoordinates,
    #[error("unknown column `{found}` (hint: columns are {known})")]
    UnknownColumn { found: String, known: String },
    #[error("two columns are called `{name}`")]
    DuplicateColumn { name: String },
    #[error("the row has {found} fields; it must have {expected}")]
    Fields { found: usize, expected: String },
    #[error("the file announces {announced} {what}, but has {found}")]
    CountDiffers {
        what: &'static str,
        announced: usize,
        found: usize,
    },
}

impl ImportErrorKind {
    /// Returns the error of this kind at the byte range `range`, in a file of rows.
    pub(crate) const fn at(self, range: Range<usize>) -> ImportError {
        ImportError {
            range,
            path: None,
            kind: self,
        }
    }

    /// Returns the error of this kind at the byte range `range` and at `path` inside the file.
    pub(crate) const fn at_path(self, range: Range<usize>, path: String) -> ImportError {
        ImportError {
            range,
            path: Some(path),
            kind: self,
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl std::error::Error for ImportError {}

/// Returns the text for a message: cut off with `…` if it is long, and without control characters.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let cut = match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    let escape = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    cut.chars().map(escape).collect()
}

/// Returns the 1-based line of the byte `at` in `text`.
pub(crate) fn line(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
