//! Verbs that change nothing: `plan`, `graph`, `schema`; and messages about a plan that other verbs print, too.

use lab_kernel::lower::{self, LowerOptions};
use lab_plan::Plan;
use lab_units::{Place, show::about_time};

use crate::{
    args::{GraphArgs, PlanArgs, ScenarioArgs},
    caller,
    failure::{Exit, Failure, Outcome},
    load,
    terminal::{note, print_json, show},
    verbs::train,
};

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
    loaded.check_load(overrides)?;
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
    show_assumptions(plan);
    for warning in &plan.warnings {
        note(&format!("warning: {}: {}", warning.code, warning.text));
    }
}

/// Prints the assumptions of a plan on standard error.
pub fn show_assumptions(plan: &Plan) {
    for assumption in &plan.assumptions {
        note(&format!("assumed: {assumption}"));
    }
}
