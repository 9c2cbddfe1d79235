//! Elements of XML with their places.

use std::ops::Range;

use roxmltree::Node;

use crate::error::{ImportError, ImportErrorKind};

/// Returns the child elements of `parent` that have the name `name`.
pub(crate) fn children<'a, 'i>(
    parent: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    let elements = parent.children().filter(Node::is_element);
    elements.filter(move |child| child.tag_name().name() == name)
}

/// Returns the first child element of `parent` that has the name `name`.
pub(crate) fn child<'a, 'i>(parent: Node<'a, 'i>, name: &'static str) -> Option<Node<'a, 'i>> {
    children(parent, name).next()
}

/// Returns the attribute `name` of `element`, which `of` names in messages.
///
/// # Errors
/// If the element has no such attribute.
pub(crate) fn attribute<'a>(
    element: Node<'a, '_>,
    of: &'static str,
    name: &'static str,
) -> Result<&'a str, ImportError> {
    let value = element.attribute(name);
    value.ok_or_else(|| at(element, ImportErrorKind::Missing { of, what: name }))
}

/// Returns the text of the child element `name` of `element`, which `of` names in messages.
///
/// # Errors
/// If the element has no such child.
pub(crate) fn child_text<'a>(
    element: Node<'a, '_>,
    of: &'static str,
    name: &'static str,
) -> Result<&'a str, ImportError> {
    let found = child(element, name).and_then(|child| child.text());
    found.ok_or_else(|| at(element, ImportErrorKind::Missing { of, what: name }))
}

/// Returns the error of kind `kind` at the start tag of `element`.
pub(crate) fn at(element: Node<'_, '_>, kind: ImportErrorKind) -> ImportError {
    kind.at_path(start(element), path(element))
}

/// Returns the byte range of an element's name in its start tag.
pub(crate) fn start(element: Node<'_, '_>) -> Range<usize> {
    let start = element.range().start;
    start..start + 1 + element.tag_name().name().len()
}

/// Returns the path of an element, such as `graphml.graph.edge[3]`, counted from 0.
fn path(element: Node<'_, '_>) -> String {
    let mut parts: Vec<String> = element
        .ancestors()
        .filter(Node::is_element)
        .map(|element| {
            let name = element.tag_name().name();
            let same = |other: &Node<'_, '_>| other.is_element() && other.tag_name().name() == name;
            let before = element.prev_siblings().skip(1).filter(same).count();
            let after = element.next_siblings().skip(1).any(|other| same(&other));
            if before > 0 || after {
                format!("{name}[{before}]")
            } else {
                name.to_owned()
            }
        })
        .collect();
    parts.reverse();
    parts.join(".")
}
