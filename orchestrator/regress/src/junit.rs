//! Formats the outcome of a suite as JUnit XML, which Jenkins, GitLab and other systems display.
//!
//! A check becomes a test case, and a case of the suite becomes a test suite. JUnit has no status for inconclusive:
//! such a check is reported as skipped, with its reason, so that a system that counts only failures stays green.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use lab_reports::check::{Check, Judgement};

use crate::{CaseOutcome, SuiteOutcome};

/// Returns the outcome of a suite as JUnit XML.
///
/// # Errors
/// If the XML cannot be written.
pub fn junit(outcome: &SuiteOutcome) -> Result<String, SerializeError> {
    let mut report = Report::new(outcome.suite.as_str());
    report.add_test_suites(outcome.cases.iter().map(|case| suite(outcome, case)));
    report.to_string().map(|xml| without_skipped(&xml))
}

/// Removes the attribute `skipped` of `<testsuites>` from `xml`: Jenkins' schema permits it only on each `<testsuite>`.
fn without_skipped(xml: &str) -> String {
    let cut = || {
        let (before, rest) = xml.split_once("<testsuites ")?;
        let (tag, after) = rest.split_once('>')?;
        let (first, rest) = tag.split_once(" skipped=\"")?;
        let (_, last) = rest.split_once('"')?;
        Some(format!("{before}<testsuites {first}{last}>{after}"))
    };
    cut().unwrap_or_else(|| xml.to_owned())
}

fn suite(outcome: &SuiteOutcome, case: &CaseOutcome) -> TestSuite {
    let mut suite = TestSuite::new(case.name.as_str());
    suite.set_time(Duration::try_from_secs_f64(case.seconds).unwrap_or_default());
    if let Some(length) = case.trains {
        suite.add_property(("trains".to_owned(), length.to_string()));
    }
    let class = format!("{}.{}", outcome.suite, case.name);
    suite.add_test_cases(case.checks.iter().map(|check| test_case(&class, check)));
    suite
}

fn test_case(class: &str, check: &Check) -> TestCase {
    let status = match check.grade {
        Judgement::Pass => TestCaseStatus::success(),
        Judgement::Inconclusive => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("inconclusive: {}", check.reason));
            status
        }
        Judgement::Fail => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(check.reason.clone());
            status.set_type("assertion");
            status
        }
    };
    let mut case = TestCase::new(check.code.as_str(), status);
    case.set_classname(class);
    case
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use quick_xml::{Reader, events::Event};

    use super::*;

    fn outcome() -> SuiteOutcome {
        let check = |name: &str, verdict| Check {
            code: name.to_owned(),
            grade: verdict,
            found: None,
            bound: None,
            reason: "left < right & so on".to_owned(),
        };
        SuiteOutcome {
            suite: "nightly".into(),
            cases: vec![CaseOutcome {
                name: "smoke".into(),
                run: None,
                trains: None,
                checks: vec![
                    check("a <= b", Judgement::Pass),
                    check("c == 0", Judgement::Fail),
                    check("d > 1", Judgement::Inconclusive),
                ],
                seconds: 1.5,
            }],
        }
    }

    #[test]
    fn checks_are_test_cases_with_their_reasons() {
        let xml = junit(&outcome()).unwrap();
        for part in [
            r#"<testsuite name="smoke" tests="3" skipped="1" errors="0" failures="1" time="1.500">"#,
            r#"<testcase name="a &lt;= b" classname="nightly.smoke"/>"#,
            r#"<failure message="left &lt; right &amp; so on" type="assertion"/>"#,
            r#"<skipped message="inconclusive: left &lt; right &amp; so on"/>"#,
        ] {
            assert!(xml.contains(part), "{part}\n{xml}");
        }
    }

    /// Systems follow a test by its name, so the trains are not in it.
    #[test]
    fn trains_are_a_property() {
        let mut outcome = outcome();
        outcome.cases[0].trains = Some(305);
        let xml = junit(&outcome).unwrap();
        assert!(xml.contains(r#"<testsuite name="smoke" "#), "{xml}");
        assert!(
            xml.contains(r#"<property name="trains" value="305"/>"#),
            "{xml}"
        );
    }

    /// Elements of Jenkins' xUnit plugin schema (`junit-10.xsd`) that an outcome uses: the parent of each element,
    /// its required attributes and its optional attributes.
    const SCHEMA: [(&str, &str, &[&str], &[&str]); 7] = [
        (
            "testsuites",
            "",
            &[],
            &["name", "time", "tests", "failures", "errors"],
        ),
        (
            "testsuite",
            "testsuites",
            &["name", "tests", "failures", "errors"],
            &["time", "skipped", "timestamp", "hostname", "id", "package"],
        ),
        ("properties", "testsuite", &[], &[]),
        ("property", "properties", &["name", "value"], &[]),
        (
            "testcase",
            "testsuite",
            &["name"],
            &["time", "classname", "group"],
        ),
        ("failure", "testcase", &[], &["type", "message"]),
        ("skipped", "testcase", &[], &["type", "message"]),
    ];

    #[test]
    fn elements_and_attributes_are_those_of_jenkins_schema() {
        let mut outcome = outcome();
        outcome.cases[0].trains = Some(305);
        let xml = junit(&outcome).unwrap();
        let mut reader = Reader::from_str(&xml);
        let mut around = vec![String::new()];
        let mut found = BTreeMap::new();
        loop {
            let event = reader.read_event().unwrap();
            let (element, is_open) = match &event {
                Event::Start(element) => (element, true),
                Event::Empty(element) => (element, false),
                Event::End(_) => {
                    around.pop();
                    continue;
                }
                Event::Eof => break,
                _ => continue,
            };
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let name = text(element.name().as_ref());
            let (_, parent, required, optional) = SCHEMA
                .iter()
                .find(|rule| rule.0 == name)
                .unwrap_or_else(|| panic!("<{name}>"));
            assert_eq!(around.last().map(String::as_str), Some(*parent), "<{name}>");
            let attributes: Vec<String> = element
                .attributes()
                .map(|attribute| text(attribute.unwrap().key.as_ref()))
                .collect();
            let is_known = |it: &String| required.iter().chain(*optional).any(|known| known == it);
            assert!(attributes.iter().all(is_known), "<{name}> {attributes:?}");
            let has = |it: &&str| attributes.iter().any(|attribute| attribute == it);
            assert!(required.iter().all(has), "<{name}> {attributes:?}");
            *found.entry(name.clone()).or_insert(0) += 1;
            if is_open {
                around.push(name);
            }
        }
        assert_eq!(
            found.into_iter().map(|it| it.1).collect::<Vec<_>>(),
            [1, 1, 1, 1, 3, 1, 1]
        );
    }
}
