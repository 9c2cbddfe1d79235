//! Topology file: the file that a scenario names in place of its topology's keys.

use crate::{
    document::{one, read, utf8},
    error::{Finding, ProblemKind, ScenarioErrors, SourceText},
    extends::{EXTENDS, WrittenScenario},
    model::Files,
    path::beside,
    raw::{self, TOPOLOGY_EXTENSION, ZOO_PREFIX},
    yaml::{At, Locator, Text, WordOr},
};

/// Topology file of a scenario, parsed but not checked.
pub(crate) struct TopologyFile<'a> {
    source: SourceText<'a>,
    raw: At<WordOr<raw::TopologyWord, raw::Topology>>,
    /// YAML path of the key `import` in the file.
    import_at: &'static str,
}

/// Topology together with the text in which it is written, by which problems are located.
#[derive(Clone, Copy)]
pub(crate) struct WrittenTopology<'a> {
    pub source: SourceText<'a>,
    pub raw: &'a At<WordOr<raw::TopologyWord, raw::Topology>>,
    /// Path of the topology file, relative to the scenario; `None` if the topology is in a scenario.
    pub file: Option<&'a str>,
    /// Path of the text, relative to the scenario: a topology file or an extended scenario; `None` if it is the
    /// scenario's own.
    pub text_file: Option<&'a str>,
    /// YAML path of the key `import` in the text.
    pub import_at: &'static str,
}

/// Returns the path, relative to the first scenario of its chain, of the topology file that `scenario` names by its
/// topology `raw`; `None` if the topology is not in a file.
pub(crate) fn path(
    scenario: &WrittenScenario<'_>,
    raw: &At<WordOr<raw::TopologyWord, raw::Topology>>,
) -> Option<String> {
    written_path(raw).map(|named| beside(scenario.file, named))
}

/// Returns the path of a topology file as written; `None` if the topology is not in a file.
fn written_path(raw: &At<WordOr<raw::TopologyWord, raw::Topology>>) -> Option<&str> {
    let WordOr::Word(word, _) = &raw.value else {
        return None;
    };
    let is_path = word.ends_with(TOPOLOGY_EXTENSION) && !word.starts_with(ZOO_PREFIX);
    is_path.then_some(word)
}

/// Parses the topology file that the scenario `scenario` names; `None` if its topology `raw` is not in a file. The file
/// has the keys of a topology, or it is a scenario, of which only the topology is used.
///
/// # Errors
/// If `files` lacks the file's text, with the first syntax or type error of the file, or if the topology is in a third
/// file.
pub(crate) fn of<'a>(
    scenario: &WrittenScenario<'_>,
    raw: &'a At<WordOr<raw::TopologyWord, raw::Topology>>,
    files: &'a Files,
) -> Result<Option<TopologyFile<'a>>, ScenarioErrors> {
    let Some(path) = path(scenario, raw) else {
        return Ok(None);
    };
    let refused = |kind| {
        let range = raw.range.clone();
        one(scenario.source, Finding { range, kind }, Some(TOPOLOGY))
    };
    if let Some(character) = path.chars().find(|character| character.is_control()) {
        let found = path;
        return Err(refused(ProblemKind::ControlCharacter { found, character }));
    }
    let Some((name, text)) = files.get_key_value(&path) else {
        return Err(refused(ProblemKind::NoText { path }));
    };
    let text = utf8(name, text.as_bytes())?;
    let source = SourceText { name, text };
    let file = if is_scenario(text) {
        let whole: raw::Scenario = read(source)?;
        let other = whole.extends.as_ref().map(Text::as_str);
        let Some(raw) = whole.topology.0 else {
            // The file is a scenario, so without `topology` it has `extends`.
            let other = beside(Some(name), other.unwrap_or_default());
            return Err(refused(ProblemKind::TopologyElsewhere { path, other }));
        };
        TopologyFile {
            source,
            raw,
            import_at: IMPORT,
        }
    } else {
        let At { value, range } = read(source)?;
        TopologyFile {
            source,
            raw: At {
                value: WordOr::Body(value),
                range,
            },
            import_at: "import",
        }
    };
    if let Some(other) = written_path(&file.raw) {
        // One step is enough to share a topology, and it needs no check for circles.
        let other = beside(Some(name), other);
        return Err(refused(ProblemKind::TopologyElsewhere { path, other }));
    }
    Ok(Some(file))
}

/// Returns true if `text` is a scenario rather than the keys of a topology.
fn is_scenario(text: &str) -> bool {
    let locator = Locator::new(text);
    [TOPOLOGY, EXTENDS]
        .iter()
        .any(|key| locator.value(key).is_some())
}

impl TopologyFile<'_> {
    /// Returns the topology with the file's text.
    pub fn written(&self) -> WrittenTopology<'_> {
        WrittenTopology {
            source: self.source,
            raw: &self.raw,
            file: Some(self.source.name),
            text_file: Some(self.source.name),
            import_at: self.import_at,
        }
    }
}

impl<'a> WrittenTopology<'a> {
    /// Returns the topology `raw` of `scenario`, which names no topology file.
    pub const fn of_scenario(
        scenario: &WrittenScenario<'a>,
        raw: &'a At<WordOr<raw::TopologyWord, raw::Topology>>,
    ) -> Self {
        Self {
            source: scenario.source,
            raw,
            file: None,
            text_file: scenario.file,
            import_at: IMPORT,
        }
    }

    /// Returns the path of the imported graph file as written; `None` if the topology imports none.
    pub fn import(&self) -> Option<&'a str> {
        match &self.raw.value {
            WordOr::Word(..) => None,
            WordOr::Body(keys) => keys.import.as_ref().map(Text::as_str),
        }
    }

    /// Returns the path, relative to the scenario, of a file that the topology names `named`: a file names others
    /// relative to its own folder.
    pub fn path_of(&self, named: &str) -> String {
        beside(self.text_file, named)
    }
}

/// YAML path of a scenario's topology, which can be the path of a topology file.
pub(crate) const TOPOLOGY: &str = "topology";

/// YAML path of the graph file that a scenario imports.
pub(crate) const IMPORT: &str = "topology.import";
