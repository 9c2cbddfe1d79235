//! HTML form of documents.

use maud::{Markup, html};

use super::{
    block::{Banner, Block, Document, Section},
    medium::Medium,
    table::{Cell, Column, ColumnKind, Table},
};
use crate::page::{
    frame::{captioned, document},
    swatch::swatched,
};

impl Document<'_> {
    /// Returns the document as an HTML page, which loads no other files.
    pub fn html(&self) -> String {
        let is_first = |block: &&Block<'_>| matches!(block, Block::Lead(_) | Block::Note(..));
        let body = html! {
            header {
                h1 { (self.title) }
                @for block in self.opening.iter().filter(is_first) { (block.html("")) }
            }
            @for block in self.opening.iter().filter(|it| !is_first(it)) { (block.html("")) }
            main {
                @for section in self.sections.iter().filter(|it| it.medium.is_on_page()) { (section.html()) }
            }
            footer { p { "Written by lcmp-lab " (self.version) " " (self.origin) } }
        };
        document(&format!("{} · lcmp-lab", self.title), &self.version, &body)
    }
}

impl Section<'_> {
    pub(crate) fn html(&self) -> Markup {
        let contents = html! { @for block in &self.blocks { (block.html("")) } };
        html! {
            @if !contents.0.is_empty() {
                section {
                    h2 { (self.title) }
                    (contents)
                }
            }
        }
    }
}

impl Block<'_> {
    /// Returns the block as HTML, with links to figure files in `folder`, which ends with a slash or is empty.
    pub(crate) fn html(&self, folder: &str) -> Markup {
        match self {
            Self::Heading(medium, text) if medium.is_on_page() => html! { h3 { (text) } },
            Self::Lead(text) => html! { p.lead { (text) } },
            Self::Text(medium, text) if medium.is_on_page() => html! { p { (text) } },
            Self::Note(medium, text) if medium.is_on_page() => html! { p.note { (text) } },
            Self::Table(medium, table) if medium.is_on_page() => table.html(),
            Self::Facts(medium, facts) if medium.is_on_page() && !facts.is_empty() => html! {
                dl {
                    @for (term, values) in facts {
                        dt { (term) }
                        dd {
                            @match values.as_slice() {
                                [value] => (value),
                                values => @for value in values { div { (value) } },
                            }
                        }
                    }
                }
            },
            Self::Heading(..)
            | Self::Text(..)
            | Self::Note(..)
            | Self::Table(..)
            | Self::Facts(..) => html! {},
            Self::Banner(banner) => banner.html(),
            Self::Picture(title, file) => html! { img src=(file) alt=(title); },
            Self::Figures(figures) => {
                html! { @for figure in *figures { (captioned(figure, folder)) } }
            }
            Self::Html(markup) => html! { (markup) },
        }
    }
}

impl Banner {
    fn html(&self) -> Markup {
        html! {
            div.banner.bad[self.is_bad] role=(if self.is_bad { "alert" } else { "status" }) {
                strong { (self.title) }
                @if !self.items.is_empty() { ul { @for item in &self.items { li { (item) } } } }
            }
        }
    }
}

impl Table {
    /// Returns the table as HTML; empty if the table has no rows.
    pub fn html(&self) -> Markup {
        let shown = self.shown(Medium::is_on_page);
        let groups = self.groups(&shown);
        let has_groups = groups.iter().any(|(group, _)| group.is_some());
        html! {
            @if !self.is_empty() {
                div.wide {
                    table {
                        thead {
                            @if has_groups {
                                tr {
                                    @for (group, columns) in &groups {
                                        @match group {
                                            Some(group) => th.n colspan=(columns.len()) { (group) },
                                            None => @for &at in columns { (self.head(at, Some(2))) },
                                        }
                                    }
                                }
                            }
                            tr {
                                @for &at in &shown {
                                    @if !has_groups || self.columns[at].group.is_some() {
                                        (self.head(at, None))
                                    }
                                }
                            }
                        }
                        tbody {
                            @for row in &self.rows {
                                tr { @for &at in &shown { (self.cell(at, &row[at])) } }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Groups the shown columns: adjacent columns with the same group title form one group.
    fn groups(&self, shown: &[usize]) -> Vec<(Option<&'static str>, Vec<usize>)> {
        shown
            .chunk_by(|&a, &b| self.columns[a].group == self.columns[b].group)
            .map(|columns| (self.columns[columns[0]].group, columns.to_vec()))
            .collect()
    }

    fn head(&self, at: usize, rows: Option<u32>) -> Markup {
        let Column { name, kind, .. } = &self.columns[at];
        html! { th.n[*kind == ColumnKind::Numbers] rowspan=[rows] { (self.named(name)) } }
    }

    /// Returns the text of a cell, in the policy's colour if it is the label of a policy.
    fn named(&self, text: &str) -> Markup {
        if self.policies.iter().any(|policy| policy == text) {
            swatched(&self.policies, text)
        } else {
            html! { (text) }
        }
    }

    fn cell(&self, column: usize, cell: &Cell) -> Markup {
        let contents = html! {
            (self.named(&cell.text))
            @for text in cell.after.iter().chain(&cell.below) { span.ci { (text) } }
        };
        match self.columns[column].kind {
            ColumnKind::Numbers => html! { td.n.bad[cell.is_bad] { (contents) } },
            _ if column == 0 => html! { th.bad[cell.is_bad] { (contents) } },
            ColumnKind::Names => html! { td.t.bad[cell.is_bad] { (contents) } },
            ColumnKind::Sentences => html! { td.s.bad[cell.is_bad] { (contents) } },
        }
    }
}
