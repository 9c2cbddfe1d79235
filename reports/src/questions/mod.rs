//! Questions that the records of a run answer.
//!
//! A question is a folder of this module and a line in `QUESTIONS`. Its [`blocks`](Question::blocks) form a section of
//! the run's page, and a part of the text at the run's end. Its [`figures`](Question::figures) are drawn first. Its
//! [`values`](Question::values), if it has any, are under its key in `summary.json` and in the output of `--json`.
//!
//! - `question`: the question, and the inputs of a report
//! - `results`: the policies' slowdowns and their changes; `slowdown`: slowdowns by flow size and by datacenter pair
//! - `paths`: the paths that flows took; `mechanisms`: evidence that each policy's mechanism acted
//! - `faults`: changes of links, and pairs without a next hop
//! - `links`: use of links and queues; `flows`: single flows over time; `run`: how the run was made
mod faults;
mod flows;
mod links;
mod mechanisms;
mod paths;
mod question;
mod results;
mod run;
mod slowdown;

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

pub use self::mechanisms::load;
pub use self::question::{Answered, Figures, Question, ReportInputs};
pub use self::results::summary;
pub use self::run::semantics;
use crate::{error::ReportError, figures::Draw, parallel, run::Run};

/// All questions, in the order of the page and of the text at the run's end.
static QUESTIONS: [Question; 8] = [
    results::QUESTION,
    slowdown::QUESTION,
    paths::QUESTION,
    mechanisms::QUESTION,
    faults::QUESTION,
    links::QUESTION,
    flows::QUESTION,
    run::QUESTION,
];

/// Draws the figures of all questions into `figures_dir`, on several threads.
pub fn draw(run: &Run, figures_dir: &Path) -> Result<Figures, ReportError> {
    let draw = Draw::new(run, figures_dir);
    let plotters = QUESTIONS
        .iter()
        .flat_map(|question| question.figures.iter().map(|plot| (question.id, plot)));
    let drawn = parallel::map(plotters, |(id, plot)| (id, plot(&draw)));
    let mut figures = Figures::new();
    for (id, figure) in drawn {
        if let Some(figure) = figure? {
            figures.entry(id).or_default().push(figure);
        }
    }
    Ok(figures)
}

/// Returns each question with the blocks that answer it.
pub fn answers<'a>(inputs: &ReportInputs<'a>) -> Vec<Answered<'a>> {
    let questions = QUESTIONS.iter();
    questions.map(|it| (it, (it.blocks)(inputs))).collect()
}

/// Returns the values by question id; a question whose values are all in the summary, or null, has no entry.
pub fn values(inputs: &ReportInputs<'_>) -> BTreeMap<&'static str, Value> {
    let values = |question: &Question| {
        let value = question.values?(inputs);
        (!value.is_null()).then_some((question.id, value))
    };
    QUESTIONS.iter().filter_map(values).collect()
}
