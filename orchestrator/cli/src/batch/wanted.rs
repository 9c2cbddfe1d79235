//! Wanted runs, and the identity of ended runs that may serve instead.

use std::path::{Path, PathBuf};

use lab_plan::{Engine, Plan, PlanOptions};
use lab_records::{EngineRequest, RunInfo, RunRequest, SimRequest};
use lab_scenario::Files;

use crate::{
    args::{ScenarioArgs, TrainsArg},
    failure::Failure,
    load::{self, Loaded},
    run_dir,
    verbs::{sim::train_length, train},
};

/// Run that a batch must provide, by reuse of an ended run or by a new run.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Name of the run in messages.
    pub name: String,
    /// Scenario path, engine and options of a new run.
    pub request: RunRequest,
    /// Scenario to run instead of the file at the request's path; `None` to read the file. Messages show the path in
    /// either case.
    pub derived: Option<DerivedScenario>,
    /// Identity that an ended run must have to be reused.
    pub reuse: Reuse,
}

/// Scenario that exists only in memory.
#[derive(Clone, Debug)]
pub struct DerivedScenario {
    /// YAML text of the scenario.
    pub text: String,
    /// Texts of the files that the scenario names, by their paths.
    pub files: Files,
}

/// Identity of a run; an ended run can replace a wanted run if their identities are equal.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Reuse {
    /// No ended run can be reused, because the new run measures the program that performs it.
    Never,
    /// Simulation with this plan hash and end time.
    SamePlan(String),
    /// Lab run of this scenario with these repetitions and policies. The plans of two such runs may differ, because an
    /// automatic scale depends on the capacity of the kernel or guest.
    SameScenario(String),
}

impl Wanted {
    /// Returns a wanted run that no ended run can replace.
    pub fn new_run(name: String, request: RunRequest) -> Self {
        Self {
            name,
            request,
            derived: None,
            reuse: Reuse::Never,
        }
    }

    /// Returns the wanted simulation of the derived scenario `loaded`, which an ended run with the same identity can
    /// replace, and its plan. Messages call the scenario `path`.
    /// Fails on a scenario that cannot be planned, with exit code 2.
    pub fn simulation(
        name: String,
        path: PathBuf,
        loaded: Loaded,
    ) -> Result<(Self, Plan), Failure> {
        let request = RunRequest::new(path, Engine::Sim);
        let loaded = train::trained(loaded, &request.scenario, &request.overrides.policies)?;
        let options = SimRequest::default();
        let plan = simulated(&request, &options, &loaded)?;
        let wanted = Self {
            reuse: Reuse::of_plan(plan.clone(), &options),
            derived: Some(DerivedScenario {
                text: loaded.text,
                files: loaded.files,
            }),
            ..Self::new_run(name, request)
        };
        Ok((wanted, plan))
    }

    /// Returns the simulation of `plan` that is wanted, in trains as `asked`.
    /// Fails if trains cannot simulate the plan, are too long for it, or none fits, with exit code 2.
    pub fn in_trains(&self, plan: Plan, asked: TrainsArg) -> Result<Self, Failure> {
        let options = SimRequest {
            trains: Some(train_length::of(asked, &plan)?),
            ..SimRequest::default()
        };
        let mut wanted = self.clone();
        wanted.reuse = Reuse::of_plan(plan, &options);
        wanted.request.engine = EngineRequest::Sim(options);
        Ok(wanted)
    }

    /// Returns the wanted run of the request's scenario file, which an ended run with the same identity can replace.
    /// Fails on a scenario that cannot be read or planned, with exit code 2.
    pub fn of_file(name: String, request: RunRequest) -> Result<Self, Failure> {
        let loaded = train::load_trained(&request.scenario, &request.overrides.policies)?;
        Ok(Self {
            reuse: Reuse::of_request(&request, &loaded)?,
            ..Self::new_run(name, request)
        })
    }
}

impl DerivedScenario {
    /// Parses the scenario, which messages call `path`.
    pub fn loaded(&self, path: &Path) -> Result<Loaded, Failure> {
        let name = path.display().to_string();
        Ok(Loaded {
            scenario: load::parse(&name, self.text.as_bytes(), &self.files)?,
            text: self.text.clone(),
            files: self.files.clone(),
        })
    }
}

impl Reuse {
    /// Returns the identity of the run that `request` asks for, whose scenario is `loaded`.
    fn of_request(request: &RunRequest, loaded: &Loaded) -> Result<Self, Failure> {
        match &request.engine {
            EngineRequest::Sim(options) => {
                Ok(Self::of_plan(simulated(request, options, loaded)?, options))
            }
            EngineRequest::Kernel => {
                let arguments = ScenarioArgs::of(request).map_err(Failure::usage)?;
                let loaded = loaded.clone().first_run(&arguments.overrides);
                let plan = load::plan_loaded(&loaded, &arguments)?;
                let policies = plan.policies.iter().map(|policy| &*policy.label);
                let scenario = [&*plan.name, &*plan.scenario_hash];
                Ok(Self::of_scenario(scenario, plan.repetitions, policies))
            }
        }
    }

    /// Returns the identity of simulations of `plan` with the same end and the same trains as by `options`.
    pub fn of_plan(plan: Plan, options: &SimRequest) -> Self {
        let mut identity = run_dir::identity(plan);
        if let Some(until) = options.until_ns {
            identity += &format!(" until {until}");
        }
        if let Some(trains) = options.trains {
            identity += &format!(" in trains of {trains}");
        }
        Self::SamePlan(identity)
    }

    /// Returns the identity of the lab run with the facts `info`.
    pub fn of_lab_run(info: &RunInfo) -> Self {
        let policies = info.policies.iter().map(String::as_str);
        let scenario = [&*info.scenario, &*info.scenario_hash];
        Self::of_scenario(scenario, info.repetitions, policies)
    }

    fn of_scenario<'a>(
        [name, hash]: [&str; 2],
        repetitions: u32,
        policies: impl Iterator<Item = &'a str>,
    ) -> Self {
        let facts = (name, hash, repetitions, policies.collect::<Vec<_>>());
        Self::SameScenario(run_dir::hash(format!("{facts:?}")))
    }
}

/// Returns the plan of the simulation that `request` asks for with `options`, whose scenario is `loaded`.
fn simulated(request: &RunRequest, options: &SimRequest, loaded: &Loaded) -> Result<Plan, Failure> {
    let arguments = ScenarioArgs::of(request).map_err(Failure::usage)?;
    let loaded = loaded.clone().first_run(&arguments.overrides);
    let plan = PlanOptions {
        is_scaled: options.is_scaled,
        ..load::options(&arguments.overrides, Engine::Sim)?
    };
    load::resolve(&loaded, &request.scenario, &plan)
}
