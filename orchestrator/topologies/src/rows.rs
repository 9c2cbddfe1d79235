//! Rows of text files, with their byte ranges.

use std::ops::Range;

/// Row of a text file.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    /// Text without surrounding blanks.
    pub text: &'a str,
    start: usize,
}

impl<'a> Row<'a> {
    /// Returns the byte range in the file.
    pub const fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// Returns the fields, which whitespace separates.
    pub fn fields(&self) -> Vec<&'a str> {
        self.text.split_whitespace().collect()
    }
}

/// Returns the rows of a text: all lines that are neither blank nor comments.
pub(crate) fn rows(text: &str) -> impl Iterator<Item = Row<'_>> {
    let mut next = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        let start = next + (line.len() - line.trim_start().len());
        next += line.len();
        let text = line.trim();
        Row { text, start }
    });
    lines.filter(|row| !row.text.is_empty() && !row.text.starts_with('#'))
}
