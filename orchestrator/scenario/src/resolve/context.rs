//! What every part of a scenario is resolved with: reading texts and collecting problems.

use std::{
    fmt::Display,
    ops::{Range, RangeInclusive},
};

use crate::{
    error::{Problem, ProblemKind, ScenarioErrors, SourceText},
    limits,
    yaml::{Locator, Maybe, Scalar, Text, Word},
};

/// Reads texts and collects problems.
///
/// A value that could not be read is `None`; its place is taken by a stand-in, as a scenario with
/// problems is never handed out.
pub(super) struct Context<'a> {
    source: SourceText<'a>,
    problems: Vec<(Range<usize>, ProblemKind)>,
}

impl<'a> Context<'a> {
    pub fn new(source: SourceText<'a>) -> Self {
        Self {
            source,
            problems: Vec::new(),
        }
    }

    /// `value`, or the problems.
    pub fn finish<T>(mut self, value: T) -> Result<T, ScenarioErrors> {
        if self.problems.is_empty() {
            return Ok(value);
        }
        self.problems.sort_by_key(|(range, _)| range.start);
        let omitted = self.problems.len().saturating_sub(limits::MAX_PROBLEMS);
        // Looking for a path reads the text again, which is only worth it for what is shown.
        self.problems.truncate(limits::MAX_PROBLEMS);
        let locator = Locator::new(self.source.text);
        let problems = self.problems.into_iter().map(|(range, kind)| {
            let found = locator.find(&range);
            Problem {
                place: self.source.place(range),
                path: found
                    .map(|found| found.path)
                    .filter(|path| !path.is_empty()),
                kind,
            }
        });
        Err(ScenarioErrors::new(problems.collect(), omitted))
    }

    /// Notes that something is wrong at `range`.
    pub fn problem(&mut self, range: &Range<usize>, kind: ProblemKind) {
        self.problems.push((range.clone(), kind));
    }

    /// The line of a place, for messages that name a second one.
    pub fn line(&self, range: &Range<usize>) -> usize {
        self.source.place(range.clone()).line
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
        let value = text.as_ref().and_then(|text| self.read(text));
        value.unwrap_or(default)
    }

    /// Reads a value with bounds.
    pub fn within<T>(&mut self, text: &Text<T>, range: RangeInclusive<T>) -> Option<T>
    where
        T: Scalar + PartialOrd + Display,
    {
        let value = self.read(text)?;
        if !range.contains(&value) {
            let bounds = format!("{} to {}", range.start(), range.end());
            self.out_of_range(text, bounds);
            return None;
        }
        Some(value)
    }

    /// Notes that a value is not within `bounds`.
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
        let value = text.as_ref().and_then(|text| self.within(text, range));
        value.unwrap_or(default)
    }

    /// Reads one of a closed set of words.
    pub fn word<W: Word>(&mut self, range: &Range<usize>, word: &str) -> Option<W> {
        W::read_word(word)
            .map_err(|kind| self.problem(range, kind))
            .ok()
    }

    /// Checks that one of the alternatives of a mapping is there, and no other.
    pub fn one_key(&mut self, range: &Range<usize>, keys: &[(&'static str, bool)]) {
        let there = keys.iter().filter(|(_, there)| *there);
        let found: Vec<&'static str> = there.map(|(key, _)| *key).collect();
        if found.len() != 1 {
            let known = keys.iter().map(|(key, _)| *key).collect();
            self.problem(range, ProblemKind::NotOneKey { found, known });
        }
    }

    /// Checks how many things a list has.
    pub fn count(
        &mut self,
        range: &Range<usize>,
        what: &'static str,
        found: usize,
        bounds: RangeInclusive<usize>,
    ) {
        self.bounded(range, what, "entries", found, bounds);
    }

    /// Checks how many characters a text has.
    pub fn length(&mut self, range: &Range<usize>, what: &'static str, text: &str, most: usize) {
        self.bounded(range, what, "characters", text.chars().count(), 0..=most);
    }

    fn bounded(
        &mut self,
        range: &Range<usize>,
        what: &'static str,
        unit: &'static str,
        found: usize,
        bounds: RangeInclusive<usize>,
    ) {
        if !bounds.contains(&found) {
            let (least, most) = bounds.into_inner();
            let kind = ProblemKind::Count {
                what,
                unit,
                found,
                least,
                most,
            };
            self.problem(range, kind);
        }
    }

    /// Checks that a text can be shown in a terminal and a table.
    pub fn no_control_characters(&mut self, range: &Range<usize>, text: &str) {
        if let Some(character) = text.chars().find(|character| character.is_control()) {
            let found = text.escape_debug().to_string();
            self.problem(range, ProblemKind::ControlCharacter { found, character });
        }
    }
}
