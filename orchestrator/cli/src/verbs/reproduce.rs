//! `lcmp-lab reproduce`: the paper's figures, by the runs that are there and those that are missing.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use lab_plan::Engine;
use lab_records::{EngineRequest, RunRequest, SimRequest, draft, request::Overrides};
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
    args::{FigureArg, Global, ReproduceArgs, ScaleArg},
    batch::{FoundRuns, Here, RunBatch, Wanted},
    caller,
    failure::{During, Exit, Failure, Outcome, with_causes},
    load,
    terminal::{is_interrupted, note, print, print_json},
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
    let mut work = ReproductionRuns::new(arguments, scenarios, global)?;
    let runs = work.runs(&asked)?;
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
            "`--artifact {shown}`: there is no such directory (hint: leave it out to use random flows)"
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
             authors' repository, or leave it out to use random flows)"
        )));
    }
    note(&format!(
        "warning: `--artifact {shown}` lacks `{}`: these cases use random flows",
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

/// Choice of the run that stands for a case.
struct RunChoice {
    case: &'static Case,
    source: Source,
    played: Played,
    /// Run that is wanted, or the reason why none is.
    wanted: Result<Wanted, String>,
}

/// The runs that are there, and those that this process makes.
struct ReproductionRuns<'a> {
    arguments: &'a ReproduceArgs,
    /// Folder of the paper's scenarios.
    scenarios: PathBuf,
    engine: Engine,
    batch: RunBatch<Here<'a>>,
    /// Runs of the lab's testbed by load.
    testbed: BTreeMap<&'static str, Wanted>,
}

impl<'a> ReproductionRuns<'a> {
    fn new(
        arguments: &'a ReproduceArgs,
        scenarios: PathBuf,
        global: &'a Global,
    ) -> Result<Self, Failure> {
        let loads = CASES.iter().filter_map(|case| case.lab_load);
        let wanted = |load| {
            let name = format!("the testbed at a load of {load}");
            Ok((load, Wanted::of_file(name, testbed_at(&scenarios, load)?)?))
        };
        let testbed: Result<_, Failure> = loads.map(wanted).collect();
        let here = Here {
            global,
            threads: arguments.threads,
        };
        Ok(Self {
            testbed: testbed?,
            batch: RunBatch::new(here, FoundRuns::read(&global.results)?, INTERRUPTED),
            engine: arguments.engine.into(),
            arguments,
            scenarios,
        })
    }

    /// Returns the runs of the cases, found or made.
    fn runs(&mut self, cases: &[&'static Case]) -> Result<Vec<CaseRuns>, Failure> {
        let mut choices = Vec::new();
        for case in cases {
            for source in [Source::Simulated, Source::Fair] {
                choices.push(self.simulated(case, source)?);
            }
            choices.push(self.emulated(case));
        }
        let wanted = choices.iter().filter_map(|it| it.wanted.as_ref().ok());
        let wanted: Vec<&Wanted> = wanted.collect();
        let mut answers = self.batch.answers(&wanted);
        let mut runs: Vec<CaseRuns> = Vec::new();
        for choice in &choices {
            let case = choice.case;
            let run = match &choice.wanted {
                Ok(_) => message_of_failed(answers.next().expect("an answer for each wish"))?,
                Err(reason) => Err(reason.clone()),
            };
            let measured = run.and_then(|run| measured(&run, case, choice.played));
            if choice.source == Source::Simulated {
                runs.push(CaseRuns {
                    case,
                    runs: BTreeMap::new(),
                });
            }
            let of_case = runs.last_mut().expect("a case begins with its simulation");
            of_case.runs.insert(choice.source, measured);
        }
        Ok(runs)
    }

    /// Returns the published flows of a case, with the order of equal next hops if it is there, too.
    fn published_flows(&self, case: &Case) -> Option<(&'static str, Option<&'static str>)> {
        let dir = self.arguments.artifact.as_ref()?;
        let (flows, routes) = case.flows?;
        let is_there = |file: &&str| dir.join(file).is_file();
        Some((Some(flows).filter(is_there)?, routes.filter(is_there)))
    }

    /// Returns the choice of a case's simulation: `--quick` uses an ended run of the whole duration, or else a
    /// short one with drawn flows. Fails on a scenario that cannot be changed or planned.
    fn simulated(&self, case: &'static Case, source: Source) -> Result<RunChoice, Failure> {
        let mut variant = Variant {
            is_fair: source == Source::Fair,
            is_quick: false,
            flows: self.published_flows(case),
        };
        let mut wanted = self.wanted(case, &variant)?;
        if self.arguments.quick && self.batch.found(&wanted).is_none() {
            (variant.is_quick, variant.flows) = (true, None);
            wanted = self.wanted(case, &variant)?;
        }
        let is_made = self.engine == Engine::Sim || self.batch.found(&wanted).is_some();
        Ok(RunChoice {
            case,
            source,
            played: Played {
                is_drawn: variant.flows.is_none(),
                is_short: variant.is_quick,
            },
            wanted: if is_made {
                Ok(wanted)
            } else {
                Err("there is no run of it (hint: --engine sim)".to_owned())
            },
        })
    }

    /// Returns the wish for the simulation of a case's scenario with the changes of `variant`; published flows are in
    /// the artifact.
    fn wanted(&self, case: &Case, variant: &Variant<'_>) -> Result<Wanted, Failure> {
        let path = self.scenarios.join(format!("{}.yaml", case.scenario));
        let text = load::read_text(&path, limits::MAX_SCENARIO_BYTES)?;
        let name = path.display().to_string();
        let text = derive(case.scenario, &text, variant)
            .map_err(|error| Failure::usage(format_args!("{name}: {error}")))?;
        let (flows, routes) = variant.flows.unzip();
        let published = [flows, routes.flatten()];
        let base = path.parent().unwrap_or(Path::new(""));
        let loaded = load::loaded(&name, text.into_bytes(), |named| {
            self.arguments
                .artifact
                .as_deref()
                .filter(|_| published.contains(&Some(named)))
                .unwrap_or(base)
                .join(named)
        })?;
        let name = loaded.scenario.name.clone();
        Wanted::derived(name, RunRequest::new(path, Engine::Sim), loaded)
    }

    /// Returns the choice of a case's run in the lab.
    fn emulated(&self, case: &'static Case) -> RunChoice {
        RunChoice {
            case,
            source: Source::Emulated,
            played: Played {
                is_drawn: true,
                is_short: false,
            },
            wanted: self.wanted_of_lab(case),
        }
    }

    /// Returns the wish for the lab's run of a case, or the reason why there is none.
    fn wanted_of_lab(&self, case: &Case) -> Result<Wanted, String> {
        let Some(load) = case.lab_load else {
            let reason = case.figure.beyond_lab();
            let reason = reason.unwrap_or("the lab has no such case");
            return Err(format!("beyond the lab: {reason}"));
        };
        let wanted = &self.testbed[load];
        if self.batch.found(wanted).is_some() {
            Ok(wanted.clone())
        } else if self.engine != Engine::Kernel {
            Err("there is no run of the lab (hint: --engine kernel)".to_owned())
        } else if self.arguments.quick {
            let reason = "a tenth of the duration is not made in the lab (hint: leave out --quick)";
            Err(reason.to_owned())
        } else {
            Ok(wanted.clone())
        }
    }

    /// Returns how the lab's figure 5 run at 30 % and its simulation correlate in p50 and in p99,
    /// as in figure 6; `None` without a run in the lab.
    fn fidelity(&mut self) -> Result<Option<[f64; 2]>, Failure> {
        let case = CASES.iter().find(|case| case.lab_load == Some("0.3"));
        let wanted = case.and_then(|case| self.wanted_of_lab(case).ok());
        let Some(wanted) = wanted else {
            return Ok(None);
        };
        let Ok(kernel) = message_of_failed(self.batch.only(&wanted))? else {
            return Ok(None);
        };
        let mut request = wanted.request;
        request.overrides.scale = Some(load::factors(&ScaleArg::Run(kernel.clone()))?);
        request.engine = EngineRequest::Sim(SimRequest {
            is_scaled: true,
            ..SimRequest::default()
        });
        let simulated = Wanted::new_run(wanted.name, request);
        let simulated = self.batch.only(&simulated)?;
        let all = fidelity::compare(&kernel, &simulated)
            .map_err(Failure::usage)?
            .fidelity
            .all;
        let both = all.pearson_of_p50.zip(all.pearson_of_p99);
        Ok(both.map(<[f64; 2]>::from))
    }
}

/// Returns the request for a run of the lab's testbed at a load.
fn testbed_at(scenarios: &Path, load: &str) -> Result<RunRequest, Failure> {
    let load = load.parse().map_err(Failure::usage)?;
    Ok(RunRequest {
        overrides: Overrides {
            load: Some(load),
            ..Overrides::default()
        },
        ..RunRequest::new(scenarios.join(TESTBED), Engine::Kernel)
    })
}

/// Returns the run, or the message of its failure for the page. Fails after an interruption.
fn message_of_failed(answer: Result<PathBuf, Failure>) -> Result<Result<PathBuf, String>, Failure> {
    match answer {
        Err(failure) if is_interrupted() => Err(failure),
        answer => Ok(answer.map_err(|failure| failure.message)),
    }
}

fn measured(run: &Path, case: &Case, played: Played) -> Result<Measured, String> {
    let run = RunFacts::open(run).map_err(|error| with_causes(&error))?;
    Measured::read(&run, case, played).map_err(|error| with_causes(&error))
}

const INTERRUPTED: &str =
    "the reproduction was interrupted (hint: the same command reuses the runs that have ended)";

/// The lab's testbed at the paper's loads.
const TESTBED: &str = "testbed.yaml";

/// Folder of the figure beside the page.
const FIGURES: &str = "figures";
