//! Outcomes of cases and suites.

use std::path::PathBuf;

use lab_reports::check::{Check, Judgement};
use serde::Serialize;

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseOutcome {
    /// Name of the case.
    pub name: String,
    /// Path of the run directory; `None` if the case could not be run.
    pub run: Option<PathBuf>,
    /// Maximum number of packets that the run simulated as one event; `None` if it simulated each packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trains: Option<u32>,
    /// Checks of the case, in the order of the suite.
    #[serde(skip)]
    pub checks: Vec<Check>,
    /// Wall-clock time of the case, seconds.
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

impl CaseOutcome {
    /// Returns the name and, if the run was in trains, their length.
    #[must_use]
    pub fn title(&self) -> String {
        let name = &self.name;
        self.trains.map_or_else(
            || name.clone(),
            |length| format!("{name} (trains of up to {length} packets)"),
        )
    }

    /// Returns the worst grade of the checks; a case without checks is inconclusive.
    #[must_use]
    pub fn verdict(&self) -> Judgement {
        let grades = self.checks.iter().map(|check| check.grade);
        grades.max().unwrap_or(Judgement::Inconclusive)
    }
}

impl SuiteOutcome {
    /// Returns the worst judgement among all [checks](Self::checks).
    #[must_use]
    pub fn verdict(&self) -> Judgement {
        Judgement::of(&self.checks())
    }

    /// Returns all checks, with the case's name before each check's code. A suite without cases, and a case without
    /// checks, counts as one inconclusive check.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        if self.cases.is_empty() {
            let reason = "the suite has no cases".to_owned();
            return vec![Check::inconclusive(&self.suite, reason)];
        }
        let of_case = |case: &CaseOutcome| {
            let named = |check: &Check| Check {
                code: format!("{}: {}", case.name, check.code),
                ..check.clone()
            };
            match case.checks.as_slice() {
                [] => vec![Check::inconclusive(
                    &case.name,
                    "the case has no checks".to_owned(),
                )],
                checks => checks.iter().map(named).collect(),
            }
        };
        self.cases.iter().flat_map(of_case).collect()
    }
}
