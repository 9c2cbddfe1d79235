//! Resolution of names of scenarios, datacenters and policies.

use crate::{
    error::{NameOf, ProblemKind, Unit},
    limits,
    yaml::Text,
};

use super::context::Context;

/// Checks and returns the name of a scenario.
pub(super) fn scenario(context: &mut Context<'_>, text: &Text<String>) -> String {
    check(context, text, NameOf::Any, "the name", limits::MAX_NAME)
}

/// Checks and returns the name of a datacenter.
pub(super) fn dc(context: &mut Context<'_>, text: &Text<String>) -> String {
    let name = check(context, text, NameOf::Dc, "the name", limits::MAX_DC_NAME);
    if limits::RESERVED_NAMES.contains(&name.as_str()) {
        let name = name.clone();
        context.problem(&text.range(), ProblemKind::NameReserved { name });
    }
    name
}

/// Checks and returns the label of a policy.
pub(super) fn label(context: &mut Context<'_>, text: &Text<String>) -> String {
    check(context, text, NameOf::Any, "the label", limits::MAX_LABEL)
}

/// Checks a name. Names become parts of command lines, files, namespaces and interfaces, where other characters have
/// special meanings.
fn check(
    context: &mut Context<'_>,
    text: &Text<String>,
    of: NameOf,
    what: &'static str,
    max: usize,
) -> String {
    let name = text.as_str();
    let range = text.range();
    let length = name.chars().count();
    context.counted(&range, what, Unit::Characters, length, 1..=max);
    if let Some(kind) = misspelt(name, of) {
        context.problem(&range, kind);
    }
    name.to_owned()
}

/// Returns the reason why a name that is not empty does not match the pattern of `of`.
fn misspelt(name: &str, of: NameOf) -> Option<ProblemKind> {
    let is_inner = |c: char| match of {
        NameOf::Any => is_letter_or_digit(c) || c == '-',
        NameOf::Dc => is_letter_or_digit(c),
    };
    let (is_start, start): (fn(char) -> bool, _) = match of {
        NameOf::Any => (is_letter_or_digit, "a letter or digit"),
        NameOf::Dc => (|c| c.is_ascii_lowercase(), "a letter"),
    };
    let owned = || name.to_owned();
    if let Some(character) = name.chars().find(|&c| !is_inner(c)) {
        let name = owned();
        return Some(ProblemKind::NameCharacter {
            name,
            character,
            of,
        });
    }
    if name.starts_with(|first| !is_start(first)) {
        let name = owned();
        return Some(ProblemKind::NameStart { name, start, of });
    }
    if name.ends_with(|last| !is_letter_or_digit(last)) {
        return Some(ProblemKind::NameEnd { name: owned(), of });
    }
    None
}

const fn is_letter_or_digit(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    proptest! {
        #[test]
        fn editors_and_the_reader_take_the_same_names(name in "[a-c0-1_A-]{1,5}") {
            for (of, pattern) in [
                (NameOf::Any, limits::NAME_PATTERN),
                (NameOf::Dc, limits::DC_NAME_PATTERN),
            ] {
                let accepted = Regex::new(pattern).unwrap().is_match(&name);
                prop_assert_eq!(misspelt(&name, of).is_none(), accepted, "{} {:?}", name, of);
            }
        }
    }
}
