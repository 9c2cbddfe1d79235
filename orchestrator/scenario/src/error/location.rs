//! Positions in a text.

use std::ops::Range;

/// Text of a file, with the file's name for messages.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'a> {
    /// Name of the file, as the user gave it.
    pub name: &'a str,
    pub text: &'a str,
}

/// Position of a problem within one line of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Location {
    /// Name of the file, as the user gave it.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Text of the line with the problem, without the line break.
    pub text: String,
    /// Byte range of the problem within [`Location::text`].
    pub span: Range<usize>,
}

impl SourceText<'_> {
    /// Converts the byte range `range` of the text into a location, truncated to the line on which it starts.
    ///
    /// An offset past the end, or inside a character, is moved back to the nearest character.
    #[must_use]
    pub fn location(&self, range: Range<usize>) -> Location {
        let start = self.text.floor_char_boundary(range.start);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &self.text[line_start..];
        let line = rest.split('\n').next().unwrap_or(rest);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let span_start = (start - line_start).min(line.len());
        let span_end = line.floor_char_boundary(range.end.saturating_sub(line_start));
        Location {
            file: self.name.to_owned(),
            line: before.matches('\n').count() + 1,
            column: line[..span_start].chars().count() + 1,
            span: span_start..span_end.max(span_start),
            text: line.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(text: &str, range: Range<usize>) -> (usize, usize, String) {
        let found = SourceText { name: "f", text }.location(range);
        (found.line, found.column, found.text[found.span].to_owned())
    }

    #[test]
    fn columns_count_characters_and_spans_stop_at_the_line_end() {
        assert_eq!(location("aé: b\r\nc", 3..4), (1, 3, ":".to_owned()));
        assert_eq!(location("a\nbc\r\nd", 3..7), (2, 2, "c".to_owned()));
    }

    #[test]
    fn offsets_past_the_end_are_the_end() {
        assert_eq!(location("a\nb", 9..12), (2, 2, String::new()));
        assert_eq!(location("", 0..1), (1, 1, String::new()));
    }
}
