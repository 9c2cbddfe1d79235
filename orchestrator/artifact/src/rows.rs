//! Rows of the artifact's text files: fields are separated by blanks, `#` begins a comment, and blank lines are
//! skipped.

use std::str::FromStr;

use crate::error::{ArtifactError, ArtifactErrorKind};

/// Iterator over the rows of one file.
pub(crate) struct Rows<'a> {
    file: &'a str,
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    separators: &'static [char],
    /// Number of the last line read, from 1.
    line: usize,
}

/// Row of a file, split into fields.
#[derive(Clone, Debug)]
pub(crate) struct FileRow<'a> {
    pub file: &'a str,
    /// Number of the line, from 1.
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

    /// Returns the next row; at the end of the file, fails with an error that names what was `expected`.
    pub fn expect(&mut self, expected: &'static str) -> Result<FileRow<'a>, ArtifactError> {
        self.next().ok_or_else(|| ArtifactError {
            file: self.file.to_owned(),
            line: self.line,
            kind: ArtifactErrorKind::Ends { expected },
        })
    }
}

impl<'a> Iterator for Rows<'a> {
    type Item = FileRow<'a>;

    fn next(&mut self) -> Option<FileRow<'a>> {
        for (index, line) in self.lines.by_ref() {
            self.line = index + 1;
            let data = line.split('#').next().unwrap_or(line).trim();
            if !data.is_empty() {
                let fields = data
                    .split(self.separators)
                    .filter(|field| !field.is_empty());
                return Some(FileRow {
                    file: self.file,
                    line: index + 1,
                    fields: fields.map(str::trim).collect(),
                });
            }
        }
        None
    }
}

impl FileRow<'_> {
    pub fn error(&self, kind: ArtifactErrorKind) -> ArtifactError {
        ArtifactError {
            file: self.file.to_owned(),
            line: self.line,
            kind,
        }
    }

    /// Checks that a row has exactly `count` fields; the error quotes `expected`, a list of the fields.
    pub fn has(&self, count: usize, expected: &'static str) -> Result<(), ArtifactError> {
        if self.fields.len() == count {
            return Ok(());
        }
        let found = self.fields.len();
        Err(self.error(ArtifactErrorKind::Fields { found, expected }))
    }

    /// Parses a field as a whole number.
    pub fn number<T: FromStr>(&self, at: usize, what: &'static str) -> Result<T, ArtifactError> {
        self.parse(at, what, "a whole number in the permitted range")
    }

    /// Parses a field with the `FromStr` of the result's type; errors describe the field as `what` and its form as
    /// `expected`.
    pub fn parse<T: FromStr>(
        &self,
        at: usize,
        what: &'static str,
        expected: &'static str,
    ) -> Result<T, ArtifactError> {
        self.value(at, what, expected, |text| text.parse().ok())
    }

    /// Parses a field with `read`; if `read` returns `None`, the error describes the field as `what` and its form as
    /// `expected`.
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
