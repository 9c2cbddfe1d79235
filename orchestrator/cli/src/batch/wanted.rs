//! A wanted run, and the runs that may serve instead.

use std::path::Path;

use lab_plan::{Engine, Plan, PlanOptions};
use lab_records::{EngineRequest, RunInfo, RunRequest};
use lab_scenario::Files;
use lab_units::Nanos;

use crate::{
    args::ScenarioArgs,
    failure::Failure,
    load::{self, Loaded},
    run_dir,
};

/// A wanted run.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Name for messages.
    pub name: String,
    /// Request for the run.
    pub request: RunRequest,
    /// Scenario in place of the file at the request's path; messages still show the path.
    pub derived: Option<DerivedScenario>,
    /// Ended runs that may serve instead of a new one.
    pub reuse: Reuse,
}

/// Scenario that is not in a file.
#[derive(Clone, Debug)]
pub struct DerivedScenario {
    /// YAML text.
    pub text: String,
    /// Texts of the files that the scenario names.
    pub files: Files,
}

/// Ended runs that may serve instead of a new one, by their identity.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Reuse {
    /// No run: the new run measures the program that makes it.
    Never,
    /// Simulations of the same plan.
    SamePlan(String),
    /// Lab runs of all repetitions and policies of the same scenario; their scale depends on the place's capacity, so
    /// their plans differ.
    SameScenario(String),
}

impl Wanted {
    /// Returns the wish for a new run.
    pub fn new_run(name: String, request: RunRequest) -> Self {
        Self {
            name,
            request,
            derived: None,
            reuse: Reuse::Never,
        }
    }

    /// Returns the wish for a run of the derived scenario `loaded`, or for an ended run that is the same.
    /// Fails on a scenario that cannot be planned, with exit code 2.
    pub fn derived(name: String, request: RunRequest, loaded: Loaded) -> Result<Self, Failure> {
        Ok(Self {
            reuse: Reuse::of_request(&request, &loaded)?,
            derived: Some(DerivedScenario {
                text: loaded.text,
                files: loaded.files,
            }),
            ..Self::new_run(name, request)
        })
    }

    /// Returns the wish for a run of the scenario's file, or for an ended run that is the same.
    /// Fails on a scenario that cannot be read or planned, with exit code 2.
    pub fn of_file(name: String, request: RunRequest) -> Result<Self, Failure> {
        let loaded = load::load(&request.scenario)?;
        Ok(Self {
            reuse: Reuse::of_request(&request, &loaded)?,
            ..Self::new_run(name, request)
        })
    }
}

impl DerivedScenario {
    /// Returns the parsed scenario; messages call it `path`.
    pub fn loaded(&self, path: &Path) -> Result<Loaded, Failure> {
        let name = path.display().to_string();
        Ok(Loaded {
            scenario: load::parse(&name, self.text.as_bytes())?,
            text: self.text.clone(),
            files: self.files.clone(),
        })
    }
}

impl Reuse {
    /// Returns the runs that may serve for `request`, whose scenario is `loaded`.
    fn of_request(request: &RunRequest, loaded: &Loaded) -> Result<Self, Failure> {
        let arguments = ScenarioArgs::of(request).map_err(Failure::usage)?;
        let loaded = loaded.clone().first_run(&arguments.overrides);
        match &request.engine {
            EngineRequest::Sim(options) => {
                let plan = PlanOptions {
                    is_scaled: options.is_scaled,
                    ..load::options(&arguments.overrides, Engine::Sim)?
                };
                let plan = load::resolve(&loaded, &request.scenario, &plan)?;
                Ok(Self::of_plan(plan, options.until_ns))
            }
            EngineRequest::Kernel => {
                let plan = load::plan_loaded(&loaded, &arguments)?;
                let policies = plan.policies.iter().map(|policy| &*policy.label);
                let scenario = [&*plan.name, &*plan.scenario_hash];
                Ok(Self::of_scenario(scenario, plan.repetitions, policies))
            }
        }
    }

    /// Returns the simulations of `plan` that ended at the same virtual time, by `--until` or with the last flow.
    pub fn of_plan(plan: Plan, until: Option<Nanos>) -> Self {
        let identity = run_dir::identity(plan);
        Self::SamePlan(match until {
            Some(until) => format!("{identity} until {until}"),
            None => identity,
        })
    }

    /// Returns the lab runs for which the run with the facts `info` may serve.
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
        Self::SameScenario(run_dir::hash(&format!("{facts:?}")))
    }
}
