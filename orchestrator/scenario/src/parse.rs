//! Parsing of a scenario text into a [`Scenario`].

use std::collections::BTreeSet;

use lab_policy::redte;

use crate::{
    error::{Finding, ProblemKind, ScenarioErrors, SourceText},
    limits,
    model::{Files, PolicySpec, Scenario, Traffic, TrainedSpec, WeightSource},
    raw,
    resolve::resolve,
    yaml::{self, Locator, WordOr},
};

/// Parses a scenario; `source_name` is the name of the text in errors.
///
/// The same text gives the same scenario on every machine, because files named in the text are not opened. Fails with
/// the first syntax or type error or, if there is none, with all invalid values.
pub fn parse(source_name: &str, text: &[u8]) -> Result<Scenario, ScenarioErrors> {
    parse_with(source_name, text, &Files::new())
}

/// Parses a scenario, as [`parse`] does. `files` has the text of the graph file that the scenario imports, by its path as
/// written; see [`imported_file`].
///
/// # Errors
/// In the cases of [`parse`], and with the first problem of the graph file.
pub fn parse_with(
    source_name: &str,
    text: &[u8],
    files: &Files,
) -> Result<Scenario, ScenarioErrors> {
    let (source, raw) = raw(source_name, text)?;
    resolve(source, &raw, files)
}

/// Returns the path of the graph file that a scenario imports, as written at the YAML path [`IMPORT`]; `None` if it
/// imports none.
///
/// # Errors
/// With the first syntax or type error of the scenario.
pub fn imported_file(source_name: &str, text: &[u8]) -> Result<Option<String>, ScenarioErrors> {
    let (_, raw) = raw(source_name, text)?;
    let WordOr::Body(topology) = &raw.topology.value else {
        return Ok(None);
    };
    let import = topology.import.as_ref();
    Ok(import.map(|path| path.as_str().to_owned()))
}

/// YAML path of the graph file that a scenario imports.
pub const IMPORT: &str = "topology.import";

/// Returns a scenario's text and its parsed form, before values are checked.
fn raw<'a>(
    source_name: &'a str,
    text: &'a [u8],
) -> Result<(SourceText<'a>, raw::Scenario), ScenarioErrors> {
    let text = utf8(source_name, text)?;
    let source = SourceText {
        name: source_name,
        text,
    };
    let raw: raw::Scenario = yaml::read(text).map_err(|finding| {
        let path = Locator::new(text).path(&finding);
        one(source, finding, path.as_deref())
    })?;
    Ok((source, raw))
}

/// Returns an error with a single problem.
fn one(
    source: SourceText<'_>,
    finding: Finding<ProblemKind>,
    path: Option<&str>,
) -> ScenarioErrors {
    let refused = ScenarioErrors::check(source, vec![finding], |_| path.map(str::to_owned));
    refused.expect_err("a finding is a problem")
}

/// Returns the 1-based lines of `text` on which the items of the list at the YAML path `list` start.
#[must_use]
pub fn item_lines(text: &str, list: &str) -> Vec<usize> {
    let source = SourceText { name: "", text };
    Locator::new(text)
        .items(list)
        .into_iter()
        .map(|start| source.location(start..start).line)
        .collect()
}

/// Returns the 1-based line of the value at the YAML path `path` in `text`; for a list or mapping, the line of its key.
/// `None` if the text has no such value.
#[must_use]
pub fn value_line(text: &str, path: &str) -> Option<usize> {
    let range = Locator::new(text).value(path)?;
    Some(SourceText { name: "", text }.location(range).line)
}

/// Returns a problem with the text `message` at the YAML path `path`, whose value is the path of a file. `text` is the
/// scenario's text, and `source_name` its name in errors.
#[must_use]
pub fn problem_of_file(
    source_name: &str,
    text: &str,
    path: &str,
    message: String,
) -> ScenarioErrors {
    let source = SourceText {
        name: source_name,
        text,
    };
    let range = Locator::new(text).value(path).unwrap_or_default();
    let kind = ProblemKind::File { message };
    one(source, Finding { range, kind }, Some(path))
}

/// Returns the paths of the files that `scenario` names, as written, each once, in order of first appearance.
#[must_use]
pub fn files(scenario: &Scenario) -> Vec<&str> {
    named_files(scenario)
        .into_iter()
        .map(|named| named.1)
        .collect()
}

/// Returns the files of [`files`], each with the YAML path at which it is named first.
#[must_use]
pub fn named_files(scenario: &Scenario) -> Vec<(String, &str)> {
    let import = scenario.topology.import.as_deref();
    let graph = import.map(|path| (IMPORT.to_owned(), path));
    let traffic = scenario
        .traffic
        .iter()
        .enumerate()
        .filter_map(|(at, traffic)| match traffic {
            Traffic::Workload(workload) => Some((
                format!("traffic[{at}].workload.sizes"),
                workload.sizes.as_str(),
            )),
            Traffic::FlowFile { path } => Some((format!("traffic[{at}].flow_file"), path.as_str())),
            Traffic::Flows(_) => None,
        });
    let routes = scenario.transport.routes.as_deref();
    let named = graph
        .into_iter()
        .chain(traffic)
        .chain(routes.map(|path| ("transport.routes".to_owned(), path)));
    let policies = scenario.policies.iter().enumerate();
    let named = named.chain(policies.filter_map(|(at, policy)| match policy {
        PolicySpec::Trained(TrainedSpec {
            trainer,
            weights: WeightSource::File(path),
            ..
        }) => {
            let key = redte::name(*trainer);
            Some((format!("policies[{at}].{key}.weights"), path.as_str()))
        }
        _ => None,
    }));
    let mut seen = BTreeSet::new();
    named.filter(|(_, path)| seen.insert(*path)).collect()
}

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
