//! Problems in a scenario and in the files that it names, each with its location in the text.
//!
//! - [`kind`]: kinds of problems, with their messages
//! - [`file`]: kinds of problems in the files that a scenario names
//! - [`location`]: positions in a text

pub mod file;
pub mod kind;
pub mod location;
pub mod setting;

use std::{fmt, ops::Range};

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use serde::{Serialize, Serializer, ser::SerializeStruct};

pub use file::{CdfError, DemandError, FlowFileError};
pub use kind::{NameOf, ProblemKind, Unit};
pub use location::{Location, SourceText};
pub use setting::{AxisProblem, ParseSettingPathError};

use crate::limits;

/// Problem with its location in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// Position of the problem in the text.
    pub location: Location,
    /// YAML path of the location, such as `topology.links[3].rate`; `None` in a file that is not YAML, and in a
    /// document that cannot be parsed.
    pub path: Option<String>,
    pub kind: ProblemKind,
    /// Place at which another scenario extends the one with the problem; `None` if none does.
    pub extended_at: Option<Location>,
}

/// All problems found in a text, in the order of the text; never empty.
///
/// The [`Display`](fmt::Display) form shows each problem with its file, line, column and source line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ScenarioErrors {
    problems: Vec<Problem>,
    omitted: usize,
}

impl ScenarioErrors {
    /// Returns the problems in the order of the text.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the number of problems that are not shown because there are more than [`limits::MAX_PROBLEMS`].
    #[must_use]
    pub const fn omitted(&self) -> usize {
        self.omitted
    }

    /// Returns the [`Display`](fmt::Display) form with colours for a terminal.
    #[must_use]
    pub fn coloured(&self) -> String {
        render(self, &Renderer::styled())
    }

    /// Returns `Ok` if `findings` is empty; otherwise fails with the first [`limits::MAX_PROBLEMS`] findings in the
    /// order of the text.
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
        // Locations and paths are looked up in the text, which takes time, so only the problems that are shown get
        // them.
        findings.truncate(limits::MAX_PROBLEMS);
        let problems = findings
            .into_iter()
            .map(|Finding { range, kind }| {
                let kind = kind.into();
                let finding = Finding { range, kind };
                Problem {
                    path: path_of(&finding).map(|path| without_controls(&path)),
                    location: source.location(finding.range),
                    kind: finding.kind,
                    extended_at: None,
                }
            })
            .collect();
        Err(Self { problems, omitted })
    }

    /// Adds the place at which another scenario extends the one with these problems.
    pub(crate) fn extended_at(mut self, place: &Location) -> Self {
        for problem in &mut self.problems {
            problem.extended_at = Some(place.clone());
        }
        self
    }

    /// Returns the problems of several texts as one error, cut to the first [`limits::MAX_PROBLEMS`]; `None` without
    /// problems.
    pub(crate) fn joined(errors: impl Iterator<Item = Self>) -> Option<Self> {
        let mut joined = errors.reduce(|mut all, one| {
            all.problems.extend(one.problems);
            all.omitted += one.omitted;
            all
        })?;
        joined.omitted += joined.problems.len().saturating_sub(limits::MAX_PROBLEMS);
        joined.problems.truncate(limits::MAX_PROBLEMS);
        Some(joined)
    }
}

/// Problem with its byte range, before its line and column are looked up.
#[derive(Clone, Debug)]
pub(crate) struct Finding<K> {
    /// Byte range in the text; empty for the start of a YAML list or mapping.
    pub range: Range<usize>,
    pub kind: K,
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render(self, &Renderer::plain()))
    }
}

impl std::error::Error for ScenarioErrors {}

impl Problem {
    /// Returns the message without the hint.
    #[must_use]
    pub fn message(&self) -> String {
        self.message_and_hint().0
    }

    /// Returns the hint, if there is one.
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

/// Renders problems as text: message, file:line:column, source line with a caret, YAML path and hint.
fn render(errors: &ScenarioErrors, renderer: &Renderer) -> String {
    let mut blocks: Vec<String> = errors
        .problems
        .iter()
        .map(|problem| block(problem, renderer))
        .collect();
    if errors.omitted > 0 {
        blocks.push(format!("and {} more", errors.omitted));
    }
    blocks.join("\n\n")
}

fn block(problem: &Problem, renderer: &Renderer) -> String {
    let (message, hint) = problem.message_and_hint();
    let path = problem.path.as_ref().map(|path| format!("at `{path}`"));
    let extended = problem.extended_at.as_ref().map(|place| {
        let file = without_controls(&place.file);
        format!("extended by `{file}` on line {}", place.line)
    });
    let group = Level::ERROR
        .primary_title(message)
        .element(source_line(&problem.location))
        .elements(path.map(|path| Level::NOTE.no_name().message(path)))
        .elements(extended.map(|place| Level::NOTE.no_name().message(place)))
        .elements(hint.map(|hint| Level::HELP.with_name("hint").message(hint)));
    renderer.render(&[group])
}

/// Renders the source line with a caret; for an empty line, only the position.
fn source_line(location: &Location) -> Element<'_> {
    if location.text.is_empty() {
        let origin = Origin::path(&location.file).line(location.line);
        return origin.char_column(location.column).into();
    }
    let caret = AnnotationKind::Primary.span(location.span.clone());
    let snippet = Snippet::source(&location.text).path(&location.file);
    snippet.line_start(location.line).annotation(caret).into()
}

/// Returns the text, cut off with `…` if it is too long for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Escapes control characters, because messages quote the scenario's text, which must not control the terminal.
fn without_controls(text: &str) -> String {
    let escape = |character: char| {
        if character.is_control() {
            character.escape_default().to_string()
        } else {
            character.to_string()
        }
    };
    text.chars().map(escape).collect()
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Problem", 6)?;
        row.serialize_field("file", &self.location.file)?;
        row.serialize_field("line", &self.location.line)?;
        row.serialize_field("column", &self.location.column)?;
        row.serialize_field("path", &self.path)?;
        row.serialize_field("message", &self.message())?;
        row.serialize_field("hint", &self.hint())?;
        row.end()
    }
}
