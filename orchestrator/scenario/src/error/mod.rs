//! Problems with a scenario and the files it names, each pointing at its place in the text.
//!
//! - [`kind`]: what is wrong, one variant per reason
//! - [`place`]: where it is wrong
//! - `render`: how it is shown

pub mod kind;
pub mod place;
mod render;

use std::{fmt, ops::Range};

use serde::{Serialize, Serializer, ser::SerializeStruct};

pub use kind::{NameOf, ProblemKind, Unit};
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

    /// `Ok` without findings, the first of them in the order of the text otherwise.
    pub(crate) fn check<K: Into<ProblemKind>>(
        source: SourceText<'_>,
        mut findings: Vec<Finding<K>>,
        path_of: impl Fn(&Finding<ProblemKind>) -> Option<String>,
    ) -> Result<(), Self> {
        if findings.is_empty() {
            return Ok(());
        }
        findings.sort_by_key(|finding| finding.range.start);
        let omitted = findings.len().saturating_sub(limits::MAX_PROBLEMS);
        // Places and paths are looked up in the text, which is only worth it for what is shown.
        findings.truncate(limits::MAX_PROBLEMS);
        let problems = findings.into_iter().map(|Finding { range, kind }| {
            let finding = Finding {
                range,
                kind: kind.into(),
            };
            Problem {
                path: path_of(&finding).map(|path| without_controls(&path)),
                place: source.place(finding.range),
                kind: finding.kind,
            }
        });
        let problems = problems.collect();
        Err(Self { problems, omitted })
    }

    /// One problem.
    pub(crate) fn one(
        source: SourceText<'_>,
        finding: Finding<ProblemKind>,
        path: Option<String>,
    ) -> Self {
        let problem = Problem {
            place: source.place(finding.range),
            path: path.map(|path| without_controls(&path)),
            kind: finding.kind,
        };
        Self {
            problems: vec![problem],
            omitted: 0,
        }
    }
}

/// Something wrong with a stretch of a text, before it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Finding<K> {
    /// The bytes of the text; empty for the start of a YAML list or mapping.
    pub range: Range<usize>,
    /// What.
    pub kind: K,
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
        self.message_and_hint().0
    }

    /// What to do about it, if there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        self.message_and_hint().1
    }

    fn message_and_hint(&self) -> (String, Option<String>) {
        let text = without_controls(&self.kind.to_string());
        let (message, hint) = kind::split_hint(&text);
        (message.to_owned(), hint.map(str::to_owned))
    }
}

/// The beginning of a text that is too long for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Messages have texts of the scenario in them, which must not drive the terminal.
fn without_controls(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
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
