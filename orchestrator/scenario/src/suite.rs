//! Suites for `lcmp-lab regress`: lists of scenarios with assertions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    document::utf8,
    error::{Finding, ProblemKind, ScenarioErrors, SourceText},
    expect::Expectation,
    limits,
    resolve::{context::Context, expectations::read_all},
    yaml::{self, At, Locator, Maybe, Text},
};

/// Suite: a list of scenarios with assertions, which `lcmp-lab regress` runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suite {
    /// Name of the suite.
    pub name: String,
    /// Cases of the suite, in order.
    pub cases: Vec<Case>,
}

/// Scenario of a suite, with assertions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// Name of the case, unique within the suite.
    pub name: String,
    /// Path of the scenario as written, relative to the suite's file.
    pub scenario: String,
    /// Labels of the policies to run; empty for all policies of the scenario.
    pub policies: Vec<String>,
    /// Number of repetitions of the case; `None` for the number in the scenario.
    pub repetitions: Option<u32>,
    /// Assertions that are checked in addition to the scenario's own.
    pub expect: Vec<Expectation>,
    /// Line of the suite's file on which the case starts, from 1.
    pub line: usize,
}

/// A suite as it is written, with unparsed values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawSuite {
    name: Text<String>,
    cases: At<Vec<At<RawCase>>>,
}

/// A case of a suite as it is written, with unparsed values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawCase {
    name: Text<String>,
    scenario: Text<String>,
    #[serde(default)]
    policies: Maybe<At<Vec<Text<String>>>>,
    #[serde(default)]
    repetitions: Maybe<Text<u32>>,
    #[serde(default)]
    expect: Maybe<At<Vec<Text<Expectation>>>>,
}

/// Parses a suite; `source_name` is the name of the text in errors.
///
/// # Errors
/// Fails with the first syntax or type error or, if there is none, with all invalid values.
pub fn parse_suite(source_name: &str, text: &[u8]) -> Result<Suite, ScenarioErrors> {
    let text = utf8(source_name, text)?;
    let source = SourceText {
        name: source_name,
        text,
    };
    let raw: RawSuite = match yaml::read(text) {
        Ok(raw) => raw,
        Err(finding) => {
            let locate = |finding: &Finding<ProblemKind>| Locator::new(text).path(finding);
            let refused = ScenarioErrors::check(source, vec![finding], locate);
            return Err(refused.expect_err("a finding is a problem"));
        }
    };
    let mut context = Context::new(source);
    let mut cases: Vec<Case> = Vec::new();
    for raw in &raw.cases.value {
        let case = case(&mut context, raw);
        if cases.iter().any(|other| other.name == case.name) {
            let name = case.name.clone();
            context.problem(&raw.value.name.range(), ProblemKind::TwoCases { name });
        }
        cases.push(case);
    }
    context.finish(Suite {
        name: raw.name.as_str().to_owned(),
        cases,
    })
}

fn case(context: &mut Context<'_>, raw: &At<RawCase>) -> Case {
    let repetitions = raw.value.repetitions.as_ref();
    let policies = raw
        .value
        .policies
        .as_ref()
        .into_iter()
        .flat_map(|it| &it.value);
    Case {
        name: raw.value.name.as_str().to_owned(),
        scenario: raw.value.scenario.as_str().to_owned(),
        policies: policies.map(|label| label.as_str().to_owned()).collect(),
        repetitions: repetitions.and_then(|text| context.within(text, 1..=limits::MAX_REPETITIONS)),
        expect: raw.value.expect.as_ref().map_or_else(Vec::new, |list| {
            read_all(&list.value, |range, kind| context.problem(&range, kind))
        }),
        line: context.line(&raw.value.name.range()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_its_cases_in_order() {
        let text = "name: nightly\ncases:\n  - name: smoke\n    scenario: ../smoke.yaml\n  - name: lcmp\n    \
                    scenario: ../8dc.yaml\n    policies: [ecmp, lcmp]\n    repetitions: 5\n    expect:\n      - unfinished == 0\n";
        let suite = parse_suite("nightly.yaml", text.as_bytes()).unwrap();
        assert_eq!(suite.name, "nightly");
        let lines: Vec<_> = suite
            .cases
            .iter()
            .map(|case| (&*case.name, case.line))
            .collect();
        assert_eq!(lines, [("smoke", 3), ("lcmp", 5)]);
        assert_eq!(suite.cases[1].policies, ["ecmp", "lcmp"]);
        let repetitions = suite.cases.iter().map(|case| case.repetitions);
        assert_eq!(repetitions.collect::<Vec<_>>(), [None, Some(5)]);
        assert_eq!(suite.cases[1].expect[0].text, "unfinished == 0");
    }

    #[test]
    fn a_wrong_assertion_is_shown_with_its_line_and_column() {
        let text = "name: n\ncases:\n  - name: a\n    scenario: s.yaml\n    expect: [lcmp.p99 = 3]\n  - \
                    name: a\n    scenario: s.yaml\n    repetitions: 0\n";
        let errors = parse_suite("n.yaml", text.as_bytes()).unwrap_err();
        let places: Vec<_> = errors
            .problems()
            .iter()
            .map(|it| (it.location.line, it.location.column))
            .collect();
        assert_eq!(places, [(5, 23), (6, 11), (8, 18)], "{errors}");
        let path = errors.problems()[0].path.as_deref();
        assert_eq!(path, Some("cases[0].expect[0]"), "{errors}");
    }
}
