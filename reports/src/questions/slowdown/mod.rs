//! Slowdowns by flow size and by datacenter pair.

use super::Question;

/// Distributions of the slowdowns.
pub const QUESTION: Question = Question {
    id: "slowdown",
    title: "Which flows gain, and which lose?",
    is_open: false,
    blocks: |asked| vec![asked.figures(&QUESTION)],
    values: None,
};
