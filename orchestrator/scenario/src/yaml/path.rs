//! YAML path of a byte range, such as `topology.links[3].rate`.

use std::{
    fmt::{self, Write},
    ops::Range,
};

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle};

use crate::error::{Finding, ProblemKind, excerpt};

/// Locator of nodes in a YAML text.
///
/// Each query parses the text again, which is rare because only errors need locations. Nodes before the first syntax
/// error are found even in a text that cannot be parsed.
#[derive(Clone, Copy)]
pub struct Locator<'a> {
    text: &'a str,
}

/// YAML node with its path and byte range.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundNode {
    /// YAML path of the node; empty for the whole document.
    pub path: String,
    /// Byte range of the node; empty for a block list or mapping.
    pub span: Range<usize>,
    pub node: YamlNode,
}

/// Kind of YAML node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum YamlNode {
    /// Single value, or a key.
    Scalar(String),
    /// Value that is left out, or written as `~` or `null`.
    Null,
    List,
    Mapping,
    /// Alias, a reference to an anchor.
    Alias,
}

impl fmt::Display for YamlNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(text) => write!(f, "`{}`", excerpt(text)),
            Self::Null => f.write_str("nothing"),
            Self::List => f.write_str("a list"),
            Self::Mapping => f.write_str("a mapping"),
            Self::Alias => f.write_str("an alias"),
        }
    }
}

impl<'a> Locator<'a> {
    /// Creates a locator of `text`.
    pub const fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// Returns the YAML path of a problem; `None` if it concerns the whole document.
    pub fn path(self, finding: &Finding<ProblemKind>) -> Option<String> {
        let found = self.find(&finding.range);
        let path = found
            .map(|found| found.path)
            .filter(|path| !path.is_empty());
        match finding.kind {
            // A missing key has a path, but no position in the text.
            ProblemKind::MissingKey { key } => {
                Some(path.map_or_else(|| key.to_owned(), |path| format!("{path}.{key}")))
            }
            _ => path,
        }
    }

    /// Returns the byte offsets at which the items of the list at `path` start.
    pub fn items(self, path: &str) -> Vec<usize> {
        let mut walk = Walk::default();
        let mut starts = Vec::new();
        for (event, span) in Parser::new_from_str(self.text).map_while(Result::ok) {
            let Some(span) = span.byte_range() else { break };
            let node = walk.step(&event, span.start);
            if node.is_some() && walk.path() == format!("{path}[{}]", starts.len()) {
                starts.push(span.start);
            }
        }
        starts
    }

    /// Returns the byte range of the value at `path`; for a list or mapping, the byte range of its key.
    pub fn value(self, path: &str) -> Option<Range<usize>> {
        let mut walk = Walk::default();
        let mut found = None;
        for (event, span) in Parser::new_from_str(self.text).map_while(Result::ok) {
            let span = span.byte_range()?;
            match walk.step(&event, span.start) {
                Some(YamlNode::Scalar(_) | YamlNode::Alias) if walk.path() == path => {
                    found = Some(span);
                }
                _ => {}
            }
        }
        found
    }

    /// Returns the byte offset at which the innermost mapping around `offset` starts.
    pub fn mapping_start(self, offset: usize) -> Option<usize> {
        let mut walk = Walk::default();
        let mut found = None;
        for (event, span) in Parser::new_from_str(self.text).map_while(Result::ok) {
            let start = span.byte_range()?.start;
            if start > offset {
                break;
            }
            if walk.step(&event, start).is_some() {
                found = walk.open.iter().rev().find_map(|open| match open {
                    Open::Mapping { start, .. } => Some(*start),
                    Open::List { .. } => None,
                });
            }
        }
        found
    }

    /// Returns the node at `range`, or the last node before it.
    ///
    /// An empty range denotes the list or mapping that starts there, because block lists and mappings start at the
    /// position of their first key or dash.
    pub fn find(self, range: &Range<usize>) -> Option<FoundNode> {
        let mut walk = Walk::default();
        let mut found = None;
        for (event, span) in Parser::new_from_str(self.text).map_while(Result::ok) {
            let span = span.byte_range()?;
            if span.start > range.start {
                break;
            }
            let Some(node) = walk.step(&event, span.start) else {
                continue;
            };
            let starts_here = span.start == range.start;
            found = Some(FoundNode {
                path: walk.path(),
                span,
                node,
            });
            if range.is_empty() && starts_here {
                break;
            }
        }
        found
    }
}

/// Lists and mappings that are open at the current event, from the outermost in.
#[derive(Default)]
struct Walk {
    open: Vec<Open>,
}

