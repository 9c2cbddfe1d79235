//! Results of judging: what was checked, what was found, and what it means for the process.
//!
//! A decider keeps its own rules: bounds on a run's figures, intervals over repetitions, counts of comparisons.
//! Its results are [`Check`]s, and an answer is as good as the worst of them: [`Judgement::of`].
//!
//! - `answer`: answers on runs, with their document, page and JSON
mod answer;

use serde::Serialize;

pub use answer::{Answer, Answered, Written};

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Name of the check: an option (`max-p99`), an assertion, a claim.
    pub code: String,
    /// Judgement of what was found.
    pub grade: Judgement,
    /// Value found; `None` if the value is not defined, or no number.
    pub found: Option<f64>,
    /// Bound of the value; `None` if the check has no single number as its bound.
    pub bound: Option<f64>,
    /// Sentence without its full stop: what was found, and why it has this grade.
    pub reason: String,
}

/// Judgement of a check or of all checks, from the best to the worst.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// Every check holds.
    #[default]
    Pass,
    /// A check cannot be decided, and none fails.
    Inconclusive,
    /// A check fails.
    Fail,
}

impl Check {
    /// Returns a check that holds or fails, with what was `found` and its `bound`.
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

    /// Returns a check that cannot be decided.
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
    /// Returns the worst grade of `checks`; a pass without any.
    #[must_use]
    pub fn of(checks: &[Check]) -> Self {
        checks
            .iter()
            .map(|check| check.grade)
            .max()
            .unwrap_or_default()
    }

    /// Returns the exit code: 0, 1 for a failed check, 4 if a check cannot be decided.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::Inconclusive => 4,
        }
    }

    /// Returns the word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}
