//! `lcmp-lab regress`: runs a suite, checks its assertions, compares it with a baseline, and appends to its history.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use lab_plan::Engine;
use lab_records::{
    EngineInfo, HistoryRow, RecordsError, RunDir, RunInfo, RunRequest, draft, history, listing,
    request::Overrides,
};
use lab_regress::{
    CaseOutcome, Gauge, Samples, SuiteOutcome, expect,
    gate::{gate, gauges, gauges_of},
    junit::junit,
    markdown::markdown,
    trend,
};
use lab_reports::{
    check::{Answer, Check},
    facts::RunFacts,
};
use lab_scenario::{Case, Expectation, Suite, limits, parse_suite};
use lab_units::show;
use serde::Serialize;

use super::conclude::conclude;
use crate::{
    args::{Global, RegressArgs, TrainsArg},
    batch::{FoundRuns, Here, RunBatch, Wanted},
    caller,
    failure::{During, Failure, Outcome},
    load,
    terminal::note,
};

/// Outcome of a suite, and level changes (change points) in the history of its measurements.
#[derive(Serialize)]
struct Regressed {
    #[serde(flatten)]
    outcome: SuiteOutcome,
    /// Level changes (change points) in the suite's history, one sentence each.
    changes: Vec<String>,
}

/// Suite with the assertions of its scenarios.
struct Loaded {
    suite: Suite,
    engine: Engine,
    /// True if runs are simulated in trains.
    is_in_trains: bool,
    /// Cases of the suite, each with its scenario's assertions and policies.
    cases: Vec<LoadedCase>,
}

/// Case of a suite with facts from its scenario.
struct LoadedCase {
    scenario: PathBuf,
    /// Assertions of the case, followed by those of its scenario.
    expectations: Vec<Expectation>,
    /// Number of policies under which the case's flows run.
    policies: usize,
}

/// Runs `lcmp-lab regress`.
pub fn regress(arguments: &RegressArgs, global: &Global) -> Outcome {
    let engine = arguments.engine.into();
    if arguments.trains.is_some() && engine == Engine::Kernel {
        return Err(Failure::usage(
            "`--trains` is an option of simulations (hint: leave out `--engine kernel`)",
        ));
    }
    let suite = Loaded::read(&arguments.suite, engine, arguments.trains)?;
    let gauges = suite
        .cases
        .iter()
        .map(|case| gauges_of(case.policies))
        .sum();
    let dir = match &arguments.history {
        Some(dir) => dir.clone(),
        None => {
            let kind = match arguments.trains {
                _ if !suite.is_in_trains => String::new(),
                Some(TrainsArg::Length(length)) => format!("-trains-{length}"),
                _ => "-trains".to_owned(),
            };
            let folder = format!("history-{}{kind}", suite.suite.name);
            global.results.join(folder)
        }
    };
    caller::check_links(&dir).during(format_args!("use `{}`", dir.display()))?;
    // A damaged history is refused now, not after hours of runs whose values could not be appended.
    history::read(&dir).map_err(|error| Failure::records(&error))?;
    let mut outcome = SuiteOutcome {
        suite: suite.suite.name.clone(),
        cases: Vec::new(),
    };
    let mut rows = Vec::new();
    // Baselines are read before the runs, because a new run in the same directory would be the newest of its case.
    let baselines = suite.baselines(arguments.baseline.as_deref())?;
    let wanted = suite.wanted();
    let here = Here {
        global,
        threads: None,
        trains: arguments.trains,
    };
    let mut batch = RunBatch::new(here, FoundRuns::default(), "the suite was interrupted");
    let cases = suite.suite.cases.iter().zip(&suite.cases).zip(baselines);
    let mut since = Instant::now();
    for (((case, loaded), baseline), answer) in cases.zip(batch.answers(&wanted)) {
        let (run, checks) = match answer.and_then(|run| suite.samples(case, run)) {
            Ok((run, samples)) => {
                rows.extend(suite.history(case, &run, &samples));
                let mut checks = clean(&samples);
                let expectations = loaded.expectations.iter();
                checks.extend(expectations.map(|it| expect::check(it, &samples)));
                if let Some(baseline) = baseline {
                    checks.extend(against(baseline, gauges, &samples));
                }
                (Some(run), checks)
            }
            Err(failure) => (None, vec![not_run(&failure)]),
        };
        let case = CaseOutcome {
            name: case.name.clone(),
            run,
            checks,
            seconds: since.elapsed().as_secs_f64(),
        };
        since = Instant::now();
        note(&format!("{:>10}  {}", case.name, case.verdict().name()));
        outcome.cases.push(case);
    }
    let (changes, page) = keep_history(&dir, &suite.suite.name, &rows)?;
    write_outcome(arguments, &outcome)?;
    conclude(&Regressed { outcome, changes }, Some(&page), global.json)
}

