//! The question, and the inputs of a report.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    document::Block,
    figures::{Captioned, Plotter},
    run::Run,
    summary::Summary,
};

/// A question that a run's records answer.
pub struct Question {
    /// Anchor of the section on the page, and key of the values in `summary.json`.
    pub id: &'static str,
    /// The question in words, title of the section.
    pub title: &'static str,
    /// True if the section is unfolded when the page opens.
    pub is_open: bool,
    /// Plotters of the figures that belong to the answer.
    pub figures: &'static [Plotter],
    /// Returns the answer; no blocks if the run has nothing that answers.
    pub blocks: for<'a> fn(&ReportInputs<'a>) -> Vec<Block<'a>>,
    /// Returns the answer's values; `None` if [`Summary`] has all of them.
    pub values: Option<fn(&ReportInputs<'_>) -> Value>,
}

/// What a report is made from.
pub struct ReportInputs<'a> {
    /// The records.
    pub run: &'a Run,
    /// The results.
    pub summary: &'a Summary,
    /// The run's figures; empty before they are drawn.
    pub figures: &'a Figures,
}

/// Drawn figures by the id of the question to which they belong.
pub type Figures = BTreeMap<&'static str, Vec<Captioned>>;

/// A question and the blocks that answer it.
pub type Answered<'a> = (&'static Question, Vec<Block<'a>>);

impl<'a> ReportInputs<'a> {
    /// Returns the figures of a question.
    pub fn figures(&self, question: &Question) -> Block<'a> {
        Block::Figures(self.figures.get(question.id).map_or(&[], Vec::as_slice))
    }
}
