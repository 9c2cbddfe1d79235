//! Results of judging: what was checked, what was found, and the exit code that follows.
//!
//! Each verb has its own rules, such as bounds on a run's figures, intervals over repetitions, or counts of
//! comparisons. All of them produce [`Check`]s, and the worst check decides: [`Judgement::of`].
//!
//! - `answer`: answers of judging verbs, with their values, text and page
mod answer;

use serde::Serialize;

pub use answer::{Answer, PageAnswer, Written};

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
    /// Sentence, without its full stop, that states what was found and why it is judged so.
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

    /// Returns an inconclusive check whose reason explains why a run cannot be trusted.
    #[must_use]
    pub fn not_clean(reason: String) -> Self {
        Self::inconclusive(CLEAN_RUN, reason)
    }

    /// Returns true if this check gives a reason to distrust a run.
    #[must_use]
    pub fn is_of_run(&self) -> bool {
        self.code == CLEAN_RUN
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
    /// Returns the worst judgement of `checks`; a pass if there are no checks.
    #[must_use]
    pub fn of(checks: &[Check]) -> Self {
        checks
            .iter()
            .map(|check| check.grade)
            .max()
            .unwrap_or_default()
    }

    /// Returns the judgement as a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

/// Code of the checks that give reasons to distrust a run.
const CLEAN_RUN: &str = "clean-run";
