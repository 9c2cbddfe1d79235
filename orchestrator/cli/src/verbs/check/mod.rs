//! `lcmp-lab check`: errors and warnings of a scenario, what its run cannot show, and its cost in both engines.
//!
//! - `engines`: numbers of flows, memory and time of a run, by engine
//! - `facts`: what a run cannot show, as text

mod engines;
mod facts;

use lab_plan::{Plan, Scope};
use lab_units::{
    Nanos,
    show::{about_time, counted},
};
use serde::Serialize;

use self::engines::Engines;
use crate::{
    args::{CheckArgs, ScenarioArgs},
    failure::{Exit, Failure, Outcome},
    load::{self, Loaded},
    terminal::{note, show},
    verbs::{inspect, train},
};

#[derive(Serialize)]
struct Checked<'a> {
    scenario: &'a str,
    policies: Vec<&'a str>,
    flows: usize,
    scale: &'a lab_plan::model::Scale,
    auto_scale: Option<&'a lab_plan::model::AutoScale>,
    estimate: &'a lab_plan::model::Estimate,
    /// Estimated time of the trainings before the first run; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    training_ns: Option<Nanos>,
    /// Facts that limit what the results can show.
    scope: &'a Scope,
    engines: &'a Engines,
    warnings: &'a [lab_plan::model::Warning],
    /// Sentences on numbers of the topology that its graph does not have.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    assumptions: &'a [String],
}

/// Runs `lcmp-lab check`.
pub fn check(arguments: &CheckArgs, json: bool) -> Outcome {
    let of_scenario = &arguments.scenario;
    let policies = &of_scenario.overrides.policies;
    let (loaded, trainings) = train::load(&of_scenario.scenario, policies)?;
    if !json {
        trainings.announce();
    }
    load::each_run(&loaded, &of_scenario.overrides, |loaded, _| {
        let (plan, lab_refusal) = load::plan_for_either(&loaded, of_scenario)?;
        load::check_objects(&loaded, &of_scenario.scenario, &plan)?;
        if !json {
            warn(&plan, arguments.strict);
            inspect::show_auto_scale(&plan);
        }
        let training = trainings.estimate();
        let engines = Engines::of(&plan, lab_refusal, &loaded, of_scenario, training)?;
        checked(of_scenario, &loaded, &plan, &engines, training, json)?;
        let fails = arguments.strict && !plan.warnings.is_empty();
        Ok(if fails { Exit::Failed } else { Exit::Pass })
    })
}

/// Prints the assumptions and warnings of a plan on standard error, the warnings as errors if `is_strict`.
fn warn(plan: &Plan, is_strict: bool) {
    if !is_strict {
        return inspect::warn(plan);
    }
    inspect::show_assumptions(plan);
    for warning in &plan.warnings {
        note(&format!("error: {}: {}", warning.code, warning.text));
    }
}

fn checked(
    arguments: &ScenarioArgs,
    loaded: &Loaded,
    plan: &Plan,
    engines: &Engines,
    training_ns: Option<Nanos>,
    json: bool,
) -> Outcome {
    let scope = lab_plan::scope(plan, &loaded.scenario, &loaded.text).map_err(Failure::usage)?;
    let checked = Checked {
        scenario: &plan.name,
        policies: plan.policies.iter().map(|run| run.label.as_str()).collect(),
        flows: plan.flows.len(),
        scale: &plan.scale,
        auto_scale: plan.auto_scale.as_ref(),
        estimate: &plan.estimate,
        training_ns,
        scope: &scope,
        engines,
        warnings: &plan.warnings,
        assumptions: &plan.assumptions,
    };
    show(json, &checked, |checked| {
        format!(
            "{}: sound{}; {}, policies {}; {}{}\n{}",
            arguments.scenario.display(),
            match checked.warnings.len() {
                0 => String::new(),
                1 => ", with a warning".to_owned(),
                count => format!(", with {count} warnings"),
            },
            counted(checked.flows as u64, "flow"),
            checked.policies.join(", "),
            if engines.lab.is_some() {
                format!(
                    "about {} of guest CPU time and {} of lab time per policy",
                    about_time(checked.estimate.cpu_ns),
                    about_time(checked.estimate.span_ns)
                )
            } else {
                "for the simulator only".to_owned()
            },
            checked.training_ns.map_or_else(String::new, |time| {
                format!(", after {} of training", about_time(time))
            }),
            facts::text(&scope, plan, engines),
        )
    })
}
