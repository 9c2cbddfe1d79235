//! `lcmp-lab regress`: runs a suite, checks its assertions, compares it with a baseline, and appends to its history.
//!
//! - `case_run`: a run of a case, or a point of its sweep
//! - `suite`: the suite with its scenarios and sweeps, and the runs of its baseline
//! - `grid`: the sweep of a case, each point of which is judged by itself

mod case_run;
mod grid;
mod suite;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use lab_plan::Engine;
use lab_records::{HistoryRow, draft, history};
use lab_regress::{
    CaseOutcome, Gauge, Samples, SuiteOutcome, expect,
    gate::{gate, gauges},
    junit::junit,
    markdown::markdown,
    trend,
};
use lab_reports::check::{Answer, Check};
use lab_units::show;
use serde::Serialize;

use self::{
    case_run::{CaseRun, EndedRun, INTERRUPTED},
    suite::{LoadedCase, LoadedRuns, LoadedSuite},
};
use super::{conclude::conclude, sim::train_length};
use crate::{
    args::{Global, RegressArgs, TrainsArg},
    batch::{FoundRuns, Here, RunBatch},
    caller,
    failure::{During, Failure, Outcome},
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

/// Runs `lcmp-lab regress`.
pub fn regress(arguments: &RegressArgs, global: &Global) -> Outcome {
    let engine: Engine = arguments.engine.into();
    train_length::check_engine(arguments.trains, engine)?;
    let suite = LoadedSuite::read(&arguments.suite, engine, arguments.trains)?;
    let gauges = suite.cases.iter().map(|case| case.gauges).sum();
    let dir = match &arguments.history {
        Some(dir) => dir.clone(),
        None => {
            let kind = match arguments.trains {
                _ if !suite.is_in_trains => String::new(),
                Some(TrainsArg::Length(length)) => format!("-trains-{length}"),
                _ => "-trains".to_owned(),
            };
            let folder = format!("history-{}{kind}", suite.name);
            global.results.join(folder)
        }
    };
    caller::check_links(&dir).during(format_args!("use `{}`", dir.display()))?;
    // A damaged history is refused now, not after hours of runs whose values could not be appended.
    history::read(&dir).map_err(|error| Failure::records(&error))?;
    let mut outcome = SuiteOutcome {
        suite: suite.name.clone(),
        cases: Vec::new(),
    };
    let mut rows = Vec::new();
    // Baselines are read before the runs, because a new run in the same directory would be the newest of its case.
    let baselines = arguments.baseline.as_deref();
    let baselines = baselines.map(|dir| suite.baselines(dir)).transpose()?;
    let wanted = suite.wanted();
    let here = Here {
        global,
        threads: None,
        trains: arguments.trains,
    };
    let mut batch = RunBatch::new(here, FoundRuns::default(), INTERRUPTED);
    let mut answers = batch.answers(&wanted);
    let mut since = Instant::now();
    for case in &suite.cases {
        let runs: Box<dyn Iterator<Item = CaseRun>> = match &case.runs {
            LoadedRuns::Scenario(_) => {
                let answer = answers.next().expect("each scenario has an answer");
                Box::new([suite.run_of(case, answer)].into_iter())
            }
            LoadedRuns::Sweep(sweep) => sweep.runs(&case.name, &global.results),
        };
        for CaseRun { name, samples } in runs {
            let (run, trains, checks) = match samples {
                Ok((run, samples)) => {
                    rows.extend(history_rows(&suite.name, &name, &run, &samples));
                    let of_case = baselines.as_ref().map(|it| it.get(&name));
                    let checks = checks(case, of_case, gauges, &samples);
                    (Some(run.dir), samples.info.trains(), checks)
                }
                Err(failure) => (None, None, vec![not_run(&failure)]),
            };
            let case = CaseOutcome {
                name,
                run,
                trains,
                checks,
                seconds: since.elapsed().as_secs_f64(),
            };
            since = Instant::now();
            note(&format!("{:>10}  {}", case.name, case.verdict().name()));
            outcome.cases.push(case);
        }
    }
    let (changes, page) = keep_history(&dir, &suite.name, &rows)?;
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
            text += &format!("{}: {}\n", case.title(), case.verdict().name());
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

/// Returns the checks of a run: its assertions and, if `baseline` is known, those against the baseline's run of the case.
fn checks(
    case: &LoadedCase,
    baseline: Option<Option<&Samples>>,
    gauges: usize,
    samples: &Samples,
) -> Vec<Check> {
    let mut checks = clean(samples);
    let expectations = case.expectations.iter();
    checks.extend(expectations.map(|it| expect::check(it, samples)));
    if let Some(baseline) = baseline {
        checks.extend(against(baseline, gauges, samples));
    }
    checks
}

/// Returns the rows that a run adds to the suite's history.
fn history_rows<'a>(
    suite: &'a str,
    case: &'a str,
    run: &'a EndedRun,
    samples: &'a Samples,
) -> impl Iterator<Item = HistoryRow> + 'a {
    let name = run.dir.file_name().unwrap_or_default().to_string_lossy();
    let row = move |(gauge, value): (Gauge, f64)| HistoryRow {
        suite: suite.to_owned(),
        case: case.to_owned(),
        gauge: gauge.0,
        at: run.at.clone(),
        commit: samples.info.provenance.tool_commit.clone(),
        value: value.exp(),
        run: name.clone().into_owned(),
    };
    gauges(samples).into_iter().map(row)
}

/// Returns the checks of a run against its baseline run; if the baseline cannot be compared, one inconclusive check
/// with the reason.
fn against(baseline: Option<&Samples>, gauges: usize, samples: &Samples) -> Vec<Check> {
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
        Some(base) if base.draws != samples.draws => {
            no_baseline("the baseline's cells have other seeds")
        }
        Some(base) if base.info.trains() != samples.info.trains() => {
            no_baseline("the baseline run has trains of another length")
        }
        Some(base) => gate(gauges, base, samples),
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