/// List or mapping that has started and not ended.
enum Open {
    List {
        next: usize,
    },
    Mapping {
        start: usize,
        key: Option<String>,
        at_key: bool,
    },
}

impl Walk {
    /// Processes a parser event. If a node starts, returns it; its path is then [`Walk::path`].
    fn step(&mut self, event: &Event<'_>, start: usize) -> Option<YamlNode> {
        let node = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if is_null(text) => YamlNode::Null,
            Event::Scalar(text, ..) => YamlNode::Scalar(text.to_string()),
            Event::Alias(_) => YamlNode::Alias,
            Event::SequenceStart(..) => YamlNode::List,
            Event::MappingStart(..) => YamlNode::Mapping,
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                return None;
            }
            _ => return None,
        };
        self.enter(&node);
        match node {
            YamlNode::List => self.open.push(Open::List { next: 0 }),
            YamlNode::Mapping => self.open.push(Open::Mapping {
                start,
                key: None,
                at_key: false,
            }),
            YamlNode::Scalar(_) | YamlNode::Null | YamlNode::Alias => {}
        }
        Some(node)
    }

    /// Advances the innermost list or mapping to its next child, `node`.
    fn enter(&mut self, node: &YamlNode) {
        match self.open.last_mut() {
            Some(Open::List { next }) => *next += 1,
            Some(Open::Mapping { key, at_key, .. }) => {
                *at_key = !*at_key;
                if *at_key {
                    *key = match node {
                        YamlNode::Scalar(text) => Some(text.clone()),
                        YamlNode::Null | YamlNode::List | YamlNode::Mapping | YamlNode::Alias => {
                            None
                        }
                    };
                }
            }
            None => {}
        }
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for open in &self.open {
            match open {
                // Before its first child, the path is the path of the list or mapping itself.
                Open::List { next: 0 } | Open::Mapping { key: None, .. } => {}
                Open::List { next } => {
                    let _ = write!(path, "[{}]", next - 1);
                }
                Open::Mapping { key: Some(key), .. } => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&excerpt(key));
                }
            }
        }
        path
    }
}

/// Returns true for unquoted texts that YAML reads as null.
fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: a\nlinks:\n  - rate: 1\n    ecn: {k: [x, y]}\n  - - z\n";

    fn path_of(part: &str) -> String {
        let start = TEXT.find(part).unwrap();
        Locator::new(TEXT)
            .find(&(start..start + part.len()))
            .unwrap()
            .path
    }

    #[test]
    fn keys_and_values_have_the_path_of_the_key() {
        assert_eq!(path_of("name"), "name");
        assert_eq!(path_of("a\n"), "name");
        assert_eq!(path_of("rate"), "links[0].rate");
        assert_eq!(path_of("1"), "links[0].rate");
    }

    #[test]
    fn lists_are_counted_at_every_depth() {
        assert_eq!(path_of("y"), "links[0].ecn.k[1]");
        assert_eq!(path_of("z"), "links[1][0]");
    }

    #[test]
    fn values_are_found_by_their_path() {
        let found = |path| Some(&TEXT[Locator::new(TEXT).value(path)?]);
        assert_eq!(found("name"), Some("a"));
        assert_eq!(found("links[0].ecn.k[1]"), Some("y"));
        assert_eq!(found("links[0].ecn"), Some("ecn"));
        assert_eq!(found("links[0].delay"), None);
    }

    #[test]
    fn an_empty_range_is_the_mapping_that_starts_there() {
        let start = TEXT.find("rate").unwrap();
        let found = Locator::new(TEXT).find(&(start..start)).unwrap();
        assert_eq!(
            (found.path.as_str(), found.node),
            ("links[0]", YamlNode::Mapping)
        );
        let found = Locator::new(TEXT).find(&(0..0)).unwrap();
        assert_eq!((found.path.as_str(), found.node), ("", YamlNode::Mapping));
    }

    #[test]
    fn items_start_at_their_first_key_or_bracket() {
        let starts = Locator::new(TEXT).items("links");
        assert_eq!(
            starts,
            [TEXT.find("rate").unwrap(), TEXT.find("- z").unwrap()]
        );
        assert_eq!(Locator::new(TEXT).items("name"), [0usize; 0]);
    }

    #[test]
    fn a_syntax_error_ends_the_search_where_it_is() {
        let found = Locator::new("a:\n  b: {c\n").find(&(10..10)).unwrap();
        assert_eq!(found.path, "a.b");
    }
}
