//! Deserialisation of a YAML text; fails with the first problem.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_saphyr::{Error, Options, budget::BudgetBreach};

use super::{
    at::range_of,
    path::{FoundNode, Locator, YamlNode},
};
use crate::{
    error::{Finding, ProblemKind, excerpt},
    limits,
    suggest::did_you_mean,
};

/// Deserialises a YAML text that consists of one document.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Finding<ProblemKind>> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| translate(&error, text))
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: limits::MAX_YAML_NODES,
            max_depth: limits::MAX_YAML_DEPTH,
            // A list of flows whose sizes are all the same alias is valid.
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

fn translate(error: &Error, text: &str) -> Finding<ProblemKind> {
    let error = error.without_snippet();
    let locator = Locator::new(text);
    let mut range = range_of_error(error, text);
    let found = locator.find(&range);
    // The parser locates some errors at a value's first character; the whole word is marked instead.
    if let Some(FoundNode {
        node: YamlNode::Scalar(_),
        span,
        ..
    }) = &found
        && span.start == range.start
    {
        range = span.clone();
    }
    let kind = kind_of(error, found.as_ref());
    if let ProblemKind::MissingKey { .. } = kind {
        // The parser's position is at the mapping's last key, so the start of the mapping is looked up.
        let start = locator.mapping_start(range.start).unwrap_or_default();
        range = start..start;
    }
    Finding { range, kind }
}

/// Returns the byte range of an error; for a YAML syntax error, only line and column are known.
fn range_of_error(error: &Error, text: &str) -> Range<usize> {
    let Some(location) = error.location() else {
        return 0..0;
    };
    range_of(location).unwrap_or_else(|| {
        let index = |number: u64| {
            usize::try_from(number)
                .unwrap_or_default()
                .saturating_sub(1)
        };
        let lines = text.split_inclusive('\n').take(index(location.line()));
        let line_start = lines.map(str::len).sum();
        let line = text[line_start..].chars().take(index(location.column()));
        let start = line_start + line.map(char::len_utf8).sum::<usize>();
        start..start
    })
}

fn kind_of(error: &Error, found: Option<&FoundNode>) -> ProblemKind {
    let node = || found.map_or_else(|| "nothing".to_owned(), |found| found.node.to_string());
    match error {
        Error::AliasError { error, .. } => kind_of(error, found),
        Error::Eof { .. } => ProblemKind::EmptyDocument,
        Error::MultipleDocuments { .. } => ProblemKind::SecondDocument,
        Error::SerdeUnknownField {
            field, expected, ..
        } => ProblemKind::UnknownKey {
            key: excerpt(field),
            known: expected.iter().map(|&key| key.to_owned()).collect(),
            suggestion: did_you_mean(field, expected.iter().copied()),
        },
        Error::SerdeMissingField { field, .. } => ProblemKind::MissingKey { key: field },
        Error::DuplicateMappingKey { key, .. } => ProblemKind::DuplicateKey {
            key: key.as_deref().map(excerpt).unwrap_or_default(),
        },
        Error::NullIntoString { .. } => ProblemKind::NoValue,
        // For values that are deserialised as any type, the parser gives the position of their key.
        Error::SerdeInvalidType { unexpected, .. } if unexpected == "unit value" => {
            ProblemKind::NoValue
        }
        Error::Unexpected { .. } if found.is_some_and(|found| found.node == YamlNode::Null) => {
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
        Error::Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        } => ProblemKind::TooDeep,
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => ProblemKind::TooManyValues,
        other => {
            let message = without_location(other);
            let hint = syntax_hint(&message);
            ProblemKind::Yaml { message, hint }
        }
    }
}

/// Returns the parser's message without line and column, because a problem has a position of its own.
fn without_location(error: &Error) -> String {
    let message = error.to_string();
    let suffix = error.location().map(|location| {
        let line = location.line();
        let column = location.column();
        format!(" at line {line}, column {column}")
    });
    let bare = suffix.and_then(|suffix| message.strip_suffix(&suffix));
    bare.unwrap_or(&message).to_owned()
}

/// Returns a hint about the usual cause of a parser message that is hard to understand.
fn syntax_hint(message: &str) -> Option<&'static str> {
    const HINTS: &[(&str, &str)] = &[
        ("tab", "indent with spaces"),
        (
            "mapping values are not allowed",
            "quote values that contain a colon and a space, and start the keys of a mapping in \
             one column",
        ),
        (
            "did not find expected key",
            "start the keys of a mapping in one column",
        ),
        (
            "unknown anchor",
            "quote values that start with `*`, or write `&` and the name before an earlier value",
        ),
    ];
    let known = HINTS.iter().find(|(part, _)| message.contains(part));
    known.map(|(_, hint)| *hint)
}

/// Converts the parser's name of an expected node type into words for users.
fn shape(expected: &str) -> &str {
    match expected {
        "mapping start" => "a mapping of keys",
        "sequence start" => "a list",
        "string scalar" => "a single value",
        other => other,
    }
}
