//! Formats the outcome of a suite as Markdown, for a comment or a job summary.

use std::fmt::Write;

use crate::{SuiteOutcome, Verdict};

/// Returns the outcome as a table that begins with the checks that do not pass.
#[must_use]
pub fn markdown(outcome: &SuiteOutcome) -> String {
    let mut text = format!("# {}: {}\n\n", outcome.suite, outcome.verdict().name());
    let mut rows: Vec<_> = outcome
        .cases
        .iter()
        .flat_map(|case| case.checks.iter().map(move |check| (case, check)))
        .collect();
    // The sort is stable: checks with the same verdict keep their order.
    rows.sort_by_key(|(_, check)| std::cmp::Reverse(check.verdict));
    let count = |verdict| {
        rows.iter()
            .filter(|(_, check)| check.verdict == verdict)
            .count()
    };
    let _ = writeln!(
        text,
        "{} checks: {} pass, {} fail, {} inconclusive.\n\n| verdict | case | check | found |\n|---|---|---|---|",
        rows.len(),
        count(Verdict::Pass),
        count(Verdict::Fail),
        count(Verdict::Inconclusive),
    );
    for (case, check) in rows {
        let _ = writeln!(
            text,
            "| {} | {} | `{}` | {} |",
            check.verdict.name(),
            escaped(&case.name),
            escaped(&check.name),
            escaped(&check.detail)
        );
    }
    text
}

/// Escapes a text so that it stays within its table cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CaseOutcome, Check};

    #[test]
    fn failures_come_first_and_cells_stay_cells() {
        let check = |name: &str, verdict| Check {
            name: name.to_owned(),
            verdict,
            detail: "1 | 2".to_owned(),
        };
        let outcome = SuiteOutcome {
            suite: "nightly".into(),
            cases: vec![CaseOutcome {
                name: "smoke".into(),
                run: None,
                checks: vec![check("a", Verdict::Pass), check("b", Verdict::Fail)],
                seconds: 0.0,
            }],
        };
        let text = markdown(&outcome);
        assert!(
            text.starts_with("# nightly: fail\n\n2 checks: 1 pass, 1 fail"),
            "{text}"
        );
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("smoke")).collect();
        assert_eq!(rows[0], "| fail | smoke | `b` | 1 \\| 2 |");
    }
}
