//! Deserialisation of a text into a form, with the location of the first problem.

use serde::de::DeserializeOwned;

use crate::{
    error::{Finding, ProblemKind, ScenarioErrors, SourceText},
    limits,
    yaml::{self, Locator},
};

/// Deserialises the YAML document `source`.
///
/// # Errors
/// With the first syntax or type error.
pub(crate) fn read<T: DeserializeOwned>(source: SourceText<'_>) -> Result<T, ScenarioErrors> {
    yaml::read(source.text).map_err(|finding| {
        let path = Locator::new(source.text).path(&finding);
        one(source, finding, path.as_deref())
    })
}

/// Returns an error with a single problem.
pub(crate) fn one(
    source: SourceText<'_>,
    finding: Finding<ProblemKind>,
    path: Option<&str>,
) -> ScenarioErrors {
    let refused = ScenarioErrors::check(source, vec![finding], |_| path.map(str::to_owned));
    refused.expect_err("a finding is a problem")
}

/// Returns `text` as UTF-8.
///
/// # Errors
/// If the text is longer than [`limits::MAX_SCENARIO_BYTES`], or with the first byte that is not UTF-8.
pub(crate) fn utf8<'a>(source_name: &str, text: &'a [u8]) -> Result<&'a str, ScenarioErrors> {
    let shown = |text: &str, start: usize, kind| {
        let source = SourceText {
            name: source_name,
            text,
        };
        let range = start..start;
        one(source, Finding { range, kind }, None)
    };
    if text.len() > limits::MAX_SCENARIO_BYTES {
        let found = text.len();
        return Err(shown("", 0, ProblemKind::TooLarge { found }));
    }
    std::str::from_utf8(text).map_err(|error| {
        let start = error.valid_up_to();
        let byte = text[start];
        // The text before the invalid byte keeps its length, so the location stays right.
        let readable = String::from_utf8_lossy(text);
        shown(&readable, start, ProblemKind::NotUtf8 { byte })
    })
}
