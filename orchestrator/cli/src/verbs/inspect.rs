//! Verbs that change nothing: `check`, `plan`, `graph`, `schema`.

use lab_kernel::lower::{self, LowerOptions};
use lab_plan::Plan;
use lab_units::{Nanos, Place, show::about_time};
use serde::Serialize;

use crate::{
    args::{GraphArgs, PlanArgs, ScenarioArgs},
    caller,
    failure::{Exit, Failure, Outcome},
    load,
    terminal::{note, print_json, show},
    verbs::train,
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
    warnings: &'a [lab_plan::model::Warning],
    /// Sentences on numbers of the topology that its graph does not have.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    assumptions: &'a [String],
}

/// Runs `lcmp-lab check`.
pub fn check(arguments: &ScenarioArgs, json: bool) -> Outcome {
    let policies = &arguments.overrides.policies;
    let (loaded, trainings) = train::load(&arguments.scenario, policies)?;
    if !json {
        trainings.announce();
    }
    load::each_run(&loaded, &arguments.overrides, |loaded, _| {
        let plan = load::plan_loaded(&loaded, arguments)?;
        load::check_objects(&loaded, &arguments.scenario, &plan)?;
        checked(arguments, &plan, trainings.estimate(), json)
    })
}

fn checked(
    arguments: &ScenarioArgs,
    plan: &Plan,
    training_ns: Option<Nanos>,
    json: bool,
) -> Outcome {
    if !json {
        warn(plan);
        show_auto_scale(plan);
    }
    let checked = Checked {
        scenario: &plan.name,
        policies: labels(plan),
        flows: plan.flows.len(),
        scale: &plan.scale,
        auto_scale: plan.auto_scale.as_ref(),
        estimate: &plan.estimate,
        training_ns,
        warnings: &plan.warnings,
        assumptions: &plan.assumptions,
    };
    show(json, &checked, |checked| {
        format!(
            "{}: sound{}; {} flows, policies {}; about {} of guest CPU time and {} of lab time per policy{}",
            arguments.scenario.display(),
            match checked.warnings.len() {
                0 => String::new(),
                1 => ", with a warning".to_owned(),
                count => format!(", with {count} warnings"),
            },
            checked.flows,
            checked.policies.join(", "),
            about_time(checked.estimate.cpu_ns),
            about_time(checked.estimate.span_ns),
            checked.training_ns.map_or_else(String::new, |time| {
                format!(", after {} of training", about_time(time))
            }),
        )
    })
}

/// Runs `lcmp-lab plan`.
pub fn plan(arguments: &PlanArgs, json: bool) -> Outcome {
    let plan = shown_plan(&arguments.scenario)?;
    if arguments.steps {
        let lab = plan.name.parse().map_err(Failure::usage)?;
        let steps = lower::lower(&plan, &LowerOptions::shown(lab));
        return show(json, &steps, |steps| {
            let lines: Vec<String> = steps.iter().map(ToString::to_string).collect();
            lines.join("\n")
        });
    }
    show(json, &plan, lab_plan::render_table)
}

/// Runs `lcmp-lab graph`.
pub fn graph(arguments: &GraphArgs) -> Outcome {
    let plan = shown_plan(&arguments.scenario)?;
    let svg = lab_plan::render_svg(&plan);
    caller::write_to(arguments.output.as_deref(), &svg)
}

/// Plans the first run of a scenario for a lab.
fn shown_plan(arguments: &ScenarioArgs) -> Result<Plan, Failure> {
    let overrides = &arguments.overrides;
    let loaded = train::load_shown(&arguments.scenario, &overrides.policies)?;
    load::plan_loaded(&loaded.first_run(overrides), arguments)
}

/// Runs `lcmp-lab schema`.
pub fn schema() -> Outcome {
    print_json(&lab_scenario::schema());
    Ok(Exit::Pass)
}

/// Prints the factors of an automatic scale, and the time that flows take at this scale, on standard error.
pub fn show_auto_scale(plan: &Plan) {
    let Some(auto) = &plan.auto_scale else {
        return;
    };
    let scale = &plan.scale;
    let estimate = lab_plan::estimate_at(plan, &auto.capacity);
    note(&format!(
        "scale: auto: rates × {}, times × {}, sizes × {}, the finest for {}; the flows of all \
         policies then take about {} of wall-clock time and use at most {} % of that capacity in any second",
        scale.rate,
        scale.time,
        scale.size,
        auto.capacity,
        about_time(estimate.wall_ns),
        estimate.peak_percent,
    ));
}

/// Warns on standard error if the plan's automatic scale was computed for another kernel or guest than `place`, where
/// the lab runs.
pub fn warn_of_place(plan: &Plan, place: Place) {
    let Some(auto) = &plan.auto_scale else {
        return;
    };
    let fits = auto.capacity.place;
    if fits != place {
        note(&format!(
            "warning: the automatic scale fits {fits}, but this lab runs at {place} (hint: --scale-for {place})"
        ));
    }
}

/// Prints the assumptions and warnings of a plan on standard error.
pub fn warn(plan: &Plan) {
    for assumption in &plan.assumptions {
        note(&format!("assumed: {assumption}"));
    }
    for warning in &plan.warnings {
        note(&format!("warning: {}: {}", warning.code, warning.text));
    }
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.policies.iter().map(|run| run.label.as_str()).collect()
}
