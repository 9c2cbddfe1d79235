//! Comparison of runs with a stated difference, such as a seed, parameter, build or network, by policy and flow size.
//!
//! - `differences`: aspects in which the plans of runs differ
//! - `schedule`: check that two runs schedule the same flows
//! - `policy`: comparison of one policy in two runs
//! - `answer`, `document`, `figures`: presentation of the comparison
mod answer;
mod differences;
mod document;
mod error;
mod figures;
mod policy;
mod schedule;

use std::path::PathBuf;

use serde::Serialize;

pub use self::{
    differences::{Aspect, Difference, ParseAspectError},
    error::CompareError,
    policy::{BinChange, PolicyComparison},
};
use crate::{
    check::Check,
    error::ReportError,
    facts::{RunFacts, RunOrigin},
    fidelity::flows::Flows,
    frames::Unfinished,
    stats::Intervals,
    text,
};

/// Comparison of one or more runs with the first one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the scenario in the first run.
    pub scenario: String,
    /// Origins of the runs; all others are compared with the first.
    pub runs: Vec<RunOrigin>,
    /// Aspects in which the plans of the runs differ.
    pub differences: Vec<Difference>,
    /// Comparisons of the other runs with the first run.
    pub against: Vec<Against>,
    #[serde(skip)]
    checks: Vec<Check>,
}

/// Comparison of one run with the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// Name of the run in texts, such as `B`.
    pub run: String,
    /// True if the runs schedule the same flows, so that each flow's slowdowns in both runs are compared.
    pub is_paired: bool,
    /// True if one run is from the kernel engine and the other from the simulator. A change is then a difference
    /// between engines and does not make a policy better or worse.
    pub is_of_two_engines: bool,
    /// Names of the runs that are not valid; if there are any, no changes are computed.
    pub not_valid: Vec<String>,
    /// Method of computing the intervals of changes.
    pub intervals: Intervals,
    /// Comparisons of the policies that both runs have, in the first run's order.
    pub policies: Vec<PolicyComparison>,
    /// Labels of the policies that only one of the runs has.
    pub in_one_run: Vec<String>,
}

/// Compares each run directory in `runs` with the first; their plans may differ in the aspects `meant`.
///
/// # Errors
/// If a run cannot be read, if plans differ in other aspects, or if two runs have no policy in common.
pub fn compare(runs: &[PathBuf], meant: &[Aspect]) -> Result<Comparison, CompareError> {
    let open = |path: &PathBuf| RunFacts::open(path).map_err(ReportError::from);
    let runs: Vec<RunFacts> = runs.iter().map(open).collect::<Result<_, _>>()?;
    let [first, others @ ..] = runs.as_slice() else {
        return Err(CompareError::OneRun);
    };
    if others.is_empty() {
        return Err(CompareError::OneRun);
    }
    let differences = differences::differences(&runs);
    let not_meant: Vec<Difference> = differences
        .iter()
        .filter(|it| !meant.contains(&it.aspect))
        .cloned()
        .collect();
    if !not_meant.is_empty() {
        return Err(CompareError::OtherPlan {
            differences: not_meant,
            two_engines: differences::are_of_two_engines(&runs),
        });
    }
    let mut described: Vec<RunOrigin> = Vec::new();
    let mut against = Vec::new();
    for (index, other) in (1..).zip(others) {
        let flows = read(first, other)?;
        if described.is_empty() {
            described.push(RunOrigin::of(first, &name(0)));
        }
        described.push(RunOrigin::of(other, &name(index)));
        let origins = [&described[0], &described[index]];
        against.push(Against::of([first, other], origins, &flows));
    }
    Ok(Comparison {
        scenario: first.info().scenario.clone(),
        checks: described.iter().flat_map(RunOrigin::checks).collect(),
        runs: described,
        differences,
        against,
    })
}

/// Reads the flows of both runs, under the policies that both have.
fn read(first: &RunFacts, other: &RunFacts) -> Result<Flows, CompareError> {
    let [base, others] = [first, other].map(|run| &run.info().policies);
    let shared: Vec<String> = base
        .iter()
        .filter(|policy| others.contains(policy))
        .cloned()
        .collect();
    if shared.is_empty() {
        return Err(CompareError::NoPolicy {
            first: base.join(", "),
            directory: other.path().display().to_string(),
            other: others.join(", "),
        });
    }
    Ok(Flows::read([first, other], shared)?)
}

impl Against {
    fn of(runs: [&RunFacts; 2], origins: [&RunOrigin; 2], flows: &Flows) -> Self {
        let infos = runs.map(|run| run.info());
        let unfinished = runs.map(|run| Unfinished::of(run));
        let measured = infos.map(|info| info.measured.as_ref().map(|it| &it.ids));
        let is_paired = measured[0] == measured[1] && schedule::is_same(runs.map(|run| &**run));
        let not_valid: Vec<String> = origins
            .into_iter()
            .filter(|it| !it.is_clean())
            .map(|it| it.name.clone())
            .collect();
        let compared = (0..flows.policies.len())
            .map(|at| policy::compare(flows, at, &unfinished, not_valid.is_empty(), is_paired))
            .collect();
        let alone = infos
            .into_iter()
            .flat_map(|info| &info.policies)
            .filter(|policy| !flows.policies.contains(policy));
        Self {
            run: origins[1].name.clone(),
            is_paired,
            is_of_two_engines: differences::are_of_two_engines(runs),
            intervals: Intervals::between(infos.map(|info| info.repetitions), is_paired)
                .over_same_flows(infos.iter().any(|info| info.has_same_flows)),
            policies: compared,
            in_one_run: alone.cloned().collect(),
            not_valid,
        }
    }