impl Answer for Regressed {
    const PAGE: &'static str = "history";
    const STATES_CHECKS: bool = true;

    fn values(&self) -> impl Serialize {
        self
    }

    fn checks(&self) -> Vec<Check> {
        self.outcome.checks()
    }

    fn text(&self) -> String {
        let Self { outcome, changes } = self;
        let mut text = String::new();
        for case in &outcome.cases {
            text += &format!("{}: {}\n", case.name, case.verdict().name());
            for check in &case.checks {
                let head = format!("  {:<12}  {}: ", check.grade.name(), check.code);
                text += &show::paragraph(&head, &check.reason);
            }
        }
        for change in changes {
            text += &show::paragraph("change of level: ", change);
        }
        format!("{text}{}: {}", outcome.suite, outcome.verdict().name())
    }
}

impl Loaded {
    /// Reads a suite and the scenarios of its cases, and checks the names that assertions use.
    fn read(path: &Path, engine: Engine, trains: Option<TrainsArg>) -> Result<Self, Failure> {
        let path = load::locate(path);
        let text = load::read_text(&path, limits::MAX_SCENARIO_BYTES)?;
        let name = path.display().to_string();
        let suite =
            parse_suite(&name, text.as_bytes()).map_err(|errors| Failure::scenario(&errors))?;
        let base = path.parent().unwrap_or(Path::new(""));
        let mut cases = Vec::new();
        for case in &suite.cases {
            let scenario = base.join(&case.scenario);
            let at = format!("{name}:{}", case.line);
            cases.push(LoadedCase::read(&at, &suite, case, scenario)?);
        }
        Ok(Self {
            suite,
            engine,
            is_in_trains: trains.is_some_and(|it| it != TrainsArg::PACKETS),
            cases,
        })
    }

    /// Returns the run to perform for each case. Ended runs are not reused, because a suite tests the program that runs
    /// it.
    fn wanted(&self) -> Vec<Wanted> {
        let cases = self.suite.cases.iter().zip(&self.cases);
        let wanted = cases.map(|(case, loaded)| {
            let request = RunRequest {
                overrides: Overrides {
                    repetitions: case.repetitions,
                    policies: case.policies.clone(),
                    ..Overrides::default()
                },
                ..RunRequest::new(loaded.scenario.clone(), self.engine)
            };
            Wanted::new_run(case.name.clone(), request)
        });
        wanted.collect()
    }

    /// Tags the run in `dir` with the case, and returns the directory with the run's flows.
    fn samples(&self, case: &Case, dir: PathBuf) -> Result<(PathBuf, Samples), Failure> {
        let mut tags = listing::tags(&dir).during("read the tags")?;
        tags.insert(tag(&self.suite, case));
        listing::set_tags(&dir, &tags).during("write the tags")?;
        caller::hand_over(&dir);
        let run = RunFacts::open(&dir).during("read the run")?;
        let samples = Samples::read(&run).during("read the flows")?;
        Ok((dir, samples))
    }

    /// Returns the newest run of each case in the baseline's directory `results`: `None` without a baseline,
    /// `Some(None)` if the baseline has no run of the case.
    fn baselines(&self, results: Option<&Path>) -> Result<Vec<Option<Option<Samples>>>, Failure> {
        let baseline = |case| results.map(|dir| self.newest(case, dir)).transpose();
        let baselines: Result<_, _> = self.suite.cases.iter().map(baseline).collect();
        baselines.map_err(|error| Failure::records(&error))
    }

    fn newest(&self, case: &Case, results: &Path) -> Result<Option<Samples>, RecordsError> {
        let tag = tag(&self.suite, case);
        for listed in listing::list(results)?.iter().rev() {
            // A run whose tags cannot be read might be the baseline, so it is an error.
            if listing::tags(&listed.path)?.contains(&tag) {
                let run = RunFacts::open(&listed.path)?;
                if trains(run.info()).is_some() == self.is_in_trains {
                    return Samples::read(&run).map(Some);
                }
            }
        }
        Ok(None)
    }

    fn history(&self, case: &Case, run: &Path, samples: &Samples) -> Vec<HistoryRow> {
        let name = run.file_name().unwrap_or_default().to_string_lossy();
        let at = RunDir::open(run).map(|run| run.started_at().to_string());
        let row = |(gauge, value): (Gauge, f64)| HistoryRow {
            suite: self.suite.name.clone(),
            case: case.name.clone(),
            gauge: gauge.0,
            at: at.as_deref().unwrap_or_default().to_owned(),
            commit: samples.info.provenance.tool_commit.clone(),
            value: value.exp(),
            run: name.clone().into_owned(),
        };
        gauges(samples).into_iter().map(row).collect()
    }
}

