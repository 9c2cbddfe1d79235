//! Tables of documents.

use lab_units::show::Side;

use super::medium::Medium;
use crate::text::NONE;

/// Table of cells in named columns; the first column names the rows.
#[derive(Clone, Debug)]
pub struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// Labels of the run's policies; a page shows these names in their colours.
    pub(super) policies: Vec<String>,
}

/// Column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    pub(super) name: String,
    /// Name in a terminal, which shows no group titles; `None` if it is the same as `name`.
    pub(super) short: Option<String>,
    /// Title that a page shows above neighbouring columns with the same group.
    pub(super) group: Option<&'static str>,
    pub(super) kind: ColumnKind,
    pub(super) medium: Medium,
}

/// Kind of a column's contents, which determines the alignment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ColumnKind {
    /// Names, aligned on the left.
    Names,
    /// Numbers, aligned on the right.
    Numbers,
    /// Sentences; a terminal shows them below the row.
    Sentences,
}

/// Cell of a table: a value, and smaller texts that belong to it.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub(super) text: String,
    /// Texts after the value; on a page they are below it.
    pub(super) after: Vec<String>,
    /// Texts below the value on a page; a terminal does not show them.
    pub(super) below: Vec<String>,
    pub(super) is_bad: bool,
}

impl Table {
    /// Returns a table with these columns and no rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
            policies: Vec::new(),
        }
    }

    /// Returns a table of texts: the first `left` columns contain names, all other columns numbers.
    pub fn of<'h, R: IntoIterator<Item = String>>(
        heads: impl IntoIterator<Item = &'h str>,
        left: usize,
        rows: impl IntoIterator<Item = R>,
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
        let cells = |row: R| row.into_iter().map(Cell::from);
        Self::new(columns).with(rows.into_iter().map(cells))
    }

    /// Makes pages show the names of `policies` in their colours.
    pub fn colored(mut self, policies: &[String]) -> Self {
        self.policies = policies.to_vec();
        self
    }

    /// Adds a row, which must have one cell for each column.
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

    /// Returns true if the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the indices of the columns that a medium shows.
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

    /// Puts the column under a title that it shares with neighbours.
    pub fn under(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    /// Gives the column another name in terminals.
    pub fn short(mut self, name: impl Into<String>) -> Self {
        self.short = Some(name.into());
        self
    }

    /// Restricts the column to one medium.
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
    /// Returns the cell of a missing value, a dash.
    pub fn none() -> Self {
        NONE.into()
    }

    /// Returns the cell of a value; a dash if it is `None`.
    pub fn of(value: Option<String>) -> Self {
        value.map_or_else(Self::none, Self::from)
    }

    /// Returns the value without its further texts.
    pub fn value(&self) -> &str {
        &self.text
    }

    /// Adds a text that follows the value.
    pub fn after(mut self, text: impl Into<String>) -> Self {
        self.after.push(text.into());
        self
    }

    /// Adds a text below the value, which only pages show.
    pub fn below(mut self, text: impl Into<String>) -> Self {
        self.below.push(text.into());
        self
    }

    /// Marks the value as a reason to distrust the results if `is_bad`.
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
