//! Suite with its scenarios and sweeps, and the runs of its baseline.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use lab_plan::Engine;
use lab_records::{RecordsError, RunDir, RunRequest, listing, request::Overrides};
use lab_regress::{Samples, gate::gauges_of};
use lab_reports::facts::RunFacts;
use lab_scenario::{Case, CaseRuns, Expectation, Scenario, limits, parse_suite};

use super::{
    case_run::{CaseRun, EndedRun},
    grid::CaseSweep,
};
use crate::{
    args::TrainsArg,
    batch::Wanted,
    caller,
    failure::{During, Failure},
    load,
};

/// Suite with the assertions of its scenarios.
pub struct LoadedSuite {
    /// Name of the suite.
    pub name: String,
    /// True if runs are simulated in trains.
    pub is_in_trains: bool,
    pub cases: Vec<LoadedCase>,
}

/// Case of a suite with facts from its scenario.
pub struct LoadedCase {
    pub name: String,
    /// What the case runs.
    pub runs: LoadedRuns,
    /// Assertions of the case, preceded by those of its scenario.
    pub expectations: Vec<Expectation>,
    /// Number of gauges of the case's runs.
    pub gauges: usize,
}

/// What a case runs.
pub enum LoadedRuns {
    /// A new run of a scenario. Ended runs are not reused, because a suite tests the program that runs it.
    Scenario(Box<Wanted>),
    Sweep(Box<CaseSweep>),
}

impl LoadedSuite {
    /// Reads a suite and the scenarios of its cases, and checks the names that assertions use.
    pub fn read(path: &Path, engine: Engine, trains: Option<TrainsArg>) -> Result<Self, Failure> {
        let path = load::locate(path);
        let text = load::read_text(&path, limits::MAX_SCENARIO_BYTES)?;
        let name = path.display().to_string();
        let suite =
            parse_suite(&name, text.as_bytes()).map_err(|errors| Failure::scenario(&errors))?;
        let base = path.parent().unwrap_or(Path::new(""));
        let case = |case: &Case| {
            let at = format!("{name}:{}", case.line);
            check_tag(&at, &suite.name, case)?;
            match &case.runs {
                CaseRuns::Scenario {
                    path,
                    policies,
                    repetitions,
                } => {
                    let overrides = Overrides {
                        repetitions: *repetitions,
                        policies: policies.clone(),
                        ..Overrides::default()
                    };
                    let request = RunRequest {
                        overrides,
                        ..RunRequest::new(base.join(path), engine)
                    };
                    LoadedCase::of_scenario(&at, case, request)
                }
                CaseRuns::Sweep { .. } if engine == Engine::Kernel => {
                    Err(Failure::usage(format_args!(
                        "{at}: the cells of a sweep are simulated (hint: leave out `--engine kernel`)"
                    )))
                }
                CaseRuns::Sweep { path } => {
                    // A slash in a name would make another folder, and two dots a folder above.
                    let [suite, case_name] = [("sweep", &suite.name), ("case", &case.name)]
                        .map(|(kind, name)| format!("{kind}-{}", name.replace('/', "%2F")));
                    let folder = Path::new(&suite).join(case_name);
                    LoadedCase::of_sweep(
                        &at,
                        case,
                        CaseSweep::read(base.join(path), folder, trains)?,
                    )
                }
            }
        };
        let cases: Result<_, Failure> = suite.cases.iter().map(case).collect();
        Ok(Self {
            cases: cases?,
            name: suite.name,
            is_in_trains: trains.is_some_and(|it| it != TrainsArg::PACKETS),
        })
    }

    /// Returns the wanted run of each case with a scenario.
    pub fn wanted(&self) -> Vec<&Wanted> {
        let wanted = self.cases.iter().filter_map(|case| match &case.runs {
            LoadedRuns::Scenario(wanted) => Some(&**wanted),
            LoadedRuns::Sweep(_) => None,
        });
        wanted.collect()
    }

    /// Returns the run of a case with a scenario, whose directory is tagged with the case.
    pub fn run_of(&self, case: &LoadedCase, answer: Result<PathBuf, Failure>) -> CaseRun {
        CaseRun {
            name: case.name.clone(),
            samples: answer.and_then(|dir| self.samples(case, dir)),
        }
    }

    fn samples(&self, case: &LoadedCase, dir: PathBuf) -> Result<(EndedRun, Samples), Failure> {
        let mut tags = listing::tags(&dir).during("read the tags")?;
        tags.insert(tag(&self.name, &case.name));
        listing::set_tags(&dir, &tags).during("write the tags")?;
        caller::hand_over(&dir);
        let run = RunFacts::open(&dir).during("read the run")?;
        let samples = Samples::read(&run).during("read the flows")?;
        let started = RunDir::open(&dir).map(|run| run.started_at().to_string());
        let at = started.unwrap_or_default();
        Ok((EndedRun { dir, at }, samples))
    }

