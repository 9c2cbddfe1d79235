//! `lcmp-lab reproduce`: the paper's figures, from existing runs and new ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use lab_plan::Engine;
use lab_records::{EngineRequest, RunRequest, SimRequest, draft, request::Overrides};
use lab_reports::{draw_published, facts::RunFacts, fidelity};
use lab_reproduce::{
    CASES, Case, CaseRuns, FIGURES, Figure, Measured, Played, Published, Report, Settings, Source,
    Variant, derive, document, extended,
    published::{FILES, PublishedError},
    with_extended,
};
use lab_scenario::limits;

use super::{conclude::conclude, sim::train_length};
use crate::{
    args::{FigureArg, Global, ReproduceArgs, ScaleArg, TrainsArg},
    batch::{FoundRuns, Here, RunBatch, Wanted},
    caller,
    failure::{During, Failure, Outcome, with_causes},
    load,
    terminal::{is_interrupted, note},
};

/// Runs `lcmp-lab reproduce`.
pub fn reproduce(arguments: &ReproduceArgs, global: &Global) -> Outcome {
    train_length::check_engine(arguments.trains, arguments.engine.into())?;
    if arguments.trains == Some(TrainsArg::PACKETS) {
        return Err(Failure::usage(
            "`--trains=1`: a train of one packet is a packet (hint: leave out `--trains`)",
        ));
    }
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
        is_in_trains: arguments.trains.is_some(),
    };
    let report = Report::new(settings, &published, runs, fidelity);
    let output = arguments
        .output
        .clone()
        .unwrap_or_else(|| global.results.join("reproduction"));
    let page = write(&report, &output)?;
    conclude(&report, Some(&page), global.json)
}

/// Returns the figures that the arguments name, in the paper's order and without repeats.
fn figures(words: &[FigureArg]) -> Vec<Figure> {
    let is_asked = |figure: &Figure| {
        words.contains(&FigureArg::All) || words.contains(&FigureArg::One(*figure))
    };
    Figure::ALL.into_iter().filter(is_asked).collect()
}

/// Checks that the artifact has published flows for the requested cases, and warns about missing files.
fn check_artifact(dir: Option<&Path>, asked: &[&Case]) -> Result<(), Failure> {
    let Some(dir) = dir else { return Ok(()) };
    let shown = dir.display();
    if !dir.is_dir() {
        return Err(Failure::usage(format_args!(
            "`--artifact {shown}`: there is no such directory (hint: leave out `--artifact` to use random flows)"
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
             authors' repository, or leave out `--artifact` to use random flows)"
        )));
    }
    note(&format!(
        "warning: `--artifact {shown}` lacks `{}`: cases with a missing file use random flows",
        missing.join("`, `")
    ));
    Ok(())
}

