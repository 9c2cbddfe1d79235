//! `lcmp-lab regress`: runs a suite, checks its assertions, gates it against a baseline, and keeps its
//! history; `regress calibrate` learns how far percentiles move without a change.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use lab_plan::Engine;
use lab_records::{HistoryRow, RunDir, history, listing};
use lab_regress::{
    CaseOutcome, Check, Gauge, Samples, SuiteOutcome, Tolerances, Verdict, expect,
    junit::junit,
    markdown::markdown,
    tolerance::{gate, gauges},
    trend,
};
use lab_scenario::{Case, Expectation, Suite, limits, parse_suite};
use lab_units::show::{self, Side, sides};
use serde::Serialize;

use crate::{
    args::{
        CalibrateArgs, Global, Overrides, RegressArgs, RegressVerb, ScenarioArgs, SimArgs, UpArgs,
    },
    builtin, caller,
    failure::{During, Exit, Failure, Outcome},
    load,
    terminal::{is_interrupted, note, print, print_json},
    verbs::{sim, up},
};

/// Result of a suite, for `--json`.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    outcome: &'a SuiteOutcome,
    verdict: Verdict,
    /// Exit code of the process.
    exit: u8,
    /// Changes of level in the history, a sentence each.
    changes: &'a [String],
    /// Page of the history.
    trend: &'a Path,
}

/// A suite with its scenarios' assertions.
struct Loaded {
    suite: Suite,
    path: PathBuf,
    engine: Engine,
    /// Scenario and assertions of each case.
    cases: Vec<(PathBuf, Vec<Expectation>)>,
}

