//! Tables.

use lab_units::show::Side;

use super::medium::Medium;
use crate::text::NONE;

/// Rows of cells under named columns; the first column has the rows' names.
#[derive(Clone, Debug)]
pub struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// Labels of the run's policies, whose names have their colours on a page.
    pub(super) policies: Vec<String>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    pub(super) name: String,
    /// Name in a terminal, which has no groups.
    pub(super) short: Option<String>,
    /// Title over neighbouring columns of a page.
    pub(super) group: Option<&'static str>,
    pub(super) kind: ColumnKind,
    pub(super) medium: Medium,
}

/// Contents of a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ColumnKind {
    /// Names.
    Names,
    /// Numbers.
    Numbers,
    /// Sentences, which a terminal shows below the row.
    Sentences,
}

/// A cell: its value, and smaller text with it.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub(super) text: String,
    /// Texts after the value, on a page below it.
    pub(super) after: Vec<String>,
    /// Texts below the value, which a terminal leaves out.
    pub(super) below: Vec<String>,
    pub(super) is_bad: bool,
}

impl Table {
    /// Returns a table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
            policies: Vec::new(),
        }
    }

    /// Returns a table of texts whose first `left` columns are names and whose others are numbers.
    pub fn of<const N: usize>(
        heads: [&str; N],
        left: usize,
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Self {
        let column = |(at, head)| {
            Column::new(
                head,
                if at < left {
                    ColumnKind::Names
                } else {
                    ColumnKind::Numbers
                },
            )
        };
        let columns = heads.into_iter().enumerate().map(column);
        Self::new(columns).with(rows.into_iter().map(|row| row.map(Cell::from)))
    }

    /// Colours the names of `policies` on pages.
    pub fn colored(mut self, policies: &[String]) -> Self {
        self.policies = policies.to_vec();
        self
    }

    /// Adds a row with a cell for each column.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        let row: Vec<Cell> = row.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        self.rows.push(row);
    }

    /// Returns the table with these rows added.
    pub fn with<R: IntoIterator<Item = Cell>>(mut self, rows: impl IntoIterator<Item = R>) -> Self {
        rows.into_iter().for_each(|row| self.push(row));
        self
    }

    /// True if the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the positions of the columns of a medium.
    pub(super) fn shown(&self, is_shown: fn(Medium) -> bool) -> Vec<usize> {
        (0..self.columns.len())
            .filter(|&at| is_shown(self.columns[at].medium))
            .collect()
    }
}

impl Column {
    fn new(name: impl Into<String>, kind: ColumnKind) -> Self {
        Self {
            name: name.into(),
            short: None,
            group: None,
            kind,
            medium: Medium::Any,
        }
    }

    /// Returns a column of names.
    pub fn names(name: impl Into<String>) -> Self {
        Self::new(name, ColumnKind::Names)
    }

    /// Returns a column of numbers.
    pub fn numbers(name: impl Into<String>) -> Self {
        Self::new(name, ColumnKind::Numbers)
    }

    /// Returns a column of sentences.
    pub fn sentences(name: impl Into<String>) -> Self {
        Self::new(name, ColumnKind::Sentences)
    }

    /// Puts the column under a title that it shares with its neighbours.
    pub fn under(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    /// Names the column otherwise in a terminal.
    pub fn short(mut self, name: impl Into<String>) -> Self {
        self.short = Some(name.into());
        self
    }

    /// Shows the column in one medium.
    pub fn only(mut self, medium: Medium) -> Self {
        self.medium = medium;
        self
    }

    pub(super) fn side(&self) -> Side {
        match self.kind {
            ColumnKind::Names | ColumnKind::Sentences => Side::Left,
            ColumnKind::Numbers => Side::Right,
        }
    }
}

impl Cell {
    /// Returns the cell of a missing value.
    pub fn none() -> Self {
        NONE.into()
    }

    /// Returns the cell of a value that may be missing.
    pub fn of(value: Option<String>) -> Self {
        value.map_or_else(Self::none, Self::from)
    }

    /// Returns the value alone.
    pub fn value(&self) -> &str {
        &self.text
    }

    /// Adds a text after the value.
    pub fn after(mut self, text: impl Into<String>) -> Self {
        self.after.push(text.into());
        self
    }

    /// Adds a text below the value.
    pub fn below(mut self, text: impl Into<String>) -> Self {
        self.below.push(text.into());
        self
    }

    /// Marks the value as one against the results if `is_bad`.
    pub fn bad(mut self, is_bad: bool) -> Self {
        self.is_bad = is_bad;
        self
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
