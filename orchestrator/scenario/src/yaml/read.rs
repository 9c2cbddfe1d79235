//! A YAML text to a raw shape, or the first problem.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_saphyr::{Error, Options};

use super::{
    at::range_of,
    path::{Found, Locator, Node},
};
use crate::{error::ProblemKind, limits, suggest::did_you_mean};

/// What is wrong, and where.
#[derive(Clone, Debug)]
pub struct ReadError {
    /// The bytes of the text; empty for the start of a list or mapping.
    pub range: Range<usize>,
    /// What.
    pub kind: ProblemKind,
}

/// Reads a YAML text of one document.
///
/// # Errors
/// The first problem.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, ReadError> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| translate(&error, text))
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: limits::MAX_YAML_NODES,
            max_depth: limits::MAX_YAML_DEPTH,
            // A flow list in which every size is the same alias is fine.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: limits::MAX_YAML_NODES,
        },
        reject_unsupported_tags: true,
        strict_booleans: true,
        with_snippet: false,
    }
}

fn translate(error: &Error, text: &str) -> ReadError {
    let error = error.without_snippet();
    let location = error.location().and_then(range_of);
    let mut range = location.unwrap_or(0..0);
    let found = Locator::new(text).find(&range);
    // Some errors are placed at the start of a value; the whole word is easier to see.
    if let Some(Found {
        node: Node::Scalar(_),
        span,
        ..
    }) = &found
        && span.start == range.start
    {
        range = span.clone();
    }
    let kind = kind_of(error, found.as_ref());
    ReadError { range, kind }
}

fn kind_of(error: &Error, found: Option<&Found>) -> ProblemKind {
    let node = || found.map_or_else(|| "nothing".to_owned(), |found| found.node.to_string());
    match error {
        Error::AliasError { error, .. } => kind_of(error, found),
        Error::Eof { .. } => ProblemKind::EmptyDocument,
        Error::MultipleDocuments { .. } => ProblemKind::SecondDocument,
        Error::SerdeUnknownField {
            field, expected, ..
        } => ProblemKind::UnknownKey {
            key: field.clone(),
            known: expected.iter().map(|&key| key.to_owned()).collect(),
            suggestion: did_you_mean(field, expected.iter().copied()),
        },
        Error::SerdeMissingField { field, .. } => ProblemKind::MissingKey { key: field },
        Error::DuplicateMappingKey { key, .. } => ProblemKind::DuplicateKey {
            key: key.clone().unwrap_or_default(),
        },
        Error::NullIntoString { .. } => ProblemKind::NoValue,
        Error::Unexpected { .. } | Error::SerdeInvalidType { .. }
            if found.is_some_and(|found| found.node == Node::Null) =>
        {
            ProblemKind::NoValue
        }
        Error::Unexpected { expected, .. } => ProblemKind::WrongShape {
            expected: shape(expected).to_owned(),
            found: node(),
        },
        Error::SerdeInvalidType { expected, .. } => ProblemKind::WrongShape {
            expected: expected.clone(),
            found: node(),
        },
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => ProblemKind::TooMuchYaml,
        other => ProblemKind::Yaml {
            message: without_location(other),
        },
    }
}

/// The parser's message; where it is wrong is shown by ourselves.
fn without_location(error: &Error) -> String {
    let message = error.to_string();
    let suffix = error.location().map(|location| {
        let (line, column) = (location.line(), location.column());
        format!(" at line {line}, column {column}")
    });
    let bare = suffix.and_then(|suffix| message.strip_suffix(&suffix));
    bare.unwrap_or(&message).to_owned()
}

/// The parser's words for what it expected, as a user knows them.
fn shape(expected: &str) -> &str {
    match expected {
        "mapping start" => "a mapping of keys",
        "sequence start" => "a list",
        "string scalar" => "a single value",
        other => other,
    }
}