    /// Returns the notes that explain the comparison.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.not_valid.is_empty() {
            notes.push(format!(
                "Not valid: {}. No change is computed; the reports of these runs state the reasons.",
                self.not_valid.join(", ")
            ));
        }
        if self.is_of_two_engines {
            notes.push(TWO_ENGINES.to_owned());
        }
        let flows = if self.is_paired {
            "Both runs measure the same flows."
        } else {
            "The runs measure different flows, so no flow is compared with itself."
        };
        notes.push(format!("{flows} {}", self.intervals.note()));
        let policies = self.policies.iter();
        let shown = || {
            policies
                .clone()
                .flat_map(|it| [it.base, it.other])
                .flatten()
        };
        if shown().any(|it| it.at_least) {
            notes.push(text::AT_LEAST.to_owned());
        }
        if shown().any(|it| it.p50.is_none() || it.p99.is_none()) {
            notes.push(text::too_few());
        }
        notes
    }
}

/// Returns the name in texts of the run at `index`: `A` to `Z`, then numbers.
fn name(index: usize) -> String {
    match u8::try_from(index) {
        Ok(index) if index < 26 => char::from(b'A' + index).to_string(),
        _ => (index + 1).to_string(),
    }
}

/// Note on a comparison of runs from both engines.
const TWO_ENGINES: &str = "One run is from the kernel engine and the other from the simulator, and all values are at the paper's \
                           scale: a change is a difference between the engines, not between policies. `lcmp-lab \
                           fidelity KERNEL SIM` shows how far the engines agree, flow by flow.";

#[cfg(test)]
mod tests {
    use lab_records::{
        EngineInfo, ParameterValue, PolicySettings, Provenance, RunInfo, ScaleInfo, Semantics,
        SimInfo,
    };
    use lab_units::Ratio;

    use super::*;
    use crate::testing::{self, TestRun};

    /// Returns a run of LCMP, given its `sample_interval` at the paper's scale and as emulated in the lab.
    fn run(engine: EngineInfo, [paper, emulated]: [&str; 2]) -> TestRun {
        let interval = ParameterValue {
            parameter: "sample_interval".to_owned(),
            value: paper.to_owned(),
            emulated: (paper != emulated).then(|| emulated.to_owned()),
        };
        let lcmp = PolicySettings {
            policy: "a".to_owned(),
            parameters: serde_json::json!({ "lcmp": { "sample_interval": emulated } }),
            values: vec![interval],
            departures: Vec::new(),
        };
        let time = if paper == emulated { 1 } else { 10 };
        let info = RunInfo {
            engine,
            scale: ScaleInfo {
                time: Ratio::new(time, 1).unwrap(),
                ..testing::info().scale
            },
            provenance: Provenance {
                policies: vec![lcmp],
                ..Provenance::default()
            },
            ..testing::info()
        };
        testing::run(&info, |writer| {
            writer.append_flows([&testing::flow("a", 0, Some(2.0))])
        })
    }

    fn simulator() -> EngineInfo {
        EngineInfo::Sim(SimInfo {
            semantics: Semantics::Paper,
            cc: vec!["none".to_owned(); 2],
            threads: 1,
            trains: None,
        })
    }

    fn paths(runs: [&TestRun; 2]) -> [PathBuf; 2] {
        runs.map(|run| run.dir.path().to_owned())
    }

    /// The interval in the lab is ten times the scenario's. At the paper's scale, the parameters are equal, and scales
    /// are not compared, so the engine is the only difference.
    #[test]
    fn two_engines_are_compared_in_the_papers_units() {
        let kernel = run(EngineInfo::Kernel, ["1 ms", "10 ms"]);
        let sim = run(simulator(), ["1 ms", "1 ms"]);
        let runs = paths([&kernel, &sim]);
        let error = compare(&runs, &[]).unwrap_err().to_string();
        assert_eq!(
            error,
            "the plans of the runs differ:\n  engine: kernel | sim, semantics paper, none (hint: \
             `lcmp-lab fidelity KERNEL SIM` shows how far two engines agree, flow by flow; `--differs engine` if \
             the difference is intended)"
        );
        let compared = compare(&runs, &[Aspect::Engine]).unwrap();
        assert!(compared.against[0].is_of_two_engines);
        let notes = compared.against[0].notes().join(" ");
        assert!(
            notes.contains("a difference between the engines, not between policies"),
            "{notes}"
        );

        let other = run(simulator(), ["2 ms", "2 ms"]);
        let error = compare(&paths([&kernel, &other]), &[Aspect::Engine]).unwrap_err();
        let policies = "policies: a (sample_interval 1 ms) | a (sample_interval 2 ms)";
        assert!(error.to_string().contains(policies), "{error}");
    }

    #[test]
    fn runs_of_one_engine_differ_in_their_scale() {
        let [scaled, plain] = [["1 ms", "10 ms"], ["1 ms", "1 ms"]].map(|it| run(simulator(), it));
        let error = compare(&paths([&scaled, &plain]), &[]).unwrap_err();
        let CompareError::OtherPlan {
            differences,
            two_engines,
        } = error
        else {
            panic!("{error}");
        };
        let aspects: Vec<Aspect> = differences.iter().map(|it| it.aspect).collect();
        assert_eq!((aspects, two_engines), (vec![Aspect::Scale], false));
    }
}
