//! Formats of graph files.

use crate::{
    edge_list,
    error::{ImportError, ImportErrorKind},
    gml,
    graph::{Graph, MAX_GRAPH_BYTES},
    repetita, xml,
};

/// Format of a graph file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// GraphML or SNDlib's XML, which the outermost element tells apart.
    Xml,
    /// GML, the Graph Modelling Language.
    Gml,
    /// REPETITA's `.graph`: a list of nodes and a list of directed edges.
    Repetita,
    /// CSV with the columns `source` and `target`.
    EdgeList,
}

impl Format {
    /// Extensions of file names, with the formats that they stand for.
    pub const EXTENSIONS: &[(&str, Self)] = &[
        ("graphml", Self::Xml),
        ("xml", Self::Xml),
        ("gml", Self::Gml),
        ("graph", Self::Repetita),
        ("csv", Self::EdgeList),
    ];

    /// Returns the format of the file at `path`, by the extension; `None` if no format has this extension.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        by_extension(Self::EXTENSIONS, path)
    }
}

/// Returns the format in `known` that the extension of `path` stands for, in upper or lower case; `None` without one.
#[must_use]
pub fn by_extension<F: Copy>(known: &[(&str, F)], path: &str) -> Option<F> {
    let (_, extension) = path.rsplit_once('.')?;
    let found = known
        .iter()
        .find(|(it, _)| it.eq_ignore_ascii_case(extension));
    found.map(|(_, format)| *format)
}

/// Reads the graph in `bytes`, a file of format `format`.
///
/// # Errors
/// If the file has another format, a wrong value, or more parts than a graph may have.
pub fn read(format: Format, bytes: &[u8]) -> Result<Graph, ImportError> {
    if bytes.len() > MAX_GRAPH_BYTES {
        let found = bytes.len();
        return Err(ImportErrorKind::TooLarge { found }.at(0..0));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let start = error.valid_up_to();
        let byte = bytes.get(start).copied().unwrap_or_default();
        ImportErrorKind::NotUtf8 { byte }.at(start..start)
    })?;
    match format {
        Format::Xml => xml::read(text),
        Format::Gml => gml::read(text),
        Format::Repetita => repetita::read(text),
        Format::EdgeList => edge_list::read(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_gives_the_format() {
        let of = Format::of_path;
        assert_eq!(of("a/Geant2012.graphml"), Some(Format::Xml));
        assert_eq!(of("abilene.XML"), Some(Format::Xml));
        assert_eq!(of("a.graph"), Some(Format::Repetita));
        assert_eq!((of("graphml"), of("a.yaml"), of("")), (None, None, None));
    }
}
