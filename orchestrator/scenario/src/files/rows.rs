//! Row-oriented text files, with one row per line and `#` comments.

use std::ops::Range;

use crate::error::{Finding, SourceText, excerpt};

/// Row of a text file, or one field of such a row.
#[derive(Clone)]
pub(super) struct LinePart<'a> {
    source: SourceText<'a>,
    /// Byte range in the text, without surrounding blanks.
    range: Range<usize>,
    /// Line number, from 1.
    pub line: usize,
}

/// Returns the rows of a text: all lines that are neither blank nor comments.
pub(super) fn rows(source: SourceText<'_>) -> impl Iterator<Item = LinePart<'_>> {
    let lines = source.text.split_inclusive('\n').zip(1..);
    let rows = lines.map(move |(text, line)| LinePart::new(source, text.trim(), line));
    rows.filter(|row| !row.text().is_empty() && !row.text().starts_with('#'))
}

impl<'a> LinePart<'a> {
    /// Returns the part of `source` that `text` covers; `text` must be a slice of the source's text.
    fn new(source: SourceText<'a>, text: &str, line: usize) -> Self {
        let start = text.as_ptr().addr() - source.text.as_ptr().addr();
        let range = start..start + text.len();
        Self {
            source,
            range,
            line,
        }
    }

    pub fn text(&self) -> &'a str {
        &self.source.text[self.range.clone()]
    }

    /// Returns the byte range in the text, without surrounding blanks.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Returns the text of the row or field, shortened for a message.
    pub fn excerpt(&self) -> String {
        excerpt(self.text())
    }

    /// Splits the row into fields at commas.
    pub fn comma_fields(&self) -> Vec<Self> {
        self.fields(self.text().split(',').map(str::trim))
    }

    /// Splits the row into fields at whitespace.
    pub fn blank_fields(&self) -> Vec<Self> {
        self.fields(self.text().split_whitespace())
    }

    fn fields(&self, parts: impl Iterator<Item = &'a str>) -> Vec<Self> {
        let field = |part: &str| Self::new(self.source, part, self.line);
        parts.map(field).collect()
    }

    /// Returns a problem of kind `kind` at this row or field.
    pub fn finding<K>(&self, kind: K) -> Finding<K> {
        let range = self.range.clone();
        Finding { range, kind }
    }
}

/// Returns a problem of kind `kind` at the end of the text, for problems with the whole text.
pub(super) fn finding_at_end<K>(source: SourceText<'_>, kind: K) -> Finding<K> {
    let end = source.text.trim_end().len();
    let range = end..end;
    Finding { range, kind }
}
