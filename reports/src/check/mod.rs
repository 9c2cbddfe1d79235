//! Results of judging: what was checked, what was found, and the exit code that follows.
//!
//! Each verb has its own rules, such as bounds on a run's figures, intervals over repetitions, or counts of
//! comparisons. All of them produce [`Check`]s, and the worst check decides: [`Judgement::of`].
//!
//! - `answer`: answers of judging verbs, with their document, page and JSON
mod answer;

use serde::Serialize;

pub use answer::{Answer, Answered, Written};

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Code of the check, such as an option (`max-p99`), an assertion or a claim.
    pub code: String,
    /// Judgement of the value found.
    pub grade: Judgement,
    /// Value found; `None` if it is undefined or not a number.
    pub found: Option<f64>,
    /// Bound on the value; `None` if a single number cannot express it.
    pub bound: Option<f64>,
    /// Sentence without its full stop that states what was found and why it is judged so.
    pub reason: String,
}

/// Judgement of one check or of several; later variants are worse.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// All checks hold.
    #[default]
    Pass,
    /// A check cannot be decided, but none fails.
    Inconclusive,
    /// At least one check fails.
    Fail,
}

impl Check {
    /// Returns a check that passes if `holds` and fails otherwise.
    #[must_use]
    pub fn of(code: &str, holds: bool, found: Option<f64>, bound: f64, reason: String) -> Self {
        Self {
            code: code.to_owned(),
            grade: if holds {
                Judgement::Pass
            } else {
                Judgement::Fail
            },
            found,
            bound: Some(bound),
            reason,
        }
    }

    /// Returns a check that cannot be decided, for the given reason.
    #[must_use]
    pub fn inconclusive(code: &str, reason: String) -> Self {
        Self {
            code: code.to_owned(),
            grade: Judgement::Inconclusive,
            found: None,
            bound: None,
            reason,
        }
    }
}

impl Judgement {
    /// Returns the worst grade of `checks`; a pass if there are none.
    #[must_use]
    pub fn of(checks: &[Check]) -> Self {
        checks
            .iter()
            .map(|check| check.grade)
            .max()
            .unwrap_or_default()
    }

    /// Returns the exit code: 0 for a pass, 1 for a fail, 4 for an inconclusive result.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::Inconclusive => 4,
        }
    }

    /// Returns the judgement as a word in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}
