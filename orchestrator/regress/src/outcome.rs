//! Verdicts of checks, cases and suites.

use std::path::PathBuf;

use serde::Serialize;

/// Verdict on a check; the verdict on several checks is the worst.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The assertion or gate holds.
    Pass,
    /// The run does not permit a decision.
    Inconclusive,
    /// The assertion or gate does not hold.
    Fail,
}

/// Result of evaluating an assertion or a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Text of the assertion, or name of the gate, such as `lcmp.p99 against baseline`.
    pub name: String,
    pub verdict: Verdict,
    /// Values found, as a sentence without its full stop.
    pub detail: String,
}

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseOutcome {
    /// Name of the case.
    pub name: String,
    /// Run directory; `None` if the case could not be run.
    pub run: Option<PathBuf>,
    /// Checks of the case, in order.
    pub checks: Vec<Check>,
    /// Real time that the case took, in seconds.
    pub seconds: f64,
}

/// Outcome of a suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteOutcome {
    /// Name of the suite.
    pub suite: String,
    /// Outcomes of the suite's cases, in order.
    pub cases: Vec<CaseOutcome>,
}

impl Verdict {
    /// Returns the name of the verdict.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

impl CaseOutcome {
    /// Returns the worst verdict of all checks; a case without checks is inconclusive.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.checks.iter().map(|check| check.verdict);
        verdicts.max().unwrap_or(Verdict::Inconclusive)
    }
}

impl SuiteOutcome {
    /// Returns the worst verdict of all cases; a suite without cases is inconclusive.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.cases.iter().map(CaseOutcome::verdict);
        verdicts.max().unwrap_or(Verdict::Inconclusive)
    }
}
