//! Verbs without effects: `check`, `plan`, `graph`, `schema`.

use std::fs;

use lab_kernel::lower::{self, LowerOptions};
use lab_plan::Plan;
use serde::Serialize;

use crate::{
    args::{GraphArgs, PlanArgs, ScenarioArgs},
    failure::{During, Exit, Failure, Outcome},
    load,
    terminal::{note, print, print_json},
};

#[derive(Serialize)]
struct Checked<'a> {
    scenario: &'a str,
    policies: Vec<&'a str>,
    flows: usize,
    estimate: &'a lab_plan::model::Estimate,
    warnings: &'a [lab_plan::model::Warning],
}

/// Runs `lcmp-lab check`.
pub fn check(arguments: &ScenarioArgs, json: bool) -> Outcome {
    let (loaded, plan) = load::plan(arguments, 0)?;
    load::check_objects(&loaded, &arguments.scenario, &plan)?;
    if json {
        print_json(&Checked {
            scenario: &plan.name,
            policies: labels(&plan),
            flows: plan.flows.len(),
            estimate: &plan.estimate,
            warnings: &plan.warnings,
        });
        return Ok(Exit::Pass);
    }
    warn(&plan);
    print(&format!(
        "{}: sound; {} flows, policies {}; about {} of guest CPU and {} of the lab's time for each policy",
        arguments.scenario.display(),
        plan.flows.len(),
        labels(&plan).join(", "),
        lab_units::show::about_time(plan.estimate.cpu_ns),
        lab_units::show::about_time(plan.estimate.span_ns),
    ));
    Ok(Exit::Pass)
}

/// Runs `lcmp-lab plan`.
pub fn plan(arguments: &PlanArgs, json: bool) -> Outcome {
    let (_, plan) = load::plan(&arguments.scenario, 0)?;
    if arguments.steps {
        let lab = plan.name.parse().map_err(Failure::usage)?;
        let steps = lower::lower(&plan, &LowerOptions::shown(lab));
        if json {
            print_json(&steps);
        } else {
            let lines: Vec<String> = steps.iter().map(ToString::to_string).collect();
            print(&lines.join("\n"));
        }
    } else if json {
        print_json(&plan);
    } else {
        print(&lab_plan::render_table(&plan));
    }
    Ok(Exit::Pass)
}

/// Runs `lcmp-lab graph`.
pub fn graph(arguments: &GraphArgs) -> Outcome {
    let (_, plan) = load::plan(&arguments.scenario, 0)?;
    let svg = lab_plan::render_svg(&plan);
    match &arguments.output {
        Some(path) => {
            fs::write(path, svg).during(format_args!("write `{}`", path.display()))?;
            note(&format!("wrote {}", path.display()));
        }
        None => print(&svg),
    }
    Ok(Exit::Pass)
}

/// Runs `lcmp-lab schema`.
pub fn schema() -> Outcome {
    print_json(&lab_scenario::schema());
    Ok(Exit::Pass)
}

/// Prints the warnings of a plan on standard error.
pub fn warn(plan: &Plan) {
    for warning in &plan.warnings {
        note(&format!("warning: {}: {}", warning.code, warning.text));
    }
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.policies.iter().map(|run| run.label.as_str()).collect()
}
