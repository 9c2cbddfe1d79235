//! Names: of the scenario, of datacenters, of policies.

use crate::{
    error::{ProblemKind, Unit},
    limits,
    yaml::Text,
};

use super::context::Context;

/// The name of a scenario.
pub(super) fn scenario(context: &mut Context<'_>, text: &Text<String>) -> String {
    check(context, text, "the name", limits::MAX_NAME, |first| {
        first.is_ascii_lowercase() || first.is_ascii_digit()
    })
}

/// The name of a datacenter.
pub(super) fn dc(context: &mut Context<'_>, text: &Text<String>) -> String {
    let most = limits::MAX_DC_NAME;
    let name = check(context, text, "the name", most, |first| {
        first.is_ascii_lowercase()
    });
    if limits::RESERVED_NAMES.contains(&name.as_str()) {
        let name = name.clone();
        context.problem(&text.range(), ProblemKind::NameReserved { name });
    }
    name
}

/// The label of a policy.
pub(super) fn label(context: &mut Context<'_>, text: &Text<String>) -> String {
    check(context, text, "the label", limits::MAX_LABEL, |first| {
        first.is_ascii_lowercase() || first.is_ascii_digit()
    })
}

/// Names become parts of file, namespace and interface names and of command lines in messages, so
/// they have nothing that any of these would take for something else.
fn check(
    context: &mut Context<'_>,
    text: &Text<String>,
    what: &'static str,
    most: usize,
    may_start: fn(char) -> bool,
) -> String {
    let name = text.as_str().to_owned();
    let range = text.range();
    let length = name.chars().count();
    context.counted(&range, what, Unit::Characters, length, 1..=most);
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if let Some(character) = name.chars().find(|&c| !allowed(c)) {
        let name = name.clone();
        context.problem(&range, ProblemKind::NameCharacter { name, character });
    } else if name.starts_with(|first| !may_start(first)) {
        let start = if may_start('0') {
            "a letter or digit"
        } else {
            "a letter"
        };
        let name = name.clone();
        context.problem(&range, ProblemKind::NameStart { name, start });
    }
    name
}
