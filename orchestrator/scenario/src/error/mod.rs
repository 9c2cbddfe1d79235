//! Problems with a scenario and the files it names, each pointing at its place in the text.
//!
//! - [`kind`]: what is wrong, one variant per reason
//! - [`place`]: where it is wrong
//! - `render`: how it is shown

pub mod kind;
pub mod place;
mod render;

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeStruct};

pub use kind::ProblemKind;
pub use place::{Place, SourceText};

use crate::limits;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// Where in which text.
    pub place: Place,
    /// The YAML path of the place, `topology.links[3].rate`; absent in files that are not YAML
    /// and where the document itself cannot be read.
    pub path: Option<String>,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong with a text, in the order of the text; never empty.
///
/// Its [`Display`](fmt::Display) form shows each problem with its file, line, column and source
/// line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ScenarioErrors {
    problems: Vec<Problem>,
    omitted: usize,
}

impl ScenarioErrors {
    /// The problems in the order of the text.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many more there are than [`limits::MAX_PROBLEMS`].
    #[must_use]
    pub const fn omitted(&self) -> usize {
        self.omitted
    }

    /// As [`Display`](fmt::Display), with terminal colours.
    #[must_use]
    pub fn coloured(&self) -> String {
        render::coloured(self)
    }

    /// `problems` are not empty and in the order of the text; `omitted` are more of them.
    pub(crate) fn new(problems: Vec<Problem>, omitted: usize) -> Self {
        Self { problems, omitted }
    }

    /// `Ok` without problems, the first of them in the order of the text otherwise.
    pub(crate) fn check(mut problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() {
            return Ok(());
        }
        problems.sort_by_key(|problem| (problem.place.line, problem.place.column));
        let omitted = problems.len().saturating_sub(limits::MAX_PROBLEMS);
        problems.truncate(limits::MAX_PROBLEMS);
        Err(Self::new(problems, omitted))
    }
}

impl From<Problem> for ScenarioErrors {
    fn from(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
            omitted: 0,
        }
    }
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render::plain(self))
    }
}

impl std::error::Error for ScenarioErrors {}

impl Problem {
    /// What is wrong, without the hint.
    #[must_use]
    pub fn message(&self) -> String {
        kind::split_hint(&self.kind.to_string()).0.to_owned()
    }

    /// What to do about it, if there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let text = self.kind.to_string();
        kind::split_hint(&text).1.map(str::to_owned)
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Problem", 6)?;
        row.serialize_field("file", &self.place.file)?;
        row.serialize_field("line", &self.place.line)?;
        row.serialize_field("column", &self.place.column)?;
        row.serialize_field("path", &self.path)?;
        row.serialize_field("message", &self.message())?;
        row.serialize_field("hint", &self.hint())?;
        row.end()
    }
}
