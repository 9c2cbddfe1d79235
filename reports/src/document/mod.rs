//! Documents: built once from values, and rendered as text for a terminal, as HTML and as Markdown.
//!
//! - `block`: a document and its parts; `medium`: which media show a part
//! - `table`: tables, with equal rows in every medium; `estimate`: cells of percentiles and changes
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
