//! Values of a column of texts.

use std::{iter, ops::Range};

/// Texts of consecutive rows. Equal texts of successive rows are stored once, in a common buffer.
#[derive(Debug, Default)]
pub struct Texts {
    buffer: String,
    /// Byte range of each stored text in the buffer.
    kept: Vec<Range<usize>>,
    /// Index into `kept` of each row's text; [`ABSENT`] for a row without a value.
    rows: Vec<u32>,
}

impl Texts {
    /// Appends `rows` rows that have the same text.
    pub(crate) fn push_all(&mut self, text: &str, rows: usize) {
        let position = self.keep(text);
        self.rows.extend(iter::repeat_n(position, rows));
    }

    /// Appends a row with a text, or without a value.
    pub(crate) fn push(&mut self, text: Option<&str>) {
        let Some(text) = text else {
            self.rows.push(ABSENT);
            return;
        };
        // Consecutive rows of a table often have the same text, which is then stored once.
        let position = match self.rows.last() {
            Some(&last) if self.kept(last) == Some(text) => last,
            _ => self.keep(text),
        };
        self.rows.push(position);
    }

    /// Returns the text of the row at `index`; `None` if the row has no value.
    ///
    /// # Panics
    /// If there is no row at `index`.
    #[must_use]
    pub fn at(&self, index: usize) -> Option<&str> {
        self.kept(self.rows[index])
    }

    /// Returns the texts, in the order of the rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        self.rows.iter().map(|&position| self.kept(position))
    }

    /// Returns the stored texts, which include every row's text and may contain duplicates.
    pub(crate) fn all_kept(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|place| &self.buffer[place.clone()])
    }

    /// Returns the index into [`all_kept`](Self::all_kept) of the row's text; `None` if the row has no value.
    pub(crate) fn position(&self, index: usize) -> Option<usize> {
        let position = self.rows[index];
        (position != ABSENT).then_some(self::index(position))
    }

    /// Stores `text` and returns its index.
    fn keep(&mut self, text: &str) -> u32 {
        let start = self.buffer.len();
        self.buffer.push_str(text);
        self.kept.push(start..self.buffer.len());
        u32::try_from(self.kept.len() - 1).unwrap_or(ABSENT)
    }

    fn kept(&self, position: u32) -> Option<&str> {
        let place = self.kept.get(index(position))?;
        Some(&self.buffer[place.clone()])
    }
}

fn index(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// Index that marks a row without a value.
const ABSENT: u32 = u32::MAX;

impl<'a> FromIterator<&'a str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'a str>>(iter: I) -> Self {
        let mut texts = Self::default();
        for text in iter {
            texts.push(Some(text));
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_their_texts_and_equal_ones_in_a_row_are_kept_once() {
        let rows = [Some("a"), Some("a"), None, Some(""), Some("a"), Some("é")];
        let mut texts = Texts::default();
        rows.iter().for_each(|&row| texts.push(row));
        assert!(texts.iter().eq(rows));
        assert!(texts.all_kept().eq(["a", "", "a", "é"]));
        assert_eq!(texts.position(1), Some(0));
        assert_eq!((texts.at(3), texts.position(2)), (Some(""), None));
    }

    #[test]
    fn rows_of_one_text_are_as_rows_one_by_one() {
        let mut texts = Texts::default();
        texts.push_all("a", 2);
        texts.push(Some("b"));
        assert!(texts.iter().eq([Some("a"), Some("a"), Some("b")]));
    }
}
