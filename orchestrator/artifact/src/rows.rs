//! Rows of the artifact's files: fields between blanks, `#` begins a comment, blank lines count for
//! nothing.

use std::str::FromStr;

use crate::error::{ArtifactError, ArtifactErrorKind};

/// The rows of one file, one after the other.
pub(crate) struct Rows<'a> {
    file: &'a str,
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    separators: &'static [char],
    /// The last line read, from 1.
    line: usize,
}

/// A row with fields.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub file: &'a str,
    /// From 1.
    pub line: usize,
    pub fields: Vec<&'a str>,
}

impl<'a> Rows<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self::separated(file, text, &[' ', '\t'])
    }

    pub fn separated(file: &'a str, text: &'a str, separators: &'static [char]) -> Self {
        Self {
            file,
            lines: text.lines().enumerate(),
            separators,
            line: 1,
        }
    }

    /// Returns the next row, which is `expected`.
    pub fn expect(&mut self, expected: &'static str) -> Result<Row<'a>, ArtifactError> {
        self.next().ok_or_else(|| ArtifactError {
            file: self.file.to_owned(),
            line: self.line,
            kind: ArtifactErrorKind::Ends { expected },
        })
    }
}

impl<'a> Iterator for Rows<'a> {
    type Item = Row<'a>;

    fn next(&mut self) -> Option<Row<'a>> {
        for (index, line) in self.lines.by_ref() {
            self.line = index + 1;
            let data = line.split('#').next().unwrap_or(line).trim();
            if !data.is_empty() {
                let fields = data
                    .split(self.separators)
                    .filter(|field| !field.is_empty());
                return Some(Row {
                    file: self.file,
                    line: index + 1,
                    fields: fields.map(str::trim).collect(),
                });
            }
        }
        None
    }
}

impl Row<'_> {
    pub fn error(&self, kind: ArtifactErrorKind) -> ArtifactError {
        ArtifactError {
            file: self.file.to_owned(),
            line: self.line,
            kind,
        }
    }

    /// Refuses a row without exactly `count` fields, which are `expected`.
    pub fn has(&self, count: usize, expected: &'static str) -> Result<(), ArtifactError> {
        if self.fields.len() == count {
            return Ok(());
        }
        let found = self.fields.len();
        Err(self.error(ArtifactErrorKind::Fields { found, expected }))
    }

    /// A whole number.
    pub fn number<T: FromStr>(&self, at: usize, what: &'static str) -> Result<T, ArtifactError> {
        self.parse(at, what, "a whole number that fits")
    }

    /// Returns a field by its type's text form.
    pub fn parse<T: FromStr>(
        &self,
        at: usize,
        what: &'static str,
        expected: &'static str,
    ) -> Result<T, ArtifactError> {
        self.value(at, what, expected, |text| text.parse().ok())
    }

    /// Returns `read` of a field.
    pub fn value<T>(
        &self,
        at: usize,
        what: &'static str,
        expected: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ArtifactError> {
        let found = self.fields.get(at).copied().unwrap_or_default();
        read(found).ok_or_else(|| {
            self.error(ArtifactErrorKind::Value {
                what,
                found: found.to_owned(),
                expected,
            })
        })
    }
}
