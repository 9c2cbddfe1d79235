//! Paths that flows took, and bytes on each.

mod routes;
mod shares;

use super::Question;
use crate::document::{Block, Medium};

/// Question on the paths that flows took.
pub const QUESTION: Question = Question {
    id: "paths",
    title: "Which paths did flows take?",
    is_open: false,
    blocks: |asked| {
        let mut blocks = vec![
            asked.figures(&QUESTION),
            Block::Heading(Medium::Page, "Routes".to_owned()),
        ];
        blocks.extend(routes::blocks(asked.run));
        blocks.extend(shares::of(asked.run).blocks());
        blocks
    },
    values: Some(|asked| shares::of(asked.run).values()),
};
