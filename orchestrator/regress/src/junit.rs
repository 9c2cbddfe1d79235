//! The outcome of a suite as JUnit XML, which Jenkins, GitLab and others show.
//!
//! A check is a test case, a case of the suite a test suite. JUnit has no word for inconclusive: such a
//! check is skipped, with the reason, so that a gate that only counts failures is not red.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::{CaseOutcome, Check, SuiteOutcome, Verdict};

/// Returns the outcome as XML.
///
/// # Errors
/// If the text cannot be written.
pub fn junit(outcome: &SuiteOutcome) -> Result<String, SerializeError> {
    let mut report = Report::new(outcome.suite.as_str());
    report.add_test_suites(outcome.cases.iter().map(|case| suite(outcome, case)));
    report.to_string()
}

fn suite(outcome: &SuiteOutcome, case: &CaseOutcome) -> TestSuite {
    let mut suite = TestSuite::new(case.name.as_str());
    suite.set_time(Duration::try_from_secs_f64(case.seconds).unwrap_or_default());
    let class = format!("{}.{}", outcome.suite, case.name);
    suite.add_test_cases(case.checks.iter().map(|check| test_case(&class, check)));
    suite
}

fn test_case(class: &str, check: &Check) -> TestCase {
    let status = match check.verdict {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::Inconclusive => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("inconclusive: {}", check.detail));
            status
        }
        Verdict::Fail => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(check.detail.clone());
            status.set_type("assertion");
            status
        }
    };
    let mut case = TestCase::new(check.name.as_str(), status);
    case.set_classname(class);
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_test_cases_with_their_reasons() {
        let check = |name: &str, verdict| Check {
            name: name.to_owned(),
            verdict,
            detail: "left < right & so on".to_owned(),
        };
        let outcome = SuiteOutcome {
            suite: "nightly".into(),
            cases: vec![CaseOutcome {
                name: "smoke".into(),
                run: None,
                checks: vec![
                    check("a <= b", Verdict::Pass),
                    check("c == 0", Verdict::Fail),
                    check("d > 1", Verdict::Inconclusive),
                ],
                seconds: 1.5,
            }],
        };
        let xml = junit(&outcome).unwrap();
        for part in [
            r#"<testsuite name="smoke" tests="3" skipped="1" errors="0" failures="1" time="1.500">"#,
            r#"<testcase name="a &lt;= b" classname="nightly.smoke"/>"#,
            r#"<failure message="left &lt; right &amp; so on" type="assertion"/>"#,
            r#"<skipped message="inconclusive: left &lt; right &amp; so on"/>"#,
        ] {
            assert!(xml.contains(part), "{part}\n{xml}");
        }
    }
}