/// Runs `lcmp-lab regress`.
pub fn regress(arguments: &RegressArgs, global: &Global) -> Outcome {
    if let Some(RegressVerb::Calibrate(calibrate)) = &arguments.verb {
        return learn(calibrate, global);
    }
    let suite = Loaded::read(arguments.suite.as_deref(), arguments.engine.into())?;
    let file = tolerances_of(&suite.path, arguments.tolerances.as_deref());
    let tolerances = read_tolerances(&file, arguments.tolerances.is_some())?;
    let mut outcome = SuiteOutcome {
        suite: suite.suite.name.clone(),
        cases: Vec::new(),
    };
    let mut rows = Vec::new();
    for (case, (scenario, expectations)) in suite.suite.cases.iter().zip(&suite.cases) {
        let baseline = arguments.baseline.as_deref();
        let baseline = baseline.map(|dir| suite.baseline(case, dir)).transpose()?;
        let since = Instant::now();
        let ran = suite.run(case, scenario, None, global);
        let (run, checks) = match ran {
            Ok((run, samples)) => {
                rows.extend(suite.history(case, &run, &samples));
                let mut checks = clean(&samples);
                checks.extend(expectations.iter().map(|it| expect::check(it, &samples)));
                if let Some(baseline) = baseline {
                    checks.extend(against(baseline, &case.name, &tolerances, &samples));
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
        note(&format!("{:>10}  {}", case.name, case.verdict().name()));
        outcome.cases.push(case);
    }
    let dir = match &arguments.history {
        Some(dir) => dir.clone(),
        None => global.results.join(format!("history-{}", suite.suite.name)),
    };
    let (changes, page) = keep_history(&dir, &suite.suite.name, &rows)?;
    write_outcome(arguments, &outcome)?;
    conclude(&outcome, &changes, &page, global)
}

/// Runs `lcmp-lab regress calibrate`.
fn learn(arguments: &CalibrateArgs, global: &Global) -> Outcome {
    let suite = Loaded::read(Some(&arguments.suite), arguments.engine.into())?;
    let mut cases = BTreeMap::new();
    for (case, (scenario, _)) in suite.suite.cases.iter().zip(&suite.cases) {
        let mut runs: Vec<BTreeMap<Gauge, f64>> = Vec::new();
        for run in 0..arguments.runs {
            // Seeds far from those that scenarios have.
            let seed = FIRST_SEED + u64::from(run);
            let (dir, samples) = suite.run(case, scenario, Some(seed), global)?;
            if !samples.doubts.is_empty() {
                note(&format!(
                    "not clean: {}: {}",
                    dir.display(),
                    samples.doubts.join("; ")
                ));
            }
            runs.push(gauges(&samples));
        }
        cases.insert(case.name.clone(), runs);
    }
    let tolerances = Tolerances::learn(&cases);
    let file = match &arguments.output {
        Some(file) => file.clone(),
        None => tolerances_of(&suite.path, None),
    };
    let text = serde_json::to_string_pretty(&tolerances).expect("tolerances are plain data");
    fs::write(&file, text + "\n").during(format_args!("write `{}`", file.display()))?;
    caller::hand_over_alone(&file);
    match global.json {
        true => print_json(&tolerances),
        false => print(&tolerance_table(&tolerances)),
    }
    note(&format!("wrote {}", file.display()));
    Ok(Exit::Pass)
}

impl Loaded {
    /// Reads a suite and the scenarios of its cases, and checks the names in assertions.
    fn read(path: Option<&Path>, engine: Engine) -> Result<Self, Failure> {
        let path = path.ok_or_else(|| Failure::usage("no suite is given"))?;
        let path = load::locate(path);
        let text = load::read_text(&path, limits::MAX_SCENARIO_BYTES)?;
        let name = path.display().to_string();
        let suite = parse_suite(&name, text.as_bytes());
        let suite = suite.map_err(|errors| Failure::scenario(&errors))?;
        let base = path.parent().unwrap_or(Path::new(""));
        let mut cases = Vec::new();
        for case in &suite.cases {
            let scenario = base.join(&case.scenario);
            let at = format!("{name}:{}", case.line);
            cases.push((
                scenario.clone(),
                expectations(&at, &suite, case, &scenario)?,
            ));
        }
        Ok(Self {
            suite,
            path,
            engine,
            cases,
        })
    }

    /// Runs a case and returns its directory with its flows. Fails if the suite was interrupted, with exit
    /// code 4.
    fn run(
        &self,
        case: &Case,
        scenario: &Path,
        seed: Option<u64>,
        global: &Global,
    ) -> Result<(PathBuf, Samples), Failure> {
        end_if_interrupted()?;
        let overrides = Overrides {
            seed,
            repetitions: case.repetitions,
            policies: case.policies.clone(),
            load: None,
            scale: None,
            scale_for: None,
        };
        let dir = match self.engine {
            Engine::Sim => sim::run(&SimArgs::of(scenario.to_owned(), overrides), global)?,
            Engine::Kernel => {
                let scenario = ScenarioArgs {
                    scenario: scenario.to_owned(),
                    overrides,
                };
                up::run(&UpArgs::of(scenario), global)?
            }
        };
        let tag = tag(&self.suite, case);
        let mut tags = listing::tags(&dir).during("read the tags")?;
        tags.insert(match seed {
            None => tag,
            Some(_) => format!("calibrate:{tag}"),
        });
        listing::set_tags(&dir, &tags).during("write the tags")?;
        caller::hand_over(&dir);
        end_if_interrupted()?;
        let run = RunDir::open(&dir).during("read the run")?;
        let samples = Samples::read(&run).during("read the flows")?;
        Ok((dir, samples))
    }

    /// Returns the newest run of a case in the baseline's results; none without one.
    fn baseline(&self, case: &Case, results: &Path) -> Result<Option<Samples>, Failure> {
        let runs = listing::list(results).during("list the baseline's runs")?;
        let tag = tag(&self.suite, case);
        let Some(newest) = runs.iter().rev().find(|run| run.tags.contains(&tag)) else {
            return Ok(None);
        };
        let run = RunDir::open(&newest.path).during("read the baseline")?;
        Samples::read(&run).map(Some).during("read the baseline")
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

/// Returns the assertions of a case and its scenario.
fn expectations(
    at: &str,
    suite: &Suite,
    case: &Case,
    path: &Path,
) -> Result<Vec<Expectation>, Failure> {
    let tag = tag(suite, case);
    if !listing::is_tag(&tag) {
        return Err(Failure::usage(format_args!(
            "{at}: the names `{}` and `{}` make no tag `{tag}` (hint: letters, digits and dashes, at \
             most 64 characters in all)",
            suite.name, case.name
        )));
    }
    let loaded = load::load(path)?;
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
                    "{at}: `{expectation}` names `{name}`, which is no {what} of `{}` (hint: there \
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
    Ok(of_scenario.chain(&case.expect).cloned().collect())
}

/// Returns the tag of a case's runs.
fn tag(suite: &Suite, case: &Case) -> String {
    format!("case:{}/{}", suite.name, case.name)
}

/// Returns the checks against a baseline; none of them can hold if there is no run to compare with.
fn against(
    baseline: Option<Samples>,
    case: &str,
    tolerances: &Tolerances,
    samples: &Samples,
) -> Vec<Check> {
    let no_baseline = |detail: &str| {
        vec![Check {
            name: "against baseline".to_owned(),
            verdict: Verdict::Inconclusive,
            detail: detail.to_owned(),
        }]
    };
    match baseline {
        None => no_baseline("the baseline has no run of this case"),
        Some(base) if base.info.scenario_hash != samples.info.scenario_hash => {
            no_baseline("the baseline is of another version of the scenario")
        }
        Some(base) if base.info.seed != samples.info.seed => {
            no_baseline("the baseline has another seed")
        }
        Some(base) if base.info.repetitions != samples.info.repetitions => {
            no_baseline("the baseline has another number of repetitions")
        }
        Some(base) => gate(case, tolerances, &base, samples),
    }
}

/// Returns a check for each reason not to trust a run.
fn clean(samples: &Samples) -> Vec<Check> {
    let check = |reason: &String| Check {
        name: "clean run".to_owned(),
        verdict: Verdict::Inconclusive,
        detail: reason.clone(),
    };
    samples.doubts.iter().map(check).collect()
}

fn end_if_interrupted() -> Result<(), Failure> {
    match is_interrupted() {
        true => Err(Failure::interrupted("the suite was interrupted")),
        false => Ok(()),
    }
}

fn not_run(failure: &Failure) -> Check {
    Check {
        name: "run".to_owned(),
        verdict: Verdict::Inconclusive,
        detail: failure.message.clone(),
    }
}

/// Returns the file of a suite's tolerances: the one asked for, or that beside the suite; beside a built-in
/// one is the working directory.
fn tolerances_of(suite: &Path, asked: Option<&Path>) -> PathBuf {
    let beside = match builtin::is_builtin(suite) {
        true => suite.file_name().unwrap_or_default().as_ref(),
        false => suite,
    };
    asked.map_or_else(|| beside.with_extension("tolerances.json"), Path::to_owned)
}

/// Reads tolerances; none if the file does not exist and was not asked for.
fn read_tolerances(file: &Path, is_asked: bool) -> Result<Tolerances, Failure> {
    if !file.exists() && !is_asked {
        return Ok(Tolerances::default());
    }
    let text = load::read_text(file, limits::MAX_FILE_BYTES)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format_args!(
            "`{}` has no tolerances: {error}",
            file.display()
        ))
    })
}

/// Adds `rows` to the history and returns its changes of level and its page.
fn keep_history(
    dir: &Path,
    suite: &str,
    rows: &[HistoryRow],
) -> Result<(Vec<String>, PathBuf), Failure> {
    let action = format!("keep the history in `{}`", dir.display());
    history::append(dir, rows).during(&action)?;
    let rows = history::read(dir).during(&action)?;
    let series = trend::series(suite, &rows);
    let page = dir.join("trend.html");
    let text = trend::page(suite, &series, env!("CARGO_PKG_VERSION"));
    fs::write(&page, text).during(&action)?;
    caller::hand_over(dir);
    let changes = series.iter().flat_map(trend::Series::sentences);
    Ok((changes.collect(), page))
}

fn write_outcome(arguments: &RegressArgs, outcome: &SuiteOutcome) -> Result<(), Failure> {
    let write = |file: &Path, text: String| {
        fs::write(file, text).during(format_args!("write `{}`", file.display()))?;
        caller::hand_over_alone(file);
        Ok::<(), Failure>(())
    };
    if let Some(file) = &arguments.junit {
        write(file, junit(outcome).during("write JUnit")?)?;
    }
    if let Some(file) = &arguments.markdown {
        write(file, markdown(outcome))?;
    }
    Ok(())
}

fn conclude(outcome: &SuiteOutcome, changes: &[String], page: &Path, global: &Global) -> Outcome {
    let verdict = outcome.verdict();
    let exit = match verdict {
        Verdict::Pass => Exit::Pass,
        Verdict::Fail => Exit::Failed,
        Verdict::Inconclusive => Exit::Inconclusive,
    };
    if global.json {
        print_json(&Output {
            outcome,
            verdict,
            exit: exit.code(),
            changes,
            trend: page,
        });
        return Ok(exit);
    }
    let mut text = String::new();
    for case in &outcome.cases {
        text += &format!("{}: {}\n", case.name, case.verdict().name());
        for check in &case.checks {
            let head = format!("  {:<12}  {}: ", check.verdict.name(), check.name);
            text += &show::paragraph(&head, &check.detail);
        }
    }
    for change in changes {
        text += &show::paragraph("change of level: ", change);
    }
    print(&format!("{text}{}: {}", outcome.suite, verdict.name()));
    print(&format!("history: {}", page.display()));
    Ok(exit)
}

fn tolerance_table(tolerances: &Tolerances) -> String {
    let head = [
        "case",
        "gauge",
        "A/A runs",
        "deviation",
        "tolerance",
        "finds",
    ];
    let mut rows = vec![head.map(ToOwned::to_owned)];
    for (case, gauges) in &tolerances.cases {
        for (gauge, tolerance) in gauges {
            rows.push([
                case.clone(),
                gauge.0.clone(),
                tolerance.runs.to_string(),
                format!("{:.2} %", tolerance.deviation * 100.0),
                format!("+{:.2} %", tolerance.limit * 100.0),
                format!("+{:.1} %", tolerance.detects * 100.0),
            ]);
        }
    }
    let columns: [Side; 6] = sides(2);
    show::table(0, columns, &rows)
}

/// First seed of A/A runs.
const FIRST_SEED: u64 = 1_000_000;
