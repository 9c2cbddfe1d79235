//! `lcmp-lab reproduce`: the paper's figures, by the runs that are there and those that are missing.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use lab_plan::{Engine, Plan};
use lab_records::{EngineInfo, RunDir, RunInfo, RunRequest, SimRequest, draft, listing, request};
use lab_reports::{
    check::{Answered, Judgement},
    draw_published,
    facts::RunFacts,
    fidelity,
};
use lab_reproduce::{
    CASES, Case, CaseRuns, Figure, Measured, Played, Published, Report, Settings, Source, Variant,
    derive, document,
    published::{FILES, PublishedError},
};
use lab_scenario::limits;

use crate::{
    args::{FigureArg, Global, Overrides, ReproduceArgs, ScaleArg, ScenarioArgs, SimArgs},
    caller,
    failure::{During, Exit, Failure, Outcome, with_causes},
    load::{self, Loaded},
    run_dir,
    terminal::{note, print, print_json},
    verbs::{self, sim},
};

/// Runs `lcmp-lab reproduce`.
pub fn reproduce(arguments: &ReproduceArgs, global: &Global) -> Outcome {
    let figures = figures(&arguments.figures);
    let asked: Vec<&'static Case> = CASES
        .iter()
        .filter(|case| figures.contains(&case.figure))
        .collect();
    check_artifact(arguments.artifact.as_deref(), &asked)?;
    let scenarios = load::locate(&arguments.scenarios);
    let published = published(&scenarios)?;
    let mut work = Work::new(arguments, scenarios, global)?;
    let mut runs = Vec::new();
    for (number, case) in asked.iter().enumerate() {
        note(&format!(
            "case {} of {}: {}",
            number + 1,
            asked.len(),
            case.title()
        ));
        runs.push(work.case(case)?);
    }
    let fidelity = if figures.contains(&Figure::Fig6) {
        work.fidelity()?
    } else {
        None
    };
    let settings = Settings {
        command: command(arguments),
        commit: env!("LCMP_LAB_COMMIT").to_owned(),
        figures,
        is_quick: arguments.quick,
    };
    let report = Report::new(settings, &published, runs, fidelity);
    let output = arguments
        .output
        .clone()
        .unwrap_or_else(|| global.results.join("reproduction"));
    let page = write(&report, &output)?;
    let checks = report.checks();
    if global.json {
        print_json(&Answered::new(&report, &checks, Vec::new(), Some(&page)));
    } else {
        print(&document(&report, FIGURES).terminal());
        print(&format!("page: {}", page.display()));
    }
    Ok(Exit::of_judgement(Judgement::of(&checks)))
}

/// Returns the figures that the words name, in order.
fn figures(words: &[FigureArg]) -> Vec<Figure> {
    let is_asked = |figure: &Figure| {
        words.contains(&FigureArg::All) || words.contains(&FigureArg::One(*figure))
    };
    Figure::ALL.into_iter().filter(is_asked).collect()
}

/// Checks that the artifact contains published flows of the requested cases, and warns about the files that are
/// missing.
fn check_artifact(dir: Option<&Path>, asked: &[&Case]) -> Result<(), Failure> {
    let Some(dir) = dir else { return Ok(()) };
    let shown = dir.display();
    if !dir.is_dir() {
        return Err(Failure::usage(format_args!(
            "`--artifact {shown}`: there is no such directory (hint: leave it out to have flows drawn)"
        )));
    }
    let published: BTreeSet<&str> = asked
        .iter()
        .filter_map(|case| Some(case.flows?.0))
        .collect();
    let is_missing = |file: &&&str| !dir.join(file).is_file();
    let missing: Vec<&str> = published.iter().filter(is_missing).copied().collect();
    let Some(first) = missing.first() else {
        return Ok(());
    };
    if missing.len() == published.len() {
        return Err(Failure::usage(format_args!(
            "`--artifact {shown}` has none of the published flows, such as `{first}` (hint: name the folder of the \
             authors' repository, or leave it out to have flows drawn)"
        )));
    }
    note(&format!(
        "warning: `--artifact {shown}` lacks `{}`: the flows of these cases are drawn",
        missing.join("`, `")
    ));
    Ok(())
}

/// Returns the command line without the paths of this machine.
fn command(arguments: &ReproduceArgs) -> String {
    let figures = arguments.figures.iter().map(|word| match word {
        FigureArg::All => "all",
        FigureArg::One(figure) => figure.name(),
    });
    let mut words: Vec<&str> = ["lcmp-lab", "reproduce"]
        .into_iter()
        .chain(figures)
        .collect();
    if Engine::from(arguments.engine) == Engine::Kernel {
        words.push("--engine kernel");
    }
    if arguments.quick {
        words.push("--quick");
    }
    if arguments.artifact.is_some() {
        words.push("--artifact DIR");
    }
    words.join(" ")
}

