//! Slowdowns by flow size and by pair of datacenters.

use super::Question;

/// Report section on the distributions of slowdowns.
pub const QUESTION: Question = Question {
    id: "slowdown",
    title: "Which flows gain, and which lose?",
    is_open: false,
    figures: &[
        |draw| draw.cdf(),
        |draw| draw.by_size(),
        |draw| draw.by_log_size(),
        |draw| draw.dc_pairs(),
    ],
    blocks: |inputs| vec![inputs.figures(&QUESTION)],
    values: None,
};
