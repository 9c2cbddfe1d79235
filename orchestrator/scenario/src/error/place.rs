//! Places in a text.

use std::ops::Range;

/// A text with the name it is shown under.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'a> {
    /// As the user knows the file.
    pub name: &'a str,
    /// All of it.
    pub text: &'a str,
}

/// A stretch of one line of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// Name of the text.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The line, without its end.
    pub text: String,
    /// The bytes of [`Place::text`] that are meant.
    pub span: Range<usize>,
}

impl SourceText<'_> {
    /// The place of the bytes `range`, cut to the line it starts in.
    ///
    /// Offsets past the end, or inside a character, move back to the nearest character.
    #[must_use]
    pub fn place(&self, range: Range<usize>) -> Place {
        let start = self.text.floor_char_boundary(range.start);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &self.text[line_start..];
        let line = rest.split('\n').next().unwrap_or(rest);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let span_start = (start - line_start).min(line.len());
        let span_end = line.floor_char_boundary(range.end.saturating_sub(line_start));
        Place {
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

    fn place(text: &str, range: Range<usize>) -> (usize, usize, String) {
        let place = SourceText { name: "f", text }.place(range);
        (place.line, place.column, place.text[place.span].to_owned())
    }

    #[test]
    fn columns_count_characters_and_spans_stop_at_the_line_end() {
        assert_eq!(place("aé: b\r\nc", 3..4), (1, 3, ":".to_owned()));
        assert_eq!(place("a\nbc\r\nd", 3..7), (2, 2, "c".to_owned()));
    }

    #[test]
    fn offsets_past_the_end_are_the_end() {
        assert_eq!(place("a\nb", 9..12), (2, 2, String::new()));
        assert_eq!(place("", 0..1), (1, 1, String::new()));
    }
}
