//! Answers as documents: built once from values, rendered for a terminal, as HTML and as Markdown.
//!
//! - `block`: a document and its parts; `medium`: the media that show a part
//! - `table`: tables, the same rows for every medium; `estimate`: cells of percentiles and changes
//! - `html`, `markdown`, `terminal`: the renderers
mod block;
mod estimate;
mod html;
mod markdown;
mod medium;
mod table;
mod terminal;

pub use block::{Banner, Block, Document, Section};
pub use medium::Medium;
pub use table::{Cell, Column, Table};
pub(crate) use terminal::text_of;

pub use crate::text::NONE;
