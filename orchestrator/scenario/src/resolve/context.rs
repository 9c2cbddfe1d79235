//! Context in which a scenario is resolved: parses texts and collects problems.

use std::{
    fmt::Display,
    ops::{Range, RangeInclusive},
};

use lab_parameters::{Parameter, Value};
use lab_units::ParseQuantityError;

use crate::{
    error::{Finding, ProblemKind, ScenarioErrors, SourceText, Unit},
    extends::WrittenScenario,
    path::beside,
    raw::parameters::read,
    suggest::did_you_mean,
    yaml::{Locator, Maybe, Scalar, Text, Word},
};

/// Parser of a scenario's texts that collects all problems.
///
/// The result of a failed parse is `None`. Callers replace it by any value, because a scenario with problems is never
/// returned.
pub(crate) struct Context<'a> {
    source: SourceText<'a>,
    /// Path of the text, relative to the scenario that is resolved; `None` if it is that scenario's.
    file: Option<&'a str>,
    findings: Vec<Finding<ProblemKind>>,
}

impl<'a> Context<'a> {
    pub fn new(source: SourceText<'a>) -> Self {
        Self {
            source,
            file: None,
            findings: Vec::new(),
        }
    }

    /// Creates the context of a scenario in a chain.
    pub fn of_scenario(scenario: &WrittenScenario<'a>) -> Self {
        Self {
            file: scenario.file,
            ..Self::new(scenario.source)
        }
    }

    /// Returns the path, relative to the scenario that is resolved, of a file that this text names `named`.
    pub fn path_of(&self, named: &str) -> String {
        beside(self.file, named)
    }

    /// Returns `value` if no problem was found; otherwise fails with all problems.
    pub fn finish<T>(self, value: T) -> Result<T, ScenarioErrors> {
        let locator = Locator::new(self.source.text);
        ScenarioErrors::check(self.source, self.findings, |finding| locator.path(finding))?;
        Ok(value)
    }

    /// Adds a problem of kind `kind` at the byte range `range`.
    pub fn problem(&mut self, range: &Range<usize>, kind: ProblemKind) {
        let range = range.clone();
        self.findings.push(Finding { range, kind });
    }

    /// Returns the 1-based line on which `range` starts, for messages that mention a second location.
    pub fn line(&self, range: &Range<usize>) -> usize {
        self.source.location(range.clone()).line
    }

    pub fn read<T: Scalar>(&mut self, text: &Text<T>) -> Option<T> {
        match T::read(text.as_str()) {
            Ok(value) => Some(value),
            Err(kind) => {
                self.problem(&text.range(), kind);
                None
            }
        }
    }

    pub fn read_or<T: Scalar>(&mut self, text: &Maybe<Text<T>>, default: T) -> T {
        text.as_ref()
            .and_then(|text| self.read(text))
            .unwrap_or(default)
    }

    /// Parses a value and checks that it is in `range`.
    pub fn within<T>(&mut self, text: &Text<T>, range: RangeInclusive<T>) -> Option<T>
    where
        T: Scalar + PartialOrd + Display,
    {
        let bounds = || format!("{} to {}", range.start(), range.end());
        let read = T::read(text.as_str());
        self.accept(text, read, |value| range.contains(value), bounds)
    }

    /// Parses a parameter's value and checks it against the parameter's domain.
    pub fn parameter(&mut self, parameter: &Parameter, text: &Text<Value>) -> Option<Value> {
        let domain = parameter.domain;
        let read = read(domain, text.as_str());
        let contains = |value: &Value| domain.contains(*value);
        self.accept(text, read, contains, || domain.to_string())
    }

    /// Returns the value if `text` was parsed and the value is permitted; otherwise adds the problem.
    fn accept<T, M>(
        &mut self,
        text: &Text<M>,
        read: Result<T, ProblemKind>,
        contains: impl Fn(&T) -> bool,
        bounds: impl Fn() -> String,
    ) -> Option<T> {
        match read {
            Ok(value) if contains(&value) => return Some(value),
            // The value's bounds are narrower than the type's, so the message shows the value's.
            Err(ProblemKind::NotWholeNumber { found, .. }) => {
                let bounds = bounds();
                let kind = ProblemKind::NotWholeNumber { found, bounds };
                self.problem(&text.range(), kind);
            }
            Ok(_) | Err(ProblemKind::Quantity(ParseQuantityError::Zero { .. })) => {
                self.out_of_range(text, bounds());
            }
            Err(kind) => self.problem(&text.range(), kind),
        }
        None
    }

    /// Adds the problem that the value of `text` is outside `bounds`.
    pub fn out_of_range<T>(&mut self, text: &Text<T>, bounds: impl Into<String>) {
        let kind = ProblemKind::OutOfRange {
            found: text.as_str().to_owned(),
            bounds: bounds.into(),
        };
        self.problem(&text.range(), kind);
    }

    pub fn within_or<T>(&mut self, text: &Maybe<Text<T>>, range: RangeInclusive<T>, default: T) -> T
    where
        T: Scalar + PartialOrd + Display,
    {
        text.as_ref()
            .and_then(|text| self.within(text, range))
            .unwrap_or(default)
    }

    /// Parses a word that stands in place of a list or mapping.
    pub fn word<W: Word>(&mut self, range: &Range<usize>, word: &str) -> Option<W> {
        let known = W::find(word);
        if known.is_none() {
            let kind = ProblemKind::UnexpectedWord {
                found: word.to_owned(),
                expected: W::expected().into(),
                suggestion: did_you_mean(word, W::words()),
            };
            self.problem(range, kind);
        }
        known
    }

    /// Checks that a mapping has exactly one of `keys`; each key is paired with true if the mapping has it. See the
    /// macro `one_key`.
    pub fn one_key(&mut self, range: &Range<usize>, keys: &[(&'static str, bool)]) {
        let there = keys.iter().filter(|(_, there)| *there);
        let found: Vec<&'static str> = there.map(|(key, _)| *key).collect();
        if found.len() != 1 {
            let known = keys.iter().map(|(key, _)| *key).collect();
            self.problem(range, ProblemKind::NotOneKey { found, known });
        }
    }

    /// Checks that a list has a permitted number of entries.
    pub fn count(&mut self, range: &Range<usize>, found: usize, bounds: RangeInclusive<usize>) {
        self.counted(range, "the list", Unit::Entries, found, bounds);
    }

    /// Checks that `found`, the number of units in `what`, is within `bounds`.
    pub fn counted(
        &mut self,
        range: &Range<usize>,
        what: &'static str,
        unit: Unit,
        found: usize,
        bounds: RangeInclusive<usize>,
    ) {
        if !bounds.contains(&found) {
            let (min, max) = bounds.into_inner();
            let kind = ProblemKind::Count {
                what,
                unit,
                found,
                min,
                max,
            };
            self.problem(range, kind);
        }
    }

    /// Checks that a text has no control characters, which terminals and tables cannot show.
    pub fn no_control_characters(&mut self, range: &Range<usize>, text: &str) {
        if let Some(character) = text.chars().find(|character| character.is_control()) {
            let found = text.escape_debug().to_string();
            self.problem(range, ProblemKind::ControlCharacter { found, character });
        }
    }
}

/// Checks that a mapping has exactly one of its alternative keys. The keys have the same names as their fields.
macro_rules! one_key {
    ($context:expr, $range:expr, $raw:expr, $($key:literal: $field:ident),+ $(,)?) => {
        $context.one_key($range, &[$(($key, $raw.$field.as_ref().is_some())),+])
    };
}
pub(super) use one_key;
