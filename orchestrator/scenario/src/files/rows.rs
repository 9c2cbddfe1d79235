//! Texts of one row per line, with `#` comments.

use std::ops::Range;

use crate::error::{Problem, ProblemKind, SourceText};

/// A line that holds data.
pub(super) struct Row<'a> {
    source: SourceText<'a>,
    /// The line without surrounding blanks, as bytes of the text.
    range: Range<usize>,
}

/// A field of a row.
#[derive(Clone)]
pub(super) struct Field<'a> {
    source: SourceText<'a>,
    range: Range<usize>,
}

/// All rows: lines that are neither blank nor comments.
pub(super) fn rows(source: SourceText<'_>) -> impl Iterator<Item = Row<'_>> {
    source.text.split_inclusive('\n').filter_map(move |line| {
        let content = line.trim();
        let start = offset_of(source.text, content);
        let data = !content.is_empty() && !content.starts_with('#');
        data.then(|| Row {
            source,
            range: start..start + content.len(),
        })
    })
}

impl<'a> Row<'a> {
    pub fn text(&self) -> &'a str {
        &self.source.text[self.range.clone()]
    }

    /// The row's line number, from 1.
    pub fn line(&self) -> usize {
        self.source.place(self.range.clone()).line
    }

    /// The fields between commas.
    pub fn comma_fields(&self) -> Vec<Field<'a>> {
        self.fields(self.text().split(',').map(str::trim))
    }

    /// The fields between blanks.
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

    pub fn problem(&self, kind: impl Into<ProblemKind>) -> Problem {
        problem(self.source, self.range.clone(), kind)
    }
}

impl<'a> Field<'a> {
    pub fn text(&self) -> &'a str {
        &self.source.text[self.range.clone()]
    }

    pub fn problem(&self, kind: impl Into<ProblemKind>) -> Problem {
        problem(self.source, self.range.clone(), kind)
    }
}

/// A problem of the whole text, shown at its end.
pub(super) fn problem_at_end(source: SourceText<'_>, kind: impl Into<ProblemKind>) -> Problem {
    let end = source.text.trim_end().len();
    problem(source, end..end, kind)
}

fn problem(source: SourceText<'_>, range: Range<usize>, kind: impl Into<ProblemKind>) -> Problem {
    Problem {
        place: source.place(range),
        path: None,
        kind: kind.into(),
    }
}

/// Where `part`, a slice of `whole`, starts in it.
fn offset_of(whole: &str, part: &str) -> usize {
    part.as_ptr().addr() - whole.as_ptr().addr()
}
