//! Questions that a run's records answer.
//!
//! A question is a folder here, and a line in [`QUESTIONS`]. Its [`blocks`](Question::blocks) are a section of the run's
//! page and a part of the text at the run's end; its [`values`](Question::values), if it has any, are a key of
//! `summary.json`, and so of `--json`.
//!
//! - `results`: the policies' slowdowns and their changes; `slowdown`: slowdowns by flow size and by datacenter pair
//! - `paths`: the paths that flows took; `mechanisms`: evidence that each policy's mechanism acted
//! - `links`: use of links and queues; `flows`: single flows over time; `run`: how the run was made
mod flows;
mod links;
mod mechanisms;
mod paths;
mod results;
mod run;
mod slowdown;

use std::collections::BTreeMap;

use serde_json::Value;

pub use self::mechanisms::load;
pub use self::results::headline;
pub use self::run::semantics;
use crate::{document::Block, figures::Captioned, run::Run, summary::Summary};

/// Questions in the order of the page and of the text at the run's end.
pub const QUESTIONS: [Question; 7] = [
    results::QUESTION,
    slowdown::QUESTION,
    paths::QUESTION,
    mechanisms::QUESTION,
    links::QUESTION,
    flows::QUESTION,
    run::QUESTION,
];

/// A question that a run's records answer.
pub struct Question {
    /// Anchor of the section on the page, and key of the values in `summary.json`.
    pub id: &'static str,
    /// The question in words, title of the section.
    pub title: &'static str,
    /// True if the section is unfolded when the page opens.
    pub is_open: bool,
    /// Returns the answer; no blocks if the run has nothing that answers.
    pub blocks: for<'a> fn(&Asked<'a>) -> Vec<Block<'a>>,
    /// Returns the answer's values; `None` if [`Summary`] has all of them.
    pub values: Option<fn(&Asked<'_>) -> Value>,
}

/// A run of which questions are asked.
pub struct Asked<'a> {
    /// The records.
    pub run: &'a Run,
    /// The results.
    pub summary: &'a Summary,
    /// The run's figures by the question that they belong to; empty before they are drawn.
    pub figures: &'a BTreeMap<&'static str, Vec<Captioned>>,
}

impl<'a> Asked<'a> {
    /// Returns the figures of a question.
    fn figures(&self, question: &Question) -> Block<'a> {
        Block::Figures(self.figures.get(question.id).map_or(&[], Vec::as_slice))
    }

    /// Returns the values of all questions, by their ids.
    pub fn values(&self) -> BTreeMap<&'static str, Value> {
        let values = |question: &Question| Some((question.id, question.values?(self)));
        QUESTIONS.iter().filter_map(values).collect()
    }
}
