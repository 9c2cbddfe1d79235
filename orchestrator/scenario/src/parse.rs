//! Parsing of a scenario text into a [`Scenario`].

use std::{borrow::Cow, collections::BTreeSet};

use lab_policy::redte;

use crate::{
    document::{one, utf8},
    error::{Finding, ProblemKind, ScenarioErrors, SourceText},
    extends::{EXTENDS, ScenarioChain},
    files::demands::DemandFormat,
    limits,
    model::{Files, PolicySpec, Scenario, Traffic, TrainedSpec, WeightSource},
    path::beside,
    resolve::resolve,
    topology_file::{self, TOPOLOGY, WrittenTopology},
    yaml::Locator,
};

/// Parses a scenario; `source_name` is the name of the text in errors.
///
/// The same text gives the same scenario on every machine, because files named in the text are not opened. Fails with
/// the first syntax or type error or, if there is none, with all invalid values.
pub fn parse(source_name: &str, text: &[u8]) -> Result<Scenario, ScenarioErrors> {
    parse_with(source_name, text, &Files::new())
}

/// Parses a scenario, as [`parse`] does. `files` has the texts of the scenarios that it extends, and of its topology
/// file, graph file and demand matrices, by their paths; see [`missing_file`].
///
/// # Errors
/// In the cases of [`parse`], and with the problems of these files.
pub fn parse_with(
    source_name: &str,
    text: &[u8],
    files: &Files,
) -> Result<Scenario, ScenarioErrors> {
    let source = source(source_name, text)?;
    let chain = ScenarioChain::read(source, files)?;
    if let Some(path) = chain.missing.clone() {
        return Err(chain.refused_last(ProblemKind::NoText { path }));
    }
    resolve(&chain, files)
}

/// File without whose text a scenario cannot be parsed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MissingFile {
    /// Path, relative to the scenario.
    pub path: String,
    /// YAML path at which the file is named.
    pub named_at: Cow<'static, str>,
    /// Path of the extended scenario or topology file that names this file; `None` if the scenario does.
    pub named_in: Option<String>,
}

/// Returns the next file that the scenario needs and whose text is not in `files`: the scenarios that it extends, one
/// after the other, then the topology file, then the graph file that the topology imports, then the files of demand
/// matrices. `None` if `files` has all of them.
///
/// # Errors
/// With the first syntax or type error of the scenario, of one that it extends, or of its topology file.
pub fn missing_file(
    source_name: &str,
    text: &[u8],
    files: &Files,
) -> Result<Option<MissingFile>, ScenarioErrors> {
    let chain = ScenarioChain::read(source(source_name, text)?, files)?;
    let (at, raw) = match (&chain.missing, chain.find(|raw| raw.topology.as_ref())) {
        (Some(path), _) => {
            return Ok(Some(MissingFile {
                path: path.clone(),
                named_at: EXTENDS.into(),
                named_in: chain.extended().last().map(str::to_owned),
            }));
        }
        (None, found) => found.expect("a whole chain has a topology"),
    };
    let scenario = &chain.texts()[at];
    let file = match topology_file::path(scenario, raw) {
        Some(path) if !files.contains_key(&path) => {
            return Ok(Some(MissingFile {
                path,
                named_at: TOPOLOGY.into(),
                named_in: scenario.file.map(str::to_owned),
            }));
        }
        Some(_) => {
            topology_file::of(scenario, raw, files).map_err(|errors| chain.noted(at, errors))?
        }
        None => None,
    };
    let written = match &file {
        Some(file) => file.written(),
        None => WrittenTopology::of_scenario(scenario, raw),
    };
    let import = written.import().map(|import| MissingFile {
        path: written.path_of(import),
        named_at: written.import_at.into(),
        named_in: written.text_file.map(str::to_owned),
    });
    let mut needed = import.into_iter().chain(matrices(&chain));
    Ok(needed.find(|file| !files.contains_key(&file.path)))
}

/// Returns the files of the demand matrices in the traffic of a whole chain.
fn matrices(chain: &ScenarioChain<'_>) -> Vec<MissingFile> {
    let Some((at, traffic)) = chain.find(|raw| raw.traffic.as_ref()) else {
        return Vec::new();
    };
    let file = chain.texts()[at].file;
    let entries = traffic.value.iter().take(limits::MAX_TRAFFIC).enumerate();
    let named = entries.filter_map(|(index, entry)| {
        let demands = entry.value.demands.as_ref()?;
        let path = demands.file.as_str();
        // The path of no file is refused with the scenario's other problems.
        DemandFormat::of_path(path)?;
        Some(MissingFile {
            path: beside(file, path),
            named_at: format!("traffic[{index}].demands.file").into(),
            named_in: file.map(str::to_owned),
        })
    });
    named.collect()
}

