//! What can be wrong, one variant per reason.

use crate::files::{CdfError, FlowFileError};

/// What is wrong at a place.
///
/// Messages are lowercase fragments; what to do about it stands at the end as `(hint: …)`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProblemKind {
    /// In a flow size distribution.
    #[error(transparent)]
    Cdf(#[from] CdfError),
    /// In a flow file.
    #[error(transparent)]
    FlowFile(#[from] FlowFileError),
}

/// A message and its hint, as two texts.
pub(super) fn split_hint(text: &str) -> (&str, Option<&str>) {
    let hint = |text: &'_ str| -> Option<(usize, usize)> {
        let start = text.rfind(" (hint: ")?;
        text.ends_with(')')
            .then_some((start, start + " (hint: ".len()))
    };
    match hint(text) {
        Some((start, from)) => (&text[..start], Some(&text[from..text.len() - 1])),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_split_off_and_may_have_brackets() {
        assert_eq!(
            split_hint("`a` is no rate (hint: b (c))"),
            ("`a` is no rate", Some("b (c)"))
        );
        assert_eq!(split_hint("a (b)"), ("a (b)", None));
    }
}
