//! Texts of a column.

use std::ops::Range;

/// The texts of consecutive rows. A text that many rows have is kept once, and a value costs no
/// allocation.
#[derive(Debug, Default)]
pub struct Texts {
    buffer: String,
    /// Places in the buffer of the texts that are kept.
    kept: Vec<Range<usize>>,
    /// Position of each row's text among those kept; [`ABSENT`] for a row without a value.
    rows: Vec<u32>,
}

impl Texts {
    /// Keeps `text`, for rows to come.
    pub(crate) fn keep(&mut self, text: &str) {
        let start = self.buffer.len();
        self.buffer.push_str(text);
        self.kept.push(start..self.buffer.len());
    }

    /// Appends a row with the text that was kept at `position`, `None` for no value. False if there is none.
    pub(crate) fn push_kept(&mut self, position: Option<u32>) -> bool {
        let position = position.unwrap_or(ABSENT);
        self.rows.push(position);
        position == ABSENT || index(position) < self.kept.len()
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, text: Option<&str>) {
        let Some(text) = text else {
            self.rows.push(ABSENT);
            return;
        };
        // Rows of a table often have what the row before has.
        if self.rows.last().and_then(|&last| self.kept(last)) != Some(text) {
            self.keep(text);
        }
        let last = self.kept.len() - 1;
        self.rows.push(u32::try_from(last).unwrap_or(ABSENT));
    }

    /// Returns the text of the row at `index`; `None` if the row has no value.
    ///
    /// # Panics
    /// If there are fewer rows.
    #[must_use]
    pub fn at(&self, index: usize) -> Option<&str> {
        self.kept(self.rows[index])
    }

    /// Returns the texts, in the order of the rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        self.rows.iter().map(|&position| self.kept(position))
    }

    /// Returns the texts that are kept: all that rows have, some perhaps more than once.
    pub(crate) fn all_kept(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|place| &self.buffer[place.clone()])
    }

    /// Returns the position of the text of the row at `index` among [`all_kept`](Self::all_kept).
    pub(crate) fn position(&self, index: usize) -> Option<usize> {
        let position = self.rows[index];
        (position != ABSENT).then_some(self::index(position))
    }

    fn kept(&self, position: u32) -> Option<&str> {
        let place = self.kept.get(index(position))?;
        Some(&self.buffer[place.clone()])
    }
}

fn index(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// Position of no text.
const ABSENT: u32 = u32::MAX;

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
    fn a_row_of_a_text_that_was_not_kept_is_refused() {
        let mut texts = Texts::default();
        texts.keep("a");
        assert!(texts.push_kept(Some(0)) && texts.push_kept(None));
        assert!(!texts.push_kept(Some(1)));
    }
}
