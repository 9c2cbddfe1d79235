//! Texts with one row per line and `#` comments.

use std::ops::Range;

use crate::error::{Finding, SourceText, excerpt};

/// A line with data.
pub(super) struct Row<'a> {
    source: SourceText<'a>,
    /// Byte range of the line, without surrounding blanks.
    range: Range<usize>,
    /// Line number, from 1.
    line: usize,
}

/// A field of a row.
#[derive(Clone)]
pub(super) struct Field<'a> {
    source: SourceText<'a>,
    range: Range<usize>,
}

/// Returns all rows: lines that are neither blank nor comments.
pub(super) fn rows(source: SourceText<'_>) -> impl Iterator<Item = Row<'_>> {
    let lines = source.text.split_inclusive('\n').zip(1..);
    lines.filter_map(move |(text, line)| {
        let content = text.trim();
        let start = offset_of(source.text, content);
        let data = !content.is_empty() && !content.starts_with('#');
        data.then(|| Row {
            source,
            range: start..start + content.len(),
            line,
        })
    })
}

impl<'a> Row<'a> {
    pub fn text(&self) -> &'a str {
        &self.source.text[self.range.clone()]
    }

    /// Returns the row as messages show it.
    pub fn excerpt(&self) -> String {
        excerpt(self.text())
    }

    /// Returns the line number, from 1.
    pub const fn line(&self) -> usize {
        self.line
    }

    /// Returns the fields between commas.
    pub fn comma_fields(&self) -> Vec<Field<'a>> {
        self.fields(self.text().split(',').map(str::trim))
    }

    /// Returns the fields between blanks.
    pub fn blank_fields(&self) -> Vec<Field<'a>> {
        self.fields(self.text().split_whitespace())
    }

    fn fields(&self, parts: impl Iterator<Item = &'a str>) -> Vec<Field<'a>> {
        let field = |part: &str| {
            let start = offset_of(self.source.text, part);
            Field {
                source: self.source,
                range: start..start + part.len(),
            }
        };
        parts.map(field).collect()
    }

    /// Returns a problem of this part.
    pub fn finding<K>(&self, kind: K) -> Finding<K> {
        let range = self.range.clone();
        Finding { range, kind }
    }
}

impl<'a> Field<'a> {
    pub fn text(&self) -> &'a str {
        &self.source.text[self.range.clone()]
    }

    /// Returns the field as messages show it.
    pub fn excerpt(&self) -> String {
        excerpt(self.text())
    }

    /// Returns a problem of this part.
    pub fn finding<K>(&self, kind: K) -> Finding<K> {
        let range = self.range.clone();
        Finding { range, kind }
    }
}

/// Returns a problem of the whole text, located at its end.
pub(super) fn finding_at_end<K>(source: SourceText<'_>, kind: K) -> Finding<K> {
    let end = source.text.trim_end().len();
    let range = end..end;
    Finding { range, kind }
}

/// Returns the offset of `part`, a slice of `whole`.
fn offset_of(whole: &str, part: &str) -> usize {
    part.as_ptr().addr() - whole.as_ptr().addr()
}