fn published(scenarios: &Path) -> Result<Published, Failure> {
    let folder = scenarios.join("published");
    let read = |file| load::read_text(&folder.join(file), limits::MAX_FILE_BYTES);
    let mut texts = FILES.map(|_| String::new());
    for (text, file) in texts.iter_mut().zip(FILES) {
        *text = read(file)?;
    }
    let wrong = |error: PublishedError| {
        Failure::usage(format_args!(
            "{}: {}",
            folder.display(),
            with_causes(&error)
        ))
    };
    Published::parse(&texts).map_err(wrong)
}

fn write(report: &Report, dir: &Path) -> Result<PathBuf, Failure> {
    let action = format!("write the reproduction into `{}`", dir.display());
    let figures = dir.join(FIGURES);
    caller::create_dirs(&figures).during(&action)?;
    draw_published(&report.series(), &figures).during(&action)?;
    let page = dir.join("REPRODUCTION.md");
    draft::replace(
        &page,
        document(report, FIGURES).markdown(FIGURES).as_bytes(),
    )
    .during(&action)?;
    for path in [&figures, &page] {
        caller::hand_over(path);
    }
    Ok(page)
}

/// The runs that are there, and those that this process makes.
struct Work<'a> {
    arguments: &'a ReproduceArgs,
    /// Folder of the paper's scenarios.
    scenarios: PathBuf,
    global: &'a Global,
    engine: Engine,
    /// Ended runs of the simulator by the identity of their plan.
    simulated: BTreeMap<String, PathBuf>,
    /// Newest ended run of the lab's testbed by its load.
    emulated: BTreeMap<&'static str, PathBuf>,
    /// Failures by the name of the scenario, so that none is tried twice.
    failed: BTreeMap<String, String>,
}

impl<'a> Work<'a> {
    fn new(
        arguments: &'a ReproduceArgs,
        scenarios: PathBuf,
        global: &'a Global,
    ) -> Result<Self, Failure> {
        let mut work = Self {
            arguments,
            scenarios,
            global,
            engine: arguments.engine.into(),
            simulated: BTreeMap::new(),
            emulated: BTreeMap::new(),
            failed: BTreeMap::new(),
        };
        let testbed = work.testbed()?;
        let runs = listing::list(&global.results).map_err(|error| Failure::records(&error))?;
        for run in runs {
            let Ok(file) = run.file else { continue };
            // A run with a problem was interrupted, or its engine failed.
            if file.outcome.is_none_or(|it| !it.end.problems.is_empty()) {
                continue;
            }
            match file.info.engine {
                EngineInfo::Sim(_) => {
                    // A run whose plan has another format cannot stand in for one that this program would make.
                    let plan = RunDir::open(&run.path).and_then(|run| run.plan());
                    if let Ok(Some(plan)) = plan {
                        work.simulated.insert(run_dir::identity(plan), run.path);
                    }
                }
                EngineInfo::Kernel => {
                    for (load, plan) in &testbed {
                        if is_run_of(&file.info, plan) {
                            work.emulated.insert(load, run.path.clone());
                        }
                    }
                }
            }
        }
        Ok(work)
    }

    /// Returns the plans of the lab's testbed by load.
    fn testbed(&self) -> Result<Vec<(&'static str, Plan)>, Failure> {
        let loads = CASES.iter().filter_map(|case| case.lab_load);
        let plan = |load| {
            let scenario = ScenarioArgs::of(&self.testbed_at(load)?);
            Ok((load, load::plan(&scenario.map_err(Failure::usage)?)?))
        };
        loads.map(plan).collect()
    }

    /// Returns the request for a run of the lab's testbed at a load.
    fn testbed_at(&self, load: &'static str) -> Result<RunRequest, Failure> {
        let load = load.parse().map_err(Failure::usage)?;
        Ok(RunRequest {
            overrides: request::Overrides {
                load: Some(load),
                ..request::Overrides::default()
            },
            ..RunRequest::new(self.scenarios.join(TESTBED), Engine::Kernel)
        })
    }