    /// Returns each case's newest run in the baseline's directory `results`, or each point of its newest sweep.
    pub fn baselines(&self, results: &Path) -> Result<BTreeMap<String, Samples>, Failure> {
        let mut found = BTreeMap::new();
        for case in &self.cases {
            match &case.runs {
                LoadedRuns::Scenario(_) => {
                    let read = self.newest(case, results);
                    let newest = read.map_err(|error| Failure::records(&error))?;
                    found.extend(newest.map(|samples| (case.name.clone(), samples)));
                }
                LoadedRuns::Sweep(sweep) => found.extend(sweep.newest(&case.name, results)?),
            }
        }
        Ok(found)
    }

    /// Returns the case's newest run in `results`: one by trains if this suite is, or else by packets. A plan into which no
    /// train fits is simulated by packets in both.
    fn newest(&self, case: &LoadedCase, results: &Path) -> Result<Option<Samples>, RecordsError> {
        let tag = tag(&self.name, &case.name);
        let mut by_packets = None;
        for listed in listing::list(results)?.iter().rev() {
            // A run whose tags cannot be read might be the baseline, so it is an error.
            if !listing::tags(&listed.path)?.contains(&tag) {
                continue;
            }
            let run = RunFacts::open(&listed.path)?;
            if run.info().trains().is_some() == self.is_in_trains {
                return Samples::read(&run).map(Some);
            }
            if self.is_in_trains && by_packets.is_none() {
                by_packets = Some(run);
            }
        }
        by_packets.map(|run| Samples::read(&run)).transpose()
    }
}

impl LoadedCase {
    /// Reads the scenario of a case and checks the names that the case's assertions use.
    fn of_scenario(at: &str, case: &Case, request: RunRequest) -> Result<Self, Failure> {
        let scenario = load::load(&request.scenario)?.scenario;
        check_names(at, case, &scenario, &request.scenario.display().to_string())?;
        let policies = request.overrides.policies.clone();
        let wanted = Wanted::new_run(case.name.clone(), request);
        Ok(Self {
            name: case.name.clone(),
            runs: LoadedRuns::Scenario(Box::new(wanted)),
            expectations: expectations(case, &scenario, &policies),
            gauges: gauges_of(run_of(&scenario, &policies)),
        })
    }

    /// Checks the names that the assertions of a case with a sweep use, by the scenario of the first cell.
    fn of_sweep(at: &str, case: &Case, sweep: CaseSweep) -> Result<Self, Failure> {
        let (scenario, first) = sweep.first_scenario()?;
        check_names(at, case, &scenario, &first)?;
        let policies = sweep.policies();
        Ok(Self {
            name: case.name.clone(),
            expectations: expectations(case, &scenario, policies),
            gauges: sweep.points()? * gauges_of(run_of(&scenario, policies)),
            runs: LoadedRuns::Sweep(Box::new(sweep)),
        })
    }
}

/// Returns the number of policies that run if `asked` are wanted; none stands for all of the scenario.
fn run_of(scenario: &Scenario, asked: &[String]) -> usize {
    match asked.len() {
        0 => scenario.policies.len(),
        some => some,
    }
}

/// Returns the assertions of a scenario whose policies run, followed by those of the case.
fn expectations(case: &Case, scenario: &Scenario, policies: &[String]) -> Vec<Expectation> {
    let is_run = |expectation: &&Expectation| {
        let named = expectation.policies();
        policies.is_empty() || named.iter().all(|it| policies.iter().any(|run| run == it))
    };
    let of_scenario = scenario.expect.iter().filter(is_run);
    of_scenario.chain(&case.expect).cloned().collect()
}

/// Checks that the case's assertions name policies and datacenters of `scenario`, whose name in messages is `path`.
/// Fails with exit code 2.
fn check_names(at: &str, case: &Case, scenario: &Scenario, path: &str) -> Result<(), Failure> {
    let labels: Vec<&str> = scenario.policies.iter().map(|it| it.label()).collect();
    let dcs: Vec<&str> = scenario.topology.dcs.iter().map(|dc| &*dc.name).collect();
    for expectation in &case.expect {
        let policies = expectation
            .policies()
            .into_iter()
            .map(|it| (it, "policy", &labels));
        let names = expectation
            .dcs()
            .into_iter()
            .map(|it| (it, "datacenter", &dcs));
        for (name, what, known) in policies.chain(names) {
            if !known.contains(&name) {
                return Err(Failure::usage(format_args!(
                    "{at}: `{expectation}` names `{name}`, which is not a {what} of `{path}` (hint: there are {})",
                    known.join(", ")
                )));
            }
        }
    }
    Ok(())
}

/// Checks that the names of the suite and the case make a tag.
/// Fails with exit code 2.
fn check_tag(at: &str, suite: &str, case: &Case) -> Result<(), Failure> {
    let tag = tag(suite, &case.name);
    if listing::is_tag(&tag) {
        return Ok(());
    }
    Err(Failure::usage(format_args!(
        "{at}: the names `{suite}` and `{}` do not make a valid tag: `{tag}` (hint: letters, digits and dashes, at most \
         64 characters in all)",
        case.name
    )))
}

/// Returns the tag that marks runs of a case: names of the suite and the case.
fn tag(suite: &str, case: &str) -> String {
    format!("case:{suite}/{case}")
}
