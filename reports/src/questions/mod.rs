//! Questions that the records of a run answer.
//!
//! A question is a folder of this module and a line in [`QUESTIONS`]. Its [`blocks`](Question::blocks) form a section
//! of the run's page, and a part of the text at the run's end. Its [`values`](Question::values), if it has any, are
//! under its key in `summary.json` and in the output of `--json`.
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

/// All questions, in the order of the page and of the text at the run's end.
pub const QUESTIONS: [Question; 7] = [
    results::QUESTION,
    slowdown::QUESTION,
    paths::QUESTION,
    mechanisms::QUESTION,
    links::QUESTION,
    flows::QUESTION,
    run::QUESTION,
];

/// Question that the records of a run answer.
pub struct Question {
    /// Identifier: anchor of the section on the page, and key of the values in `summary.json`.
    pub id: &'static str,
    /// Question as text, which is the title of the section.
    pub title: &'static str,
    /// True if the section is unfolded when the page opens.
    pub is_open: bool,
    /// Function that returns the answer; without blocks if the run has nothing to show.
    pub blocks: for<'a> fn(&Asked<'a>) -> Vec<Block<'a>>,
    /// Function that returns the values of the answer; `None` if [`Summary`] has all of them.
    pub values: Option<fn(&Asked<'_>) -> Value>,
}

/// Inputs of answers: a run, its results and its figures.
pub struct Asked<'a> {
    /// Records of the run.
    pub run: &'a Run,
    /// Results of the run.
    pub summary: &'a Summary,
    /// Figures of the run by the id of their question; empty before they are drawn.
    pub figures: &'a BTreeMap<&'static str, Vec<Captioned>>,
}

impl<'a> Asked<'a> {
    /// Returns the figures of a question as a block.
    fn figures(&self, question: &Question) -> Block<'a> {
        Block::Figures(self.figures.get(question.id).map_or(&[], Vec::as_slice))
    }

    /// Returns the values of all questions that have any, by their ids.
    pub fn values(&self) -> BTreeMap<&'static str, Value> {
        let values = |question: &Question| Some((question.id, question.values?(self)));
        QUESTIONS.iter().filter_map(values).collect()
    }
}
