//! Chain of scenarios: a scenario, the scenario that it extends, and so on, each with its own text.
//!
//! Each top-level key comes as a whole from the first scenario in the chain that has it; the name and the description
//! always come from the first scenario. Each key is checked, and its problems are located, in the text in which it is
//! written.

use crate::{
    document::{one, read, utf8},
    error::{Finding, ProblemKind, ScenarioErrors, SourceText},
    limits,
    model::Files,
    path::beside,
    raw,
    yaml::{At, Text},
};

/// Scenario in the form in which it is written, with its text.
pub(crate) struct WrittenScenario<'a> {
    pub source: SourceText<'a>,
    pub raw: At<raw::Scenario>,
    /// Path of an extended scenario, relative to the first scenario of the chain; `None` for the first scenario.
    pub file: Option<&'a str>,
}

/// Scenario followed by those that it extends, as far as their texts are known; never empty.
pub(crate) struct ScenarioChain<'a> {
    texts: Vec<WrittenScenario<'a>>,
    /// Path of the next extended scenario, whose text is not known; `None` if the chain is whole.
    pub missing: Option<String>,
}

impl<'a> ScenarioChain<'a> {
    /// Reads the scenario `source` and those that it extends, whose texts are in `files`.
    ///
    /// # Errors
    /// With the first syntax or type error, with an error at `extends` if it leads to more than
    /// [`limits::MAX_EXTENDED`] scenarios or in a circle, or with the first required key that the whole chain lacks.
    pub fn read(source: SourceText<'a>, files: &'a Files) -> Result<Self, ScenarioErrors> {
        let first = WrittenScenario {
            source,
            raw: read(source)?,
            file: None,
        };
        let mut chain = Self {
            texts: vec![first],
            missing: None,
        };
        while let Some(path) = chain.next()? {
            let Some((name, text)) = files.get_key_value(&path) else {
                chain.missing = Some(path);
                return Ok(chain);
            };
            let noted = |errors: ScenarioErrors| chain.noted(chain.texts.len(), errors);
            let text = utf8(name, text.as_bytes()).map_err(noted)?;
            let source = SourceText { name, text };
            let raw = read(source).map_err(noted)?;
            let file = Some(name.as_str());
            chain.texts.push(WrittenScenario { source, raw, file });
        }
        chain.check_required()?;
        Ok(chain)
    }

    /// Returns the first scenario of the chain, which extends the others.
    pub fn first(&self) -> &WrittenScenario<'a> {
        &self.texts[0]
    }

    /// Returns the scenarios of the chain, each of which extends the next.
    pub fn texts(&self) -> &[WrittenScenario<'a>] {
        &self.texts
    }

    /// Returns the paths of the extended scenarios, relative to the first scenario.
    pub fn extended(&self) -> impl Iterator<Item = &'a str> {
        self.texts.iter().filter_map(|text| text.file)
    }

    /// Returns a key of the first scenario that has the key, and the scenario's place in the chain.
    pub fn find<'b, T>(
        &'b self,
        key: impl Fn(&'b raw::Scenario) -> Option<&'b T>,
    ) -> Option<(usize, &'b T)> {
        let mut texts = self.texts.iter().enumerate();
        texts.find_map(|(at, text)| Some((at, key(&text.raw.value)?)))
    }

    /// Returns the problems `errors` of the scenario at the place `at` in the chain. Each problem also states where
    /// that scenario is extended.
    pub fn noted(&self, at: usize, errors: ScenarioErrors) -> ScenarioErrors {
        let extending = at.checked_sub(1).and_then(|before| self.texts.get(before));
        let place = extending.and_then(|text| {
            let named = text.raw.value.extends.as_ref()?;
            Some(text.source.location(named.range()))
        });
        match place {
            Some(place) => errors.extended_at(&place),
            None => errors,
        }
    }

    /// Returns the path of the scenario that the last one extends, relative to the first; `None` if it extends none.
    ///
    /// # Errors
    /// If the path is none, or the chain would be too long or a circle.
    fn next(&self) -> Result<Option<String>, ScenarioErrors> {
        let last = self.texts.last().expect("a chain starts with a scenario");
        let Some(named) = last.raw.value.extends.as_ref() else {
            return Ok(None);
        };
        let path = beside(last.file, named.as_str());
        let kind = if named.as_str().trim().is_empty() {
            ProblemKind::EmptyPath
        } else if let Some(character) = path.chars().find(|it| it.is_control()) {
            let found = path;
            ProblemKind::ControlCharacter { found, character }
        } else if self.extended().any(|earlier| earlier == path) {
            let steps = self.extended().map(str::to_owned).collect();
            ProblemKind::ExtendsCircle { path, steps }
        } else if self.texts.len() > limits::MAX_EXTENDED {
            ProblemKind::ExtendsTooMany
        } else {
            return Ok(Some(path));
        };
        Err(self.refused_last(kind))
    }

    /// Returns an error with the problem `kind` of the key `extends` of the last scenario.
    pub fn refused_last(&self, kind: ProblemKind) -> ScenarioErrors {
        let at = self.texts.len() - 1;
        let last = &self.texts[at];
        let named = last.raw.value.extends.as_ref();
        let range = named.map(Text::range).unwrap_or_default();
        self.noted(at, one(last.source, Finding { range, kind }, Some(EXTENDS)))
    }

    /// Checks that the keys that a scenario must have are in the chain.
    ///
    /// # Errors
    /// With the first key that is missing.
    fn check_required(&self) -> Result<(), ScenarioErrors> {
        let there = [
            ("topology", self.find(|raw| raw.topology.as_ref()).is_some()),
            ("traffic", self.find(|raw| raw.traffic.as_ref()).is_some()),
            ("policies", self.find(|raw| raw.policies.as_ref()).is_some()),
        ];
        let Some((key, _)) = there.into_iter().find(|(_, is_there)| !is_there) else {
            return Ok(());
        };
        let WrittenScenario { source, raw, .. } = self.first();
        Err(match raw.value.extends.as_ref().map(Text::range) {
            None => {
                let range = raw.range.clone();
                let kind = ProblemKind::MissingKey { key };
                one(*source, Finding { range, kind }, Some(key))
            }
            Some(range) => {
                let extended = self.extended().map(str::to_owned).collect();
                let kind = ProblemKind::MissingInChain { key, extended };
                one(*source, Finding { range, kind }, Some(EXTENDS))
            }
        })
    }
}

/// YAML path of the scenario that a scenario extends.
pub(crate) const EXTENDS: &str = "extends";