/// Returns a scenario's text.
///
/// # Errors
/// If it is too large or not UTF-8.
fn source<'a>(source_name: &'a str, text: &'a [u8]) -> Result<SourceText<'a>, ScenarioErrors> {
    Ok(SourceText {
        name: source_name,
        text: utf8(source_name, text)?,
    })
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

/// Returns the path and the text of the file in which the top-level key of the YAML path `path` is written. The path
/// is `None` for `text`, the scenario's own text; `files` has the texts of the extended scenarios.
#[must_use]
pub fn text_with<'a>(
    scenario: &'a Scenario,
    text: &'a str,
    files: &'a Files,
    path: &str,
) -> (Option<&'a str>, &'a str) {
    let key = path.split(['.', '[']).next().unwrap_or(path);
    let extended = scenario.extends.iter().filter_map(|path| {
        let text = files.get(path)?;
        Some((Some(path.as_str()), text.as_str()))
    });
    let mut texts = std::iter::once((None, text)).chain(extended);
    let found = texts.find(|(_, text)| Locator::new(text).value(key).is_some());
    found.unwrap_or((None, text))
}

/// Returns a problem with the text `message` at the YAML path `path`, or at the innermost mapping or list around it that
/// is set. `text` is the scenario's text, and `source_name` its name in errors. `None` if nothing on the path is set.
#[must_use]
pub fn problem_at(
    source_name: &str,
    text: &str,
    path: &str,
    message: String,
) -> Option<ScenarioErrors> {
    let source = SourceText {
        name: source_name,
        text,
    };
    let locator = Locator::new(text);
    let mut paths = std::iter::successors(Some(path), |path| {
        let end = path.rfind(['.', '['])?;
        path.get(..end)
    });
    let item = |path: &str| {
        let (list, index) = path.strip_suffix(']')?.rsplit_once('[')?;
        let start = *locator.items(list).get(index.parse::<usize>().ok()?)?;
        Some(start..start)
    };
    let range = paths.find_map(|path| locator.value(path).or_else(|| item(path)))?;
    let kind = ProblemKind::Other { message };
    Some(one(source, Finding { range, kind }, Some(path)))
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
    let mut seen = BTreeSet::new();
    every_named_file(scenario)
        .filter(|(_, path)| seen.insert(*path))
        .collect()
}

/// Returns the YAML paths at which `scenario` names files, each with the file's path.
pub(crate) fn every_named_file(scenario: &Scenario) -> impl Iterator<Item = (String, &str)> {
    let extended = scenario
        .extends
        .iter()
        .map(|path| (EXTENDS.to_owned(), path.as_str()));
    let topology = &scenario.topology;
    let of_topology = topology.file.as_deref();
    let file = of_topology.map(|path| (TOPOLOGY.to_owned(), path));
    let import = topology.import.as_deref();
    let graph = import.map(|path| (topology_file::IMPORT.to_owned(), path));
    let traffic = scenario.traffic.iter().enumerate().flat_map(|(at, entry)| {
        let key = entry.key();
        let file = match entry {
            Traffic::Demands(matrix) => {
                Some((format!("traffic[{at}].{key}.file"), matrix.file.as_str()))
            }
            Traffic::FlowFile { path } => Some((format!("traffic[{at}].{key}"), path.as_str())),
            Traffic::Workload(_) | Traffic::Flows(_) => None,
        };
        let sampled = entry.sampled();
        let sizes = sampled.map(|(sizes, _)| (format!("traffic[{at}].{key}.sizes"), sizes));
        file.into_iter().chain(sizes)
    });
    let routes = scenario.transport.routes.as_deref();
    let named = extended
        .chain(file)
        .chain(graph)
        .chain(traffic)
        .chain(routes.map(|path| ("transport.routes".to_owned(), path)));
    let policies = scenario.policies.iter().enumerate();
    named.chain(policies.filter_map(|(at, policy)| match policy {
        PolicySpec::Trained(TrainedSpec {
            trainer,
            weights: WeightSource::File(path),
            ..
        }) => {
            let key = redte::name(*trainer);
            Some((format!("policies[{at}].{key}.weights"), path.as_str()))
        }
        _ => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `c` is not set, so the innermost value around `a[1].c` is the item.
    #[test]
    fn a_problem_has_the_place_of_the_innermost_value_that_is_set() {
        let text = "a:\n  - { b: 1 }\n  - { b: 2 }\n";
        let place = |path: &str| {
            let found = problem_at("t", text, path, String::new())?.to_string();
            found.lines().nth(1).map(|line| line.trim().to_owned())
        };
        let wanted = [
            ("a[1].b", Some("--> t:3:10")),
            ("a[1]", Some("--> t:3:5")),
            ("a[1].c", Some("--> t:3:5")),
            ("a[7].b", Some("--> t:1:1")),
            ("d", None),
        ];
        for (path, wanted) in wanted {
            assert_eq!(place(path).as_deref(), wanted, "{path}");
        }
    }
}
