//! Suites for `lcmp-lab regress`: lists of scenarios and sweeps with assertions.

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

/// Suite: a list of scenarios and sweeps with assertions, which `lcmp-lab regress` runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suite {
    /// Name of the suite.
    pub name: String,
    /// Cases of the suite, in order.
    pub cases: Vec<Case>,
}

/// Scenario or sweep of a suite, with assertions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// Name of the case, unique within the suite.
    pub name: String,
    /// What the case runs.
    pub runs: CaseRuns,
    /// Assertions that are checked in addition to the scenario's own.
    pub expect: Vec<Expectation>,
    /// Line of the suite's file on which the case starts, from 1.
    pub line: usize,
}

/// What a case runs. Paths are as written, relative to the suite's file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum CaseRuns {
    /// A scenario.
    Scenario {
        path: String,
        /// Labels of the policies to run; empty for all policies of the scenario.
        policies: Vec<String>,
        /// Number of repetitions; `None` for the number in the scenario.
        repetitions: Option<u32>,
    },
    /// A sweep, whose assertions are checked at each point.
    Sweep { path: String },
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
    #[serde(default)]
    scenario: Maybe<Text<String>>,
    #[serde(default)]
    sweep: Maybe<Text<String>>,
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
    Case {
        name: raw.value.name.as_str().to_owned(),
        runs: runs(context, &raw.value),
        expect: raw.value.expect.as_ref().map_or_else(Vec::new, |list| {
            read_all(&list.value, |range, kind| context.problem(&range, kind))
        }),
        line: context.line(&raw.value.name.range()),
    }
}

fn runs(context: &mut Context<'_>, raw: &RawCase) -> CaseRuns {
    let repetitions = raw.repetitions.as_ref();
    let policies = raw.policies.as_ref();
    if let (Some(sweep), None) = (raw.sweep.as_ref(), raw.scenario.as_ref()) {
        let of_scenario = [
            (policies.map(|it| it.range.clone()), "policies"),
            (repetitions.map(Text::range), "repetitions"),
        ];
        for (range, key) in of_scenario {
            if let Some(range) = range {
                context.problem(&range, ProblemKind::KeyOfSweep { key });
            }
        }
        let path = sweep.as_str().to_owned();
        return CaseRuns::Sweep { path };
    }
    if raw.scenario.as_ref().is_none() || raw.sweep.as_ref().is_some() {
        context.problem(&raw.name.range(), ProblemKind::ScenarioOrSweep);
    }
    let labels = policies.into_iter().flat_map(|it| &it.value);
    CaseRuns::Scenario {
        path: raw.scenario.as_ref().map_or("", Text::as_str).to_owned(),
        policies: labels.map(|label| label.as_str().to_owned()).collect(),
        repetitions: repetitions.and_then(|text| context.within(text, 1..=limits::MAX_REPETITIONS)),
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
        let scenario = |path: &str, policies: &[&str], repetitions| CaseRuns::Scenario {
            path: path.to_owned(),
            policies: policies.iter().map(|&label| label.to_owned()).collect(),
            repetitions,
        };
        let runs: Vec<_> = suite.cases.iter().map(|case| case.runs.clone()).collect();
        let expected = [
            scenario("../smoke.yaml", &[], None),
            scenario("../8dc.yaml", &["ecmp", "lcmp"], Some(5)),
        ];
        assert_eq!(runs, expected);
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

    #[test]
    fn a_case_is_a_scenario_or_a_sweep() {
        let text = "name: n\ncases:\n  - name: a\n    sweep: grid.yaml\n";
        let suite = parse_suite("n.yaml", text.as_bytes()).unwrap();
        let path = "grid.yaml".to_owned();
        assert_eq!(suite.cases[0].runs, CaseRuns::Sweep { path });
        let places = |keys: &str| {
            let text = format!("name: n\ncases:\n  - name: a\n{keys}");
            let errors = parse_suite("n.yaml", text.as_bytes()).unwrap_err();
            let problems = errors.problems().iter();
            problems.map(|it| it.location.line).collect::<Vec<_>>()
        };
        assert_eq!(places("    expect: [unfinished == 0]\n"), [3]);
        assert_eq!(places("    scenario: s.yaml\n    sweep: g.yaml\n"), [3]);
        let keys = "    sweep: g.yaml\n    repetitions: 2\n    policies: [ecmp]\n";
        assert_eq!(places(keys), [5, 6]);
    }
}
