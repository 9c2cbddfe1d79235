//! Formats the outcome of a suite as Markdown, for a comment or a job summary.

use lab_reports::{
    check::{Check, Judgement},
    document::{Cell, Column, Table},
};

use crate::{CaseOutcome, SuiteOutcome};

/// Returns the outcome of a suite as a Markdown table in which checks that do not pass come first.
#[must_use]
pub fn markdown(outcome: &SuiteOutcome) -> String {
    let mut rows: Vec<_> = outcome
        .cases
        .iter()
        .flat_map(|case| case.checks.iter().map(move |check| (case, check)))
        .collect();
    // A stable sort keeps the order of checks with the same verdict.
    rows.sort_by_key(|(_, check)| std::cmp::Reverse(check.grade));
    let count = |verdict| {
        rows.iter()
            .filter(|(_, check)| check.grade == verdict)
            .count()
    };
    let head = format!(
        "# {}: {}\n\n{} checks: {} pass, {} fail, {} inconclusive.",
        outcome.suite,
        outcome.verdict().name(),
        rows.len(),
        count(Judgement::Pass),
        count(Judgement::Fail),
        count(Judgement::Inconclusive),
    );
    let columns = ["verdict", "case", "check", "found"].map(Column::names);
    let row = |(case, check): (&CaseOutcome, &Check)| {
        [
            Cell::from(check.grade.name()),
            case.title().into(),
            format!("`{}`", check.code).into(),
            check.reason.as_str().into(),
        ]
    };
    let table = Table::new(columns).with(rows.into_iter().map(row));
    format!("{head}\n\n{}\n", table.markdown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_come_first_and_cells_stay_cells() {
        let check = |name: &str, verdict| Check {
            code: name.to_owned(),
            grade: verdict,
            found: None,
            bound: None,
            reason: "1 | 2".to_owned(),
        };
        let outcome = SuiteOutcome {
            suite: "nightly".into(),
            cases: vec![CaseOutcome {
                name: "smoke".into(),
                run: None,
                trains: Some(305),
                checks: vec![check("a", Judgement::Pass), check("b", Judgement::Fail)],
                seconds: 0.0,
            }],
        };
        let text = markdown(&outcome);
        assert!(
            text.starts_with("# nightly: fail\n\n2 checks: 1 pass, 1 fail"),
            "{text}"
        );
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("smoke")).collect();
        assert_eq!(
            rows[0],
            "| fail | smoke (trains of up to 305 packets) | `b` | 1 \\| 2 |"
        );
    }
}
