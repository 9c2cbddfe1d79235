//! Results of judging: what was checked, what was found, and what it means for the process.
//!
//! A decider keeps its own rules: bounds on a run's figures, intervals over repetitions, counts of comparisons.
//! Its results are [`Check`]s, and an answer is as good as the worst of them: [`Judgement::of`].
//!
//! - `answer`: answers of judging verbs, with their values, text and page
mod answer;

use serde::Serialize;

pub use answer::{Answer, PageAnswer, Written};

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

    /// Returns the check of a reason not to trust a run.
    #[must_use]
    pub fn not_clean(reason: String) -> Self {
        Self::inconclusive(CLEAN_RUN, reason)
    }

    /// True if this check is a reason not to trust a run.
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
    /// Returns the worst grade of `checks`; a pass without any.
    #[must_use]
    pub fn of(checks: &[Check]) -> Self {
        checks
            .iter()
            .map(|check| check.grade)
            .max()
            .unwrap_or_default()
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

/// Name of the checks that a run is clean.
const CLEAN_RUN: &str = "clean-run";
