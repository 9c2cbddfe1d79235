//! Verdicts of checks, cases and suites.

use std::path::PathBuf;

use serde::Serialize;

/// Verdict on a check; of several, the worst counts.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// The run does not tell.
    Inconclusive,
    /// It does not hold.
    Fail,
}

/// A checked assertion or gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The assertion as written, or the gate: `lcmp.p99 against baseline`.
    pub name: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The values found, in a sentence without its full stop.
    pub detail: String,
}

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseOutcome {
    /// Name of the case.
    pub name: String,
    /// The run directory; none if the case could not be run.
    pub run: Option<PathBuf>,
    /// The checks, in order.
    pub checks: Vec<Check>,
    /// Real time that the case took, seconds.
    pub seconds: f64,
}

/// Outcome of a suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteOutcome {
    /// Name of the suite.
    pub suite: String,
    /// Its cases, in order.
    pub cases: Vec<CaseOutcome>,
}

impl Verdict {
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

impl CaseOutcome {
    /// Returns the worst verdict of the checks; a case without checks is inconclusive.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.checks.iter().map(|check| check.verdict);
        verdicts.max().unwrap_or(Verdict::Inconclusive)
    }
}

impl SuiteOutcome {
    /// Returns the worst verdict of the cases; a suite without cases is inconclusive.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.cases.iter().map(CaseOutcome::verdict);
        verdicts.max().unwrap_or(Verdict::Inconclusive)
    }
}
