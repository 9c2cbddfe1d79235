//! Paths that flows took, and bytes on each.

mod routes;
mod shares;

use super::Question;
use crate::document::{Block, Medium};

/// Report section on the paths that flows took.
pub const QUESTION: Question = Question {
    id: "paths",
    title: "Which paths did flows take?",
    is_open: false,
    figures: &[|draw| draw.map(), |draw| draw.paths_over_time()],
    blocks: |inputs| {
        let mut blocks = vec![
            inputs.figures(&QUESTION),
            Block::Heading(Medium::Page, "Routes".to_owned()),
        ];
        blocks.extend(routes::blocks(inputs.run));
        blocks.extend(shares::of(inputs.run).blocks());
        blocks
    },
    values: Some(|inputs| shares::of(inputs.run).values()),
};
