//! Text form of documents for terminals.

use lab_units::show::{self, Side};

use super::{
    block::{Block, Document, Section},
    medium::Medium,
    table::{Cell, ColumnKind, Table},
};

impl Document<'_> {
    /// Returns the document as text. Lines have at most [`show::WIDTH`] characters, except in wider tables. Sections
    /// without blocks for a terminal are left out.
    #[must_use]
    pub fn terminal(&self) -> String {
        let sections = self.sections.iter();
        let shown = sections.filter(|section| section.medium.is_on_terminal());
        format!("{}\n{}", self.title, text_of(&self.opening, show::WIDTH))
            + &shown.map(section).collect::<String>()
    }
}

fn section(section: &Section<'_>) -> String {
    match text_of(&section.blocks, show::WIDTH) {
        text if text.is_empty() => text,
        text => format!("\n{}\n{text}", section.title),
    }
}

/// Returns the blocks as text in lines of at most `width` characters, except in wider tables.
pub fn text_of(blocks: &[Block<'_>], width: usize) -> String {
    blocks.iter().map(|it| block(it, width)).collect()
}

fn block(block: &Block<'_>, width: usize) -> String {
    match block {
        Block::Heading(medium, text) if medium.is_on_terminal() => format!("\n{text}\n"),
        Block::Lead(text) => show::paragraph_of(width, "", text),
        Block::Text(medium, text) | Block::Note(medium, text) if medium.is_on_terminal() => {
            show::paragraph_of(width, "", text)
        }
        Block::Table(medium, table) if medium.is_on_terminal() => table.terminal(width),
        Block::Facts(medium, facts) if medium.is_on_terminal() => {
            let line = |(term, values): &(String, Vec<String>)| {
                show::paragraph_of(width, &format!("{term}: "), &values.join(" | "))
            };
            facts.iter().map(line).collect()
        }
        Block::Heading(..)
        | Block::Text(..)
        | Block::Note(..)
        | Block::Table(..)
        | Block::Facts(..)
        | Block::Banner(_)
        | Block::Figures(_)
        | Block::Html(_)
        | Block::Picture(..) => String::new(),
    }
}

impl Table {
    /// Returns the rows in aligned columns, each followed by its sentences in lines of at most `width` characters;
    /// empty if the table has no rows.
    pub fn terminal(&self, width: usize) -> String {
        if self.is_empty() {
            return String::new();
        }
        let (sentences, columns): (Vec<usize>, Vec<usize>) = self
            .shown(Medium::is_on_terminal)
            .into_iter()
            .partition(|&at| self.columns[at].kind == ColumnKind::Sentences);
        let sides: Vec<Side> = columns.iter().map(|&at| self.columns[at].side()).collect();
        let heads = columns.iter().map(|&at| {
            let column = &self.columns[at];
            column.short.as_ref().unwrap_or(&column.name).clone()
        });
        let cells = |row: &Vec<Cell>| columns.iter().map(|&at| row[at].line()).collect();
        let lines: Vec<Vec<String>> = [heads.collect()]
            .into_iter()
            .chain(self.rows.iter().map(cells))
            .collect();
        let table = show::columns(0, &sides, &lines);
        let mut text = String::new();
        for (at, line) in table.lines().enumerate() {
            text += &format!("{line}\n");
            for &column in sentences.iter().filter(|_| at > 0) {
                let sentence = self.rows[at - 1][column].line();
                if !sentence.is_empty() {
                    text += &show::paragraph_of(width, "  ", &sentence);
                }
            }
        }
        text
    }
}

impl Cell {
    /// Returns the value followed by the texts after it.
    fn line(&self) -> String {
        let texts = [&self.text].into_iter().chain(&self.after);
        texts.map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}
