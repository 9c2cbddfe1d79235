//! `lcmp-lab up`: here, or in a guest where this kernel lacks modules.

mod guest;
mod here;
mod keeper;
mod ready;

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_kernel::LabName;
use lab_plan::Plan;

use crate::{
    args::{Global, UpArgs},
    facts,
    failure::{During, Exit, Failure, Outcome},
    load::{self, Loaded},
    objects,
    output::{note, print, print_json},
    progress::Progress,
    summary,
    verbs::inspect,
};

pub use guest::door;

/// What `up` was asked for, read and checked.
struct Request<'a> {
    arguments: &'a UpArgs,
    global: &'a Global,
    loaded: Loaded,
    /// For slot 0; a lab in another slot is planned again, with other addresses.
    plan: Plan,
    lab: LabName,
}

/// `lcmp-lab up`.
pub fn up(arguments: &UpArgs, global: &Global) -> Outcome {
    let (loaded, plan) = load::plan(&arguments.scenario, 0)?;
    refuse_foreign_policies(&plan)?;
    objects::check(&loaded, &arguments.scenario.scenario, &plan)?;
    let lab = global
        .lab
        .as_deref()
        .unwrap_or(&plan.name)
        .parse()
        .map_err(Failure::usage)?;
    let request = Request {
        arguments,
        global,
        loaded,
        plan,
        lab,
    };
    if let Some(dir) = &arguments.into {
        return here::into(&request, dir);
    }
    if let Some(caller) = arguments.keeper_for {
        return keeper::keep(&request, caller);
    }
    inspect::warn(&request.plan);
    if !nix::unistd::geteuid().is_root() {
        return Err(Failure::environment(
            "a lab needs root: it makes namespaces and loads eBPF (hint: sudo lcmp-lab up …)",
        ));
    }
    let missing = lab_kernel::doctor::missing_here();
    let in_guest = arguments.guest || (!arguments.here && !missing.is_empty());
    let guest_memory = in_guest.then(|| guest::memory(&request.plan));
    ready::check(&global.results, guest_memory)?;
    let run_dir = if in_guest {
        guest::say_why(&missing);
        if arguments.keep {
            keeper::start(&request)?
        } else {
            guest::run(&request)?
        }
    } else if missing.is_empty() {
        here::run(&request)?
    } else {
        let findings: Vec<String> = missing.iter().map(ToString::to_string).collect();
        return Err(Failure::environment(format_args!(
            "this kernel cannot run the lab (hint: leave out --here to use a guest):\n  {}",
            findings.join("\n  ")
        )));
    };
    conclude(&run_dir, global)
}

/// Refuses policies that the kernel engine cannot run: what it made of them would bear their name.
fn refuse_foreign_policies(plan: &Plan) -> Result<(), Failure> {
    let mut policies = plan.policies.iter();
    let foreign = policies.find_map(|run| Some((&run.label, run.policy.not_in_kernel()?)));
    match foreign {
        None => Ok(()),
        Some((label, why)) => Err(Failure::usage(format_args!(
            "the kernel engine does not run policy `{label}`: {why} (hint: the simulator does, \
             `lcmp-lab sim`; `--policies` chooses among the others)"
        ))),
    }
}

/// Writes the report of a run and says how it went.
pub fn conclude(run_dir: &Path, global: &Global) -> Outcome {
    let mut progress = Progress::new();
    progress.begin("report", 0);
    let report = lab_reports::render(run_dir)
        .during(format_args!("write the report of `{}`", run_dir.display()))?;
    progress.finish();
    let summary = &report.summary;
    if global.json {
        print_json(summary);
    } else {
        print(&summary::table(summary));
        print(&format!("report: {}", report.html.display()));
    }
    if summary.clean {
        return Ok(Exit::Pass);
    }
    for reason in &summary.reasons {
        note(&format!("not clean: {reason}"));
    }
    Ok(Exit::Inconclusive)
}

/// Makes the directory in `results` that the records of a run of `plan` go to.
pub fn make_run_dir(results: &Path, plan: &Plan, now: SystemTime) -> Result<PathBuf, Failure> {
    let dir = lab_records::create_run_dir(
        results,
        now,
        &plan.name,
        &facts::hash(&facts::plan_text(plan)),
    );
    let dir = dir.during(format_args!(
        "make a run directory in `{}`",
        results.display()
    ))?;
    load::absolute(&dir)
}
