//! Slowdowns of each policy, and their changes against the first.

mod headline;
mod of_run;
mod page;
mod terminal;

pub use self::of_run::summary;
use super::Question;

/// Ranking of the policies.
pub const QUESTION: Question = Question {
    id: "results",
    title: "Which policy is faster?",
    is_open: true,
    blocks: |asked| {
        let mut blocks = page::blocks(asked);
        blocks.extend(terminal::blocks(asked.summary));
        blocks
    },
    values: None,
};
