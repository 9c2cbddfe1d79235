//! The question, and the inputs of a report.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    document::Block,
    figures::{Captioned, Plotter},
    run::Run,
    summary::Summary,
};

/// Question that a run's records answer.
pub struct Question {
    /// Anchor of the section on the page, and key of the values in `summary.json`.
    pub id: &'static str,
    /// Question in words, which is the section's title.
    pub title: &'static str,
    /// True if the section is unfolded when the page opens.
    pub is_open: bool,
    /// Plotters of the figures that belong to the answer.
    pub figures: &'static [Plotter],
    /// Returns the answer; no blocks if the run's records do not answer the question.
    pub blocks: for<'a> fn(&ReportInputs<'a>) -> Vec<Block<'a>>,
    /// Returns the answer's values; `None` if [`Summary`] has all of them.
    pub values: Option<fn(&ReportInputs<'_>) -> Value>,
}

/// Inputs of a report.
pub struct ReportInputs<'a> {
    /// Records of the run.
    pub run: &'a Run,
    /// Results computed from the records.
    pub summary: &'a Summary,
    /// Figures of the run; empty before the figures are drawn.
    pub figures: &'a Figures,
}

/// Drawn figures by question id.
pub type Figures = BTreeMap<&'static str, Vec<Captioned>>;

/// Question and the blocks that answer it.
pub type Answered<'a> = (&'static Question, Vec<Block<'a>>);

impl<'a> ReportInputs<'a> {
    /// Returns the figures of a question.
    pub fn figures(&self, question: &Question) -> Block<'a> {
        Block::Figures(self.figures.get(question.id).map_or(&[], Vec::as_slice))
    }
}