    fn case(&mut self, case: &'static Case) -> Result<CaseRuns, Failure> {
        let mut runs = BTreeMap::new();
        for source in [Source::Simulated, Source::Fair] {
            let variant = Variant {
                is_fair: source == Source::Fair,
                is_quick: false,
                flows: self.published_flows(case),
            };
            let (variant, run) = self.simulated(case, variant)?;
            let played = Played {
                is_drawn: variant.flows.is_none(),
                is_short: variant.is_quick,
            };
            runs.insert(source, run.and_then(|run| measured(&run, case, played)));
        }
        let run = self.emulated(case)?;
        let played = Played {
            is_drawn: true,
            is_short: false,
        };
        runs.insert(
            Source::Emulated,
            run.and_then(|run| measured(&run, case, played)),
        );
        Ok(CaseRuns { case, runs })
    }

    /// Returns the published flows of a case, with the order of equal next hops if it is there, too.
    fn published_flows(&self, case: &Case) -> Option<(&'static str, Option<&'static str>)> {
        let dir = self.arguments.artifact.as_ref()?;
        let (flows, routes) = case.flows?;
        let is_there = |file: &&str| dir.join(file).is_file();
        Some((Some(flows).filter(is_there)?, routes.filter(is_there)))
    }

    /// Returns the run of a case's scenario, made if it is missing, or why there is none, with the variant
    /// that was played: a quick look takes whole runs that are there, and makes short ones.
    /// Fails on a scenario that cannot be changed or planned.
    fn simulated<'v>(
        &mut self,
        case: &Case,
        whole: Variant<'v>,
    ) -> Result<(Variant<'v>, Result<PathBuf, String>), Failure> {
        let short = Variant {
            is_quick: true,
            flows: None,
            ..whole
        };
        let (loaded, identity) = self.planned(case, &whole)?;
        if let Some(run) = self.simulated.get(&identity) {
            return Ok((whole, Ok(run.clone())));
        }
        if !self.arguments.quick {
            return Ok((whole, self.made(case, loaded, identity)?));
        }
        let (loaded, identity) = self.planned(case, &short)?;
        match self.simulated.get(&identity) {
            Some(run) => Ok((short, Ok(run.clone()))),
            None => Ok((short, self.made(case, loaded, identity)?)),
        }
    }

    /// Returns a variant's scenario and its plan's identity.
    fn planned(&self, case: &Case, variant: &Variant<'_>) -> Result<(Loaded, String), Failure> {
        let path = self.path(case);
        let loaded = self.loaded(case, &path, variant)?;
        let options = load::options(&Overrides::default(), Engine::Sim)?;
        let plan = load::resolve(&loaded, &path, &options)?;
        Ok((loaded, run_dir::identity(plan)))
    }

    fn path(&self, case: &Case) -> PathBuf {
        let file = format!("{}.yaml", case.scenario);
        self.scenarios.join(file)
    }

    /// Simulates a scenario, unless it failed before.
    fn made(
        &mut self,
        case: &Case,
        loaded: Loaded,
        identity: String,
    ) -> Result<Result<PathBuf, String>, Failure> {
        let name = loaded.scenario.name.clone();
        if let Some(failure) = self.failed.get(&name) {
            return Ok(Err(failure.clone()));
        }
        if self.engine != Engine::Sim {
            return Ok(Err("there is no run of it (hint: --engine sim)".to_owned()));
        }
        let path = self.path(case);
        let request = RunRequest::new(path.clone(), Engine::Sim);
        let arguments = self.sim_args(&request, &SimRequest::default())?;
        let overrides = &arguments.overrides;
        let run = sim::simulate(&arguments, overrides, self.global, &path, loaded);
        match run.and_then(|run| ended(&run)) {
            Ok(run) => {
                self.simulated.insert(identity, run.clone());
                Ok(Ok(run))
            }
            Err(failure) if failure.exit == Exit::Inconclusive => Err(failure),
            Err(failure) => {
                note(&format!("not simulated: {name}: {}", failure.message));
                self.failed.insert(name, failure.message.clone());
                Ok(Err(failure.message))
            }
        }
    }

    /// Returns the arguments that simulate the scenario of a request on the threads that the command line names.
    fn sim_args(&self, request: &RunRequest, options: &SimRequest) -> Result<SimArgs, Failure> {
        Ok(SimArgs {
            threads: self.arguments.threads,
            ..SimArgs::of(request, options).map_err(Failure::usage)?
        })
    }

    /// Reads a case's scenario with the changes of `variant`; published flows are in the artifact.
    fn loaded(&self, case: &Case, path: &Path, variant: &Variant<'_>) -> Result<Loaded, Failure> {
        let text = load::read_text(path, limits::MAX_SCENARIO_BYTES)?;
        let name = path.display().to_string();
        let text = derive(case.scenario, &text, variant)
            .map_err(|error| Failure::usage(format_args!("{name}: {error}")))?;
        let (flows, routes) = variant.flows.unzip();
        let published = [flows, routes.flatten()];
        let base = path.parent().unwrap_or(Path::new(""));
        load::loaded(&name, text.into_bytes(), |named| {
            self.arguments
                .artifact
                .as_deref()
                .filter(|_| published.contains(&Some(named)))
                .unwrap_or(base)
                .join(named)
        })
    }

    /// Returns the lab's run of a case, made if it is missing, or why there is none.
    fn emulated(&mut self, case: &Case) -> Result<Result<PathBuf, String>, Failure> {
        let Some(load) = case.lab_load else {
            let reason = case
                .figure
                .beyond_lab()
                .unwrap_or("the lab has no such case");
            return Ok(Err(format!("beyond the lab: {reason}")));
        };
        if let Some(run) = self.emulated.get(load) {
            return Ok(Ok(run.clone()));
        }
        if let Some(failure) = self.failed.get(load) {
            return Ok(Err(failure.clone()));
        }
        if self.engine != Engine::Kernel {
            return Ok(Err(
                "there is no run of the lab (hint: --engine kernel)".to_owned()
            ));
        }
        if self.arguments.quick {
            let reason = "a tenth of the duration is not made in the lab (hint: leave out --quick)";
            return Ok(Err(reason.to_owned()));
        }
        match verbs::request::make(&self.testbed_at(load)?, self.global) {
            Ok(run) => {
                caller::hand_over(&run);
                self.emulated.insert(load, run.clone());
                Ok(Ok(run))
            }
            Err(failure) => {
                note(&format!(
                    "not emulated: {}: {}",
                    case.title(),
                    failure.message
                ));
                self.failed.insert(load.to_owned(), failure.message.clone());
                Ok(Err(failure.message))
            }
        }
    }

    /// Returns how the lab's figure 5 run at 30 % and its simulation correlate in p50 and in p99,
    /// as in figure 6; `None` without a run in the lab.
    fn fidelity(&mut self) -> Result<Option<[f64; 2]>, Failure> {
        let case = CASES.iter().find(|case| case.lab_load == Some("0.3"));
        let Some(case) = case else { return Ok(None) };
        let Ok(kernel) = self.emulated(case)? else {
            return Ok(None);
        };
        let mut request = self.testbed_at("0.3")?;
        request.overrides.scale = Some(load::factors(&ScaleArg::Run(kernel.clone()))?);
        let options = SimRequest {
            is_scaled: true,
            ..SimRequest::default()
        };
        let arguments = self.sim_args(&request, &options)?;
        let simulated = ended(&sim::run(&arguments, self.global)?)?;
        let all = fidelity::compare(&kernel, &simulated)
            .map_err(Failure::usage)?
            .fidelity
            .all;
        let both = all.pearson_of_p50.zip(all.pearson_of_p99);
        Ok(both.map(<[f64; 2]>::from))
    }
}

