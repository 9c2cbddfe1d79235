//! Parts of a document.

use maud::Markup;

use super::{medium::Medium, table::Table};
use crate::figures::Captioned;

/// An answer: what a page, a terminal and a Markdown file show.
pub struct Document<'a> {
    /// Title, without the name of the program.
    pub title: String,
    /// Version of lcmp-lab that writes the document.
    pub version: String,
    /// Sentence on the origin of the document, at the end of a page.
    pub origin: &'static str,
    /// Blocks before the first section.
    pub opening: Vec<Block<'a>>,
    /// Sections with their titles.
    pub sections: Vec<Section<'a>>,
}

/// A titled part of a document.
pub struct Section<'a> {
    pub(super) title: String,
    pub(super) medium: Medium,
    pub(super) blocks: Vec<Block<'a>>,
}

/// Part of a document.
pub enum Block<'a> {
    /// Subtitle, with its medium.
    Heading(Medium, String),
    /// Summary in a sentence, for every medium.
    Lead(String),
    /// Paragraph, with its medium.
    Text(Medium, String),
    /// Explanation in small print, with its medium.
    Note(Medium, String),
    /// Table, with its medium.
    Table(Medium, Table),
    /// Terms and their values, a line each, with their medium.
    Facts(Medium, Vec<(String, Vec<String>)>),
    /// Verdict that a reader must see first; a program writes it on standard error instead of a terminal's document.
    Banner(Banner),
    /// Figures; pages only.
    Figures(&'a [Captioned]),
    /// Markup, for what scripts fill or change; pages only.
    Html(Markup),
    /// Title and file of a picture; pages only.
    Picture(String, String),
}

/// Verdict that a reader must see first.
pub struct Banner {
    /// True if the verdict is against the results.
    pub is_bad: bool,
    /// The verdict.
    pub title: String,
    /// Its reasons.
    pub items: Vec<String>,
}

impl<'a> Section<'a> {
    /// Returns a section of every medium.
    pub fn new(title: impl Into<String>, blocks: Vec<Block<'a>>) -> Self {
        Self {
            title: title.into(),
            medium: Medium::Any,
            blocks,
        }
    }

    /// Returns a section that only pages have.
    pub fn of_page(title: impl Into<String>, blocks: Vec<Block<'a>>) -> Self {
        Self {
            medium: Medium::Page,
            ..Self::new(title, blocks)
        }
    }
}

impl Banner {
    /// Returns a banner of reasons against the results; `None` without a reason.
    pub fn bad(title: impl Into<String>, items: Vec<String>) -> Option<Self> {
        (!items.is_empty()).then(|| Self {
            is_bad: true,
            title: title.into(),
            items,
        })
    }
}
