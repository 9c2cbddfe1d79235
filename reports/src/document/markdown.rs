//! Markdown form of documents.

use super::{
    block::{Block, Document, Section},
    medium::Medium,
    table::{Cell, Table},
};

impl Document<'_> {
    /// Returns the document as Markdown, which refers to figures in the folder `figures` next to its file.
    #[must_use]
    pub fn markdown(&self, figures: &str) -> String {
        let shown = self.sections.iter().filter(|it| it.medium.is_on_page());
        let mut parts = vec![format!("# {}", self.title)];
        parts.extend(self.opening.iter().filter_map(|it| it.markdown(figures)));
        parts.extend(shown.flat_map(|it| it.markdown(figures)));
        parts.join("\n\n") + "\n"
    }
}

impl Section<'_> {
    /// Returns the section as Markdown paragraphs; empty if the section shows no block.
    fn markdown(&self, figures: &str) -> Vec<String> {
        let blocks = self.blocks.iter().filter_map(|it| it.markdown(figures));
        let mut parts: Vec<String> = blocks.collect();
        if !parts.is_empty() {
            parts.insert(0, format!("## {}", self.title));
        }
        parts
    }
}

impl Block<'_> {
    fn markdown(&self, folder: &str) -> Option<String> {
        let list = |items: &[String]| -> String {
            let lines: Vec<String> = items.iter().map(|it| format!("- {it}")).collect();
            lines.join("\n")
        };
        match self {
            Self::Heading(medium, text) => medium.is_on_page().then(|| format!("### {text}")),
            Self::Lead(text) => Some(text.clone()),
            Self::Text(medium, text) | Self::Note(medium, text) => {
                medium.is_on_page().then(|| text.clone())
            }
            Self::Table(medium, table) => {
                (medium.is_on_page() && !table.is_empty()).then(|| table.markdown())
            }
            Self::Facts(medium, facts) => {
                let lines = facts
                    .iter()
                    .map(|(term, values)| format!("{term}: {}", values.join("; ")));
                let is_shown = medium.is_on_page() && !facts.is_empty();
                is_shown.then(|| list(&lines.collect::<Vec<_>>()))
            }
            Self::Banner(banner) if banner.items.is_empty() => {
                Some(format!("**{}**", banner.title))
            }
            Self::Banner(banner) => {
                Some(format!("**{}**\n\n{}", banner.title, list(&banner.items)))
            }
            Self::Picture(title, file) => Some(format!("![{title}]({file})")),
            Self::Html(_) => None,
            Self::Figures(figures) => {
                let image = |it: &crate::figures::Captioned| {
                    format!("![{}]({folder}/{}.png)", it.title, it.image.name)
                };
                Some(figures.iter().map(image).collect::<Vec<_>>().join("\n\n"))
            }
        }
    }
}

impl Table {
    /// Returns the table as Markdown, with a head row.
    pub fn markdown(&self) -> String {
        let shown = self.shown(Medium::is_on_page);
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let head = |&at: &usize| match self.columns[at].group {
            Some(group) => format!("{group} {}", self.columns[at].name),
            None => self.columns[at].name.clone(),
        };
        let mut lines = vec![
            line(shown.iter().map(head).collect()),
            format!("|{}", "---|".repeat(shown.len())),
        ];
        let cells = |row: &Vec<Cell>| line(shown.iter().map(|&at| row[at].markdown()).collect());
        lines.extend(self.rows.iter().map(cells));
        lines.join("\n")
    }
}

impl Cell {
    /// Returns the cell's value and further texts, with the characters escaped that would end the cell.
    fn markdown(&self) -> String {
        let texts = [&self.text]
            .into_iter()
            .chain(&self.after)
            .chain(&self.below);
        let text = texts.map(String::as_str).collect::<Vec<_>>().join(" ");
        text.replace('|', "\\|").replace('\n', " ")
    }
}