impl LoadedCase {
    /// Reads the scenario of a case and checks the names that the case's assertions use.
    fn read(at: &str, suite: &Suite, case: &Case, path: PathBuf) -> Result<Self, Failure> {
        let tag = tag(suite, case);
        if !listing::is_tag(&tag) {
            return Err(Failure::usage(format_args!(
                "{at}: the names `{}` and `{}` do not make a valid tag: `{tag}` (hint: letters, digits and dashes, at \
             most 64 characters in all)",
                suite.name, case.name
            )));
        }
        let loaded = load::load(&path)?;
        let scenario = &loaded.scenario;
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
                        "{at}: `{expectation}` names `{name}`, which is not a {what} of `{}` (hint: there \
                     are {})",
                        path.display(),
                        known.join(", ")
                    )));
                }
            }
        }
        let is_run = |expectation: &&Expectation| {
            let policies = expectation.policies();
            case.policies.is_empty()
                || policies
                    .iter()
                    .all(|it| case.policies.iter().any(|run| run == it))
        };
        let of_scenario = scenario.expect.iter().filter(is_run);
        Ok(Self {
            expectations: of_scenario.chain(&case.expect).cloned().collect(),
            policies: match case.policies.len() {
                0 => labels.len(),
                some => some,
            },
            scenario: path,
        })
    }
}

/// Returns the tag that marks runs of a case: names of the suite and the case.
fn tag(suite: &Suite, case: &Case) -> String {
    format!("case:{}/{}", suite.name, case.name)
}

/// Returns the checks of a run against its baseline run; if the baseline cannot be compared, one inconclusive check
/// with the reason.
fn against(baseline: Option<Samples>, gauges: usize, samples: &Samples) -> Vec<Check> {
    let no_baseline =
        |detail: &str| vec![Check::inconclusive("against baseline", detail.to_owned())];
    match baseline {
        None => no_baseline("the baseline has no run of this case"),
        Some(base) if !base.doubts.is_empty() => no_baseline(&format!(
            "the baseline run cannot be trusted: {}",
            base.doubts.join("; ")
        )),
        Some(base) if base.info.scenario_hash != samples.info.scenario_hash => {
            no_baseline("the baseline run has a different version of the scenario")
        }
        Some(base) if base.info.seed != samples.info.seed => {
            no_baseline("the baseline run has a different seed")
        }
        Some(base) if base.info.repetitions != samples.info.repetitions => {
            no_baseline("the baseline run has a different number of repetitions")
        }
        Some(base) if trains(&base.info) != trains(&samples.info) => {
            no_baseline("the baseline run has trains of another length")
        }
        Some(base) => gate(gauges, &base, samples),
    }
}

/// Returns the maximum length of the trains of a run; `None` without trains.
const fn trains(info: &RunInfo) -> Option<u32> {
    match &info.engine {
        EngineInfo::Sim(sim) => sim.trains,
        EngineInfo::Kernel => None,
    }
}

/// Returns an inconclusive check for each reason to distrust a run.
fn clean(samples: &Samples) -> Vec<Check> {
    samples
        .doubts
        .iter()
        .cloned()
        .map(Check::not_clean)
        .collect()
}

fn not_run(failure: &Failure) -> Check {
    Check::inconclusive("run", failure.message.clone())
}

/// Appends `rows` to the history in `dir` and writes the history's page; returns the level changes and the path of the
/// page.
fn keep_history(
    dir: &Path,
    suite: &str,
    rows: &[HistoryRow],
) -> Result<(Vec<String>, PathBuf), Failure> {
    let action = format!("update the history in `{}`", dir.display());
    history::append(dir, rows).during(&action)?;
    let rows = history::read(dir).during(&action)?;
    let series = trend::series(suite, &rows);
    let page = dir.join("trend.html");
    let text = trend::page(suite, &series, env!("CARGO_PKG_VERSION"));
    draft::replace(&page, text.as_bytes()).during(&action)?;
    caller::hand_over(dir);
    let changes = series.iter().flat_map(trend::GaugeSeries::sentences);
    Ok((changes.collect(), page))
}

fn write_outcome(arguments: &RegressArgs, outcome: &SuiteOutcome) -> Result<(), Failure> {
    let write = |file: &Path, text: String| {
        caller::write(file, text.as_bytes()).during(format_args!("write `{}`", file.display()))
    };
    if let Some(file) = &arguments.junit {
        write(file, junit(outcome).during("write JUnit")?)?;
    }
    if let Some(file) = &arguments.markdown {
        write(file, markdown(outcome))?;
    }
    Ok(())
}
