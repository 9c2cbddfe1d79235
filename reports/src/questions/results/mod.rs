//! Slowdowns of each policy, and their changes against the first.

mod headline;
mod of_run;
mod page;
mod terminal;

pub use self::of_run::summary;
use super::Question;

/// Report section on the ranking of the policies.
pub const QUESTION: Question = Question {
    id: "results",
    title: "Which policy is faster?",
    is_open: true,
    figures: &[],
    blocks: |inputs| {
        let mut blocks = page::blocks(inputs);
        blocks.extend(terminal::blocks(inputs.summary));
        blocks
    },
    values: None,
};
