//! Parts of a document.

use maud::Markup;

use super::{medium::Medium, table::Table};
use crate::figures::Captioned;

/// Output of a command, from which HTML pages, terminal texts and Markdown files are rendered.
pub struct Document<'a> {
    /// Title, without the name of the program.
    pub title: String,
    /// Version of the lcmp-lab that makes the document.
    pub version: String,
    /// Sentence on the origin of the document, shown at the end of a page.
    pub origin: &'static str,
    /// Blocks that precede the first section.
    pub opening: Vec<Block<'a>>,
    /// Sections of the document, in order.
    pub sections: Vec<Section<'a>>,
}

/// Part of a document with a title.
pub struct Section<'a> {
    pub(super) title: String,
    pub(super) medium: Medium,
    pub(super) blocks: Vec<Block<'a>>,
}

/// Part of a document.
pub enum Block<'a> {
    /// Subtitle within a section, shown only in the given medium.
    Heading(Medium, String),
    /// Summary in one sentence; shown in every medium.
    Lead(String),
    /// Paragraph, shown only in the given medium.
    Text(Medium, String),
    /// Explanation in small print, shown only in the given medium.
    Note(Medium, String),
    /// Table, shown only in the given medium.
    Table(Medium, Table),
    /// Terms with their values, one term per line, shown only in the given medium.
    Facts(Medium, Vec<(String, Vec<String>)>),
    /// Verdict that a reader must see first. Terminal texts omit the banner, because the program prints it on standard
    /// error.
    Banner(Banner),
    /// Charts with captions; shown only on pages.
    Figures(&'a [Captioned]),
    /// HTML markup that scripts fill or change; shown only on pages.
    Html(Markup),
    /// Title and file name of a picture; shown only on pages.
    Picture(String, String),
}

/// Verdict that a reader must see first, such as that a run is invalid.
pub struct Banner {
    /// True if the verdict is a reason to distrust the results.
    pub is_bad: bool,
    /// Verdict as a sentence.
    pub title: String,
    /// Reasons for the verdict.
    pub items: Vec<String>,
}

impl<'a> Section<'a> {
    /// Returns a section that every medium shows.
    pub fn new(title: impl Into<String>, blocks: Vec<Block<'a>>) -> Self {
        Self {
            title: title.into(),
            medium: Medium::Any,
            blocks,
        }
    }

    /// Returns a section that only pages show.
    pub fn of_page(title: impl Into<String>, blocks: Vec<Block<'a>>) -> Self {
        Self {
            medium: Medium::Page,
            ..Self::new(title, blocks)
        }
    }
}

impl Banner {
    /// Returns a banner with reasons to distrust the results; `None` if `items` is empty.
    pub fn bad(title: impl Into<String>, items: Vec<String>) -> Option<Self> {
        (!items.is_empty()).then(|| Self {
            is_bad: true,
            title: title.into(),
            items,
        })
    }
}
