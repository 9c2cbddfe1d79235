//! Slowdowns by flow size and by pair of datacenters.

use super::Question;

/// Question on the distributions of slowdowns.
pub const QUESTION: Question = Question {
    id: "slowdown",
    title: "Which flows gain, and which lose?",
    is_open: false,
    blocks: |inputs| vec![inputs.figures(&QUESTION)],
    values: None,
};
