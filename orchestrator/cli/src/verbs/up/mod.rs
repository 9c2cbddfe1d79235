//! `lcmp-lab up`: runs a lab on this kernel, or in a guest if this kernel lacks modules.
//!
//! - `decide`: location of the run and reasons for a refusal, a pure function of facts
//! - `here`, `guest`: the run on this kernel and in a guest
//! - `owner`: the background process that owns the guest of a kept lab

mod decide;
mod guest;
mod here;
mod owner;

use std::path::Path;

use lab_guest::{
    cache,
    probe::{self, Finding},
};
use lab_kernel::{LabName, doctor};
use lab_plan::Plan;

use self::decide::{Location, Machine};
use crate::{
    args::{Global, UpArgs},
    failure::{Failure, Outcome},
    load::{self, Loaded},
    run_dir,
    terminal::note,
    verbs::inspect,
};

pub use guest::exec_socket;

/// Arguments of an `up` with the scenario and plan they name.
struct Request<'a> {
    arguments: &'a UpArgs,
    global: &'a Global,
    loaded: Loaded,
    /// Plan for slot 0; a lab in another slot is planned again, since its addresses differ.
    plan: Plan,
    lab: LabName,
}

/// Runs `lcmp-lab up`.
pub fn up(arguments: &UpArgs, global: &Global) -> Outcome {
    let request = Request::new(arguments, global)?;
    if let Some(dir) = &arguments.into {
        return here::run_in_guest(&request, dir);
    }
    if let Some(caller) = arguments.owner_for {
        return owner::own(&request, caller);
    }
    inspect::warn(&request.plan);
    let machine = Machine::examine(&request);
    let location = decide::location(arguments, &machine)?;
    if location != Location::Here
        && let Some(reason) = decide::guest_reason(&machine.kernel_lacks)
    {
        note(&reason);
    }
    let dir = match location {
        Location::Here => here::run(&request)?,
        Location::Guest => guest::run(&request)?,
        Location::KeptGuest => owner::start(&request)?,
    };
    run_dir::conclude(&dir, global)
}

impl<'a> Request<'a> {
    fn new(arguments: &'a UpArgs, global: &'a Global) -> Result<Self, Failure> {
        let (loaded, plan) = load::plan(&arguments.scenario, 0)?;
        decide::check_policies(&plan)?;
        load::check_objects(&loaded, &arguments.scenario.scenario, &plan)?;
        let lab = global.lab.as_deref().unwrap_or(&plan.name).parse();
        Ok(Self {
            arguments,
            global,
            loaded,
            lab: lab.map_err(Failure::usage)?,
            plan,
        })
    }
}

impl Machine {
    /// Examines this machine for the request's run; without root, modules cannot be probed.
    fn examine(request: &Request<'_>) -> Self {
        let is_root = nix::unistd::geteuid().is_root();
        let kernel_lacks = match is_root {
            true => doctor::missing_here(),
            false => Vec::new(),
        };
        let guest_lacks = match is_root && decide::needs_guest(request.arguments, &kernel_lacks) {
            true => guest_lacks(&request.plan, &cache::default_dir()),
            false => Vec::new(),
        };
        Self {
            is_root,
            kernel_lacks,
            results: doctor::results_directory(&request.global.results),
            guest_lacks,
        }
    }
}

/// Returns the things that a guest for `plan` needs and this machine lacks.
fn guest_lacks(plan: &Plan, cache: &Path) -> Vec<Finding> {
    let mut lacks = probe::lacking(cache);
    // The memory of this plan's guest counts, not that of the smallest guest.
    lacks.retain(|finding| !matches!(finding, Finding::NoMemory { .. }));
    lacks.extend(probe::lacking_memory(guest::memory(plan)));
    lacks
}