/// Returns the command line for the report, without paths of this machine.
fn command(arguments: &ReproduceArgs) -> String {
    let figures = arguments.figures.iter().map(|word| match word {
        FigureArg::All => "all",
        FigureArg::One(figure) => figure.name(),
    });
    let trains = arguments.trains.map(|trains| match trains {
        TrainsArg::Default => "--trains".to_owned(),
        TrainsArg::Length(length) => format!("--trains={length}"),
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
    words.extend(trains.as_deref());
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
    let text = document(report).markdown(FIGURES);
    draft::replace(&page, text.as_bytes()).during(&action)?;
    for path in [&figures, &page] {
        caller::hand_over(path);
    }
    Ok(page)
}

/// Run that provides the values of a case from one source, a simulation or the lab.
struct RunChoice {
    case: &'static Case,
    source: Source,
    played: Played,
    /// Run to reuse or perform, or the reason why no run is available.
    wanted: Result<Wanted, String>,
}

/// Simulations of one variant of a case.
struct Simulations {
    packets: Wanted,
    /// Simulation in trains, or the reason why there is none; `None` without `--trains` and under the paper's semantics.
    trains: Option<Result<Wanted, String>>,
}

/// Runs of the reproduction, reused or performed by this process.
struct ReproductionRuns<'a> {
    arguments: &'a ReproduceArgs,
    /// Folder with the paper's scenarios.
    scenarios: PathBuf,
    engine: Engine,
    batch: RunBatch<Here<'a>>,
    /// Lab runs of the testbed scenario to reuse or perform, by load such as `0.3`.
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
            trains: None,
        };
        Ok(Self {
            testbed: testbed?,
            batch: RunBatch::new(here, FoundRuns::read(&global.results)?, INTERRUPTED),
            engine: arguments.engine.into(),
            arguments,
            scenarios,
        })
    }

    /// Reuses or performs the runs of all cases and returns their values.
    fn runs(&mut self, cases: &[&'static Case]) -> Result<Vec<CaseRuns>, Failure> {
        let mut choices = Vec::new();
        for case in cases {
            choices.extend(self.simulated(case, false)?);
            choices.extend(self.simulated(case, true)?);
            choices.push(self.emulated(case));
        }
        let wanted: Vec<&Wanted> = choices
            .iter()
            .filter_map(|it| it.wanted.as_ref().ok())
            .collect();
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

    /// Returns the names of a case's flow file and, if it exists, routing table in the artifact; `None` without an
    /// artifact or a flow file.
    fn published_flows(&self, case: &Case) -> Option<(&'static str, Option<&'static str>)> {
        let dir = self.arguments.artifact.as_ref()?;
        let (flows, routes) = case.flows?;
        let is_there = |file: &&str| dir.join(file).is_file();
        Some((Some(flows).filter(is_there)?, routes.filter(is_there)))
    }

    /// Returns the simulations to use for a case: by packets, and with `--trains` and the authors' semantics also in
    /// trains. With `--quick`, each is an ended run of the full duration if one exists, else a short run with random
    /// flows. Fails if the scenario cannot be modified or planned.
    fn simulated(&self, case: &'static Case, is_fair: bool) -> Result<Vec<RunChoice>, Failure> {
        let full = Variant {
            is_fair,
            is_quick: false,
            flows: self.published_flows(case),
        };
        let quick = Variant {
            is_quick: true,
            flows: None,
            ..full
        };
        let variants = [Some(full), Some(quick).filter(|_| self.arguments.quick)];
        let mut planned = Vec::new();
        for variant in variants.into_iter().flatten() {
            planned.push((variant, self.planned(case, &variant)?));
        }
        let choice = |source: Source| {
            let of = |it: &Simulations| match source {
                Source::Trains => it.trains.clone().expect("they are asked for"),
                _ => Ok(it.packets.clone()),
            };
            let is_found =
                |it: &Simulations| of(it).is_ok_and(|it| self.batch.found(&it).is_some());
            let ended = planned.iter().find(|(_, it)| is_found(it));
            let (variant, simulations) = ended.or(planned.last()).expect("a variant");
            RunChoice {
                case,
                source,
                played: Played {
                    is_drawn: variant.flows.is_none(),
                    is_short: variant.is_quick,
                },
                wanted: of(simulations).and_then(|wanted| match self.hint(source) {
                    Some(hint) if ended.is_none() => {
                        Err(format!("no simulation run exists (hint: {hint})"))
                    }
                    _ => Ok(wanted),
                }),
            }
        };
        let trains = self.arguments.trains.filter(|_| !is_fair);
        let packets = [Source::Simulated, Source::Fair][usize::from(is_fair)];
        let sources = [packets].into_iter().chain(trains.map(|_| Source::Trains));
        Ok(sources.map(choice).collect())
    }

    /// Returns the hint on how a missing simulation is made; `None` if this command makes it.
    fn hint(&self, source: Source) -> Option<&'static str> {
        if self.engine != Engine::Sim {
            Some("`--engine sim` makes it")
        } else if self.arguments.trains.is_some() && source != Source::Trains {
            Some("leave out `--trains` to make it")
        } else {
            None
        }
    }

    /// Returns the simulations to reuse or perform: a case's scenario, modified by `variant`. Published flows are read
    /// from the artifact.
    fn planned(&self, case: &Case, variant: &Variant<'_>) -> Result<Simulations, Failure> {
        let path = self.scenarios.join(format!("{}.yaml", case.scenario));
        let base = path.parent().unwrap_or(Path::new(""));
        let mut text = load::read_text(&path, limits::MAX_SCENARIO_BYTES)?;
        // `derive` changes lines of the text, so the keys of extended scenarios must be in it. After the maximum number
        // of steps, a further `extends` stays in the text, and the parser follows it.
        for _ in 0..limits::MAX_EXTENDED {
            let Some(named) = extended(&text) else { break };
            let other = load::read_text(&base.join(named), limits::MAX_SCENARIO_BYTES)?;
            text = with_extended(&text, &other);
        }
        let name = path.display().to_string();
        let text = derive(case.scenario, &text, variant)
            .map_err(|error| Failure::usage(format_args!("{name}: {error}")))?;
        let (flows, routes) = variant.flows.unzip();
        let published = [flows, routes.flatten()];
        let loaded = load::loaded(&name, text.into_bytes(), |named| {
            self.arguments
                .artifact
                .as_deref()
                .filter(|_| published.contains(&Some(named)))
                .unwrap_or(base)
                .join(named)
        })?;
        let name = loaded.scenario.name.clone();
        let (packets, plan) = Wanted::simulation(name, path, loaded)?;
        let in_trains = |asked| {
            let wanted = packets.in_trains(plan, asked);
            wanted.map_err(|refusal| refusal.message)
        };
        let trains = self.arguments.trains.filter(|_| !variant.is_fair);
        Ok(Simulations {
            trains: trains.map(in_trains),
            packets,
        })
    }

    /// Returns the lab run to use for a case.
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

    /// Returns the lab run to reuse or perform for a case, or the reason why no run is available.
    fn wanted_of_lab(&self, case: &Case) -> Result<Wanted, String> {
        let Some(load) = case.lab_load else {
            let beyond = case.figure.beyond_lab();
            let reason = beyond.unwrap_or("the lab has no such case");
            return Err(format!("beyond the lab: {reason}"));
        };
        let wanted = &self.testbed[load];
        if self.batch.found(wanted).is_some() {
            Ok(wanted.clone())
        } else if self.engine != Engine::Kernel {
            Err("no lab run exists (hint: `--engine kernel` makes one)".to_owned())
        } else if self.arguments.quick {
            let reason =
                "the lab cannot run with a tenth of the duration (hint: leave out --quick)";
            Err(reason.to_owned())
        } else {
            Ok(wanted.clone())
        }
    }

    /// Returns the correlations of p50 and p99 slowdowns between the lab's Figure 5 run at 30 % load and the simulation
    /// of that run, as in Figure 6, or the reason why the correlations are unknown; `None` if the lab run neither
    /// exists nor may be performed.
    fn fidelity(&mut self) -> Result<Option<Result<[f64; 2], String>>, Failure> {
        let case = CASES.iter().find(|case| case.lab_load == Some("0.3"));
        let wanted = case.and_then(|case| self.wanted_of_lab(case).ok());
        let Some(wanted) = wanted else {
            return Ok(None);
        };
        let runs = self.run_and_simulation(wanted);
        let correlations = |[kernel, simulated]: [PathBuf; 2]| {
            let compared = fidelity::compare(&kernel, &simulated);
            let all = compared.map_err(|error| with_causes(&error))?.fidelity.all;
            let both = all.pearson_of_p50.zip(all.pearson_of_p99);
            let known = both.ok_or("the slowdowns do not vary over the bins of flow sizes")?;
            Ok(known.into())
        };
        Ok(Some(message_of_failed(runs)?.and_then(correlations)))
    }

    /// Returns the lab run for `lab` and the simulation of the same scaled network, each reused or performed.
    fn run_and_simulation(&mut self, lab: Wanted) -> Result<[PathBuf; 2], Failure> {
        let kernel = self.batch.only(&lab)?;
        let mut request = lab.request;
        request.overrides.scale = Some(load::factors(&ScaleArg::Run(kernel.clone()))?);
        request.engine = EngineRequest::Sim(SimRequest {
            is_scaled: true,
            ..SimRequest::default()
        });
        let simulation = Wanted::of_file(format!("{}, simulated", lab.name), request)?;
        Ok([kernel, self.batch.only(&simulation)?])
    }
}

/// Returns the request for a run of the lab's testbed at a load such as `0.3`.
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

/// Reduces a failure in `answer` to its message, which the page shows. Fails after an interruption.
fn message_of_failed<T>(answer: Result<T, Failure>) -> Result<Result<T, String>, Failure> {
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

/// File name of the scenario of the lab's testbed, which has the paper's loads.
const TESTBED: &str = "testbed.yaml";