/// True if a run of the lab played the whole scenario of `plan`: all repetitions and policies. The rest of
/// the plan depends on the capacity of the place.
fn is_run_of(info: &RunInfo, plan: &Plan) -> bool {
    let labels = plan.policies.iter().map(|policy| &policy.label);
    [&info.scenario, &info.scenario_hash] == [&plan.name, &plan.scenario_hash]
        && info.repetitions == plan.repetitions
        && info.policies.iter().eq(labels)
}

/// Fails if a run was interrupted, with exit code 4.
fn ended(run: &Path) -> Result<PathBuf, Failure> {
    caller::hand_over(run);
    let opened = RunDir::open(run).during("read the run")?;
    let problems = opened.outcome().map(|it| it.end.problems.clone());
    match problems.unwrap_or_default().first() {
        None => Ok(run.to_owned()),
        Some(problem) => Err(Failure {
            exit: Exit::Inconclusive,
            ..Failure::usage(format_args!("{}: {problem}", run.display()))
        }),
    }
}

fn measured(run: &Path, case: &Case, played: Played) -> Result<Measured, String> {
    let run = RunFacts::open(run).map_err(|error| with_causes(&error))?;
    Measured::read(&run, case, played).map_err(|error| with_causes(&error))
}

/// The lab's testbed at the paper's loads.
const TESTBED: &str = "testbed.yaml";

/// Folder of the figure beside the page.
const FIGURES: &str = "figures";
