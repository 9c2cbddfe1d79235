//! `lcmp-lab up`: runs a lab on this kernel, or in a guest if this kernel lacks modules.
//!
//! - `cost`, `duration`: estimates for the flows and for the whole run, next to the actual values
//! - `decide`: location of the run and reasons for a refusal, a pure function of facts
//! - `here`, `guest`: the run on this kernel and in a guest
//! - `task`: the planned run, as it is passed to each process that takes part in it
//! - `appended`: rows on their way out of a guest
//! - `owner`: the background process that owns the guest of a kept lab

mod appended;
mod cost;
mod decide;
pub mod duration;
mod guest;
mod here;
mod owner;
mod task;

use std::{
    path::{Path, PathBuf},
    process::Child,
    time::Instant,
};

use lab_guest::probe::{self, GuestFinding};
use lab_kernel::{
    LabName,
    doctor::{self, Finding},
    lab::Live,
};
use lab_plan::{Capacity, Plan};
use lab_records::{Asked, SimRequest};
use lab_units::Place;
use tokio_util::sync::CancellationToken;

use self::{
    decide::{MachineFacts, RunLocation},
    duration::{DurationEstimate, Experience, Happened},
    task::{GuestTask, Request, Task},
};
use crate::{
    args::{Global, PlaceArgs, ScenarioArgs, UpArgs},
    failure::{During, Exit, Failure, Outcome},
    load::{self, Loaded},
    place,
    provenance::provenance,
    run_dir,
    terminal::{self, note},
    verbs::{
        inspect,
        train::{self, Trainings},
    },
};

pub use guest::{exec_socket, passed_environment, show_guest};
pub use here::{guest_cpu, preload};

/// Runs `lcmp-lab up`.
pub fn up(arguments: &UpArgs, global: &Global) -> Outcome {
    // From here on, a signal makes `up` undo everything that it has made so far.
    terminal::heed_signals().during("listen to signals")?;
    let ScenarioArgs {
        scenario: path,
        overrides,
    } = &arguments.scenario;
    let (loaded, mut trainings) = train::load(path, &overrides.policies)?;
    if arguments.keep && overrides.load.is_none() && !loaded.scenario.sweep().is_empty() {
        return Err(Failure::usage(
            "`--keep` needs a single run, but the scenario has several loads (hint: --load 0.5)",
        ));
    }
    load::each_run(&loaded, overrides, |loaded, overrides| {
        let mut arguments = arguments.clone();
        arguments.scenario.overrides = overrides;
        run_and_report(&arguments, global, loaded, &mut trainings)
    })
}

fn run_and_report(
    arguments: &UpArgs,
    global: &Global,
    loaded: Loaded,
    trainings: &mut Trainings,
) -> Outcome {
    let loaded = trainings.add_to(loaded);
    let request = Request::new(arguments, global, loaded.clone())?;
    let began = Instant::now();
    let (is_root, kernel_lacks) = kernel_lacks();
    let place = place::choose(&arguments.place, &kernel_lacks);
    let mut experience: Experience = place::durations(place).unwrap_or_default();
    let estimate = DurationEstimate::new(&request.plan, place, &experience, trainings.estimate());
    let mut training = None;
    let Ran { dir, kept, request } = run_at_place(
        (arguments, global),
        request,
        is_root,
        kernel_lacks,
        |request| {
            inspect::warn_of_place(&request.plan, place);
            trainings.announce();
            note(&format!("{}: {}", request.plan.name, estimate.sentence()));
            let since = Instant::now();
            let request = request.trained((arguments, global), loaded, trainings)?;
            training = estimate.has_training().then(|| since.elapsed());
            Ok(request)
        },
    )?;
    terminal::on_signal(&CancellationToken::new(), REPORTING, REPORTING)
        .during("listen to signals")?;
    let reporting = Instant::now();
    let cost = || {
        let Some(end) = run_dir::end(&dir) else {
            return String::new();
        };
        let happened = Happened::new(&end.phases, training, reporting.elapsed(), began.elapsed());
        if !end.is_interrupted {
            experience.add(&estimate, &happened);
            place::keep_durations(place, &experience);
        }
        let capacity = capacity(arguments, place);
        cost::table(&request.plan, &capacity, &end) + &estimate.table(&happened)
    };
    let concluded = run_dir::conclude(&dir, global, cost);
    if !terminal::is_interrupted() {
        return concluded;
    }
    if let Some(kept) = kept {
        kept.take_down(&request.task.lab)?;
    }
    // `up` was interrupted and is incomplete, even if the run itself was not.
    Ok(concluded?.or(Exit::Inconclusive))
}

/// Runs a scenario's lab and returns the run directory, which has no report yet.
pub fn run(arguments: &UpArgs, global: &Global) -> Result<PathBuf, Failure> {
    terminal::heed_signals().during("listen to signals")?;
    let (is_root, kernel_lacks) = kernel_lacks();
    let ScenarioArgs {
        scenario: path,
        overrides,
    } = &arguments.scenario;
    let (loaded, mut trainings) = train::load(path, &overrides.policies)?;
    let loaded = loaded.first_run(overrides);
    let request = Request::new(arguments, global, loaded.clone())?;
    let prepare = |request: Request| {
        trainings.announce();
        request.trained((arguments, global), loaded, &mut trainings)
    };
    Ok(run_at_place((arguments, global), request, is_root, kernel_lacks, prepare)?.dir)
}

/// Runs the guest's part of `up`; plan and task are files in `dir`, the host's run directory.
pub fn in_guest(dir: &Path) -> Outcome {
    terminal::heed_signals().during("listen to signals")?;
    let (guest, plan) = GuestTask::read(dir)?;
    here::run_in_guest(&guest, &plan, dir)
}

/// Runs the background process that owns a kept guest; `caller` is the ID of the process that started it.
pub fn as_owner(caller: i32, global: &Global) -> Outcome {
    terminal::heed_signals().during("listen to signals")?;
    owner::own(caller, global)
}

/// Returns true if this process runs as root, and the findings about what this kernel lacks. Without root, modules
/// cannot be probed.
fn kernel_lacks() -> (bool, Vec<Finding>) {
    let is_root = nix::unistd::geteuid().is_root();
    let lacks = if is_root {
        doctor::missing_here()
    } else {
        Vec::new()
    };
    (is_root, lacks)
}

/// Runs the lab on this kernel or in a guest, as [`decide::location`] selects. Once all checks have passed, calls
/// `prepare`, which returns the request with trained weights.
fn run_at_place(
    (arguments, global): (&UpArgs, &Global),
    request: Request,
    is_root: bool,
    kernel_lacks: Vec<Finding>,
    prepare: impl FnOnce(Request) -> Result<Request, Failure>,
) -> Result<Ran, Failure> {
    inspect::warn(&request.plan);
    inspect::show_auto_scale(&request.plan);
    let machine = MachineFacts::examine(&request, &global.results, is_root, kernel_lacks)?;
    let location = decide::location(arguments, &machine)?;
    if location != RunLocation::Here
        && let Some(reason) = decide::guest_reason(&machine.kernel_lacks)
    {
        note(&reason);
    }
    let request = prepare(request)?;
    if terminal::is_interrupted() {
        return Err(here::interrupted());
    }
    let ran = match location {
        RunLocation::Here => here::run(&request, &global.results)
            .map(|dir| (dir, request.task.keep.then_some(Kept::Here))),
        RunLocation::Guest => guest::run(&request, global).map(|dir| (dir, None)),
        RunLocation::KeptGuest => {
            owner::start(&request, global).map(|(dir, owner)| (dir, Some(Kept::InGuestOf(owner))))
        }
    };
    let (dir, kept) = ran.map_err(Failure::of_run)?;
    Ok(Ran { dir, kept, request })
}

/// Run whose flows have ended and whose report has not been written.
struct Ran {
    /// Path of the run directory.
    dir: PathBuf,
    /// Kept lab; `None` if the lab was taken down.
    kept: Option<Kept>,
    request: Request,
}

/// Lab that stays up after its run, by the kernel on which it runs.
enum Kept {
    /// On this kernel.
    Here,
    /// In a guest whose owner is this child process.
    InGuestOf(Child),
}

impl Kept {
    /// Takes the lab down because of a signal that arrived before `up` had returned.
    fn take_down(self, lab: &LabName) -> Result<(), Failure> {
        match self {
            Self::Here => {
                let left = lab_kernel::lab::down(lab, Live::Refuse)
                    .during(format_args!("take lab `{lab}` down"))?;
                here::all_removed(&left)?;
            }
            // The signal was forwarded to the owner, which ends the guest and then itself.
            Self::InGuestOf(mut owner) => {
                owner.wait().during("wait for the owner of the guest")?;
            }
        }
        note(&format!("interrupted: lab `{lab}` is down"));
        Ok(())
    }
}

/// Message for a signal that arrives after the flows have ended.
const REPORTING: &str = "interrupted: the report is being written";

impl Request {
    /// Plans the run that the command line describes.
    fn new(arguments: &UpArgs, global: &Global, loaded: Loaded) -> Result<Self, Failure> {
        let ScenarioArgs {
            scenario: path,
            overrides,
        } = &arguments.scenario;
        let plan = load::plan_loaded(&loaded, &arguments.scenario)?;
        decide::check_supported(&plan)?;
        decide::check_switches(&plan)?;
        load::check_objects(&loaded, path, &plan)?;
        let lab = global.lab.as_deref().unwrap_or(&plan.name).parse();
        let objects = path.parent().map(Path::to_owned).unwrap_or_default();
        let asked = Asked {
            load: overrides.load,
            options: SimRequest {
                is_scaled: true,
                ..SimRequest::default()
            },
        };
        Ok(Self {
            task: Task {
                lab: lab.map_err(Failure::usage)?,
                keep: arguments.keep,
                uncertified: arguments.uncertified,
                objects: std::path::absolute(&objects).unwrap_or(objects),
                provenance: provenance(&loaded.scenario, &plan, asked),
            },
            plan,
            scenario: loaded.text,
            files: loaded.files,
            place: arguments.place.clone(),
        })
    }

    /// Trains the weights that `loaded` lacks, and plans the run again with them.
    fn trained(
        self,
        (arguments, global): (&UpArgs, &Global),
        loaded: Loaded,
        trainings: &mut Trainings,
    ) -> Result<Self, Failure> {
        if trainings.estimate().is_none() {
            return Ok(self);
        }
        trainings.finish()?;
        Self::new(arguments, global, trainings.add_to(loaded))
    }
}

/// Returns the capacity of `place`: the one that `--scale-for` gives for this place, or the default.
fn capacity(arguments: &UpArgs, place: Place) -> Capacity {
    let named = arguments.scenario.overrides.scale_for;
    named
        .filter(|capacity| capacity.place == place)
        .unwrap_or_else(|| Capacity::default_of(place))
}

impl MachineFacts {
    /// Examines this machine for the request's run.
    fn examine(
        request: &Request,
        results: &Path,
        is_root: bool,
        kernel_lacks: Vec<Finding>,
    ) -> Result<Self, Failure> {
        let place = &request.place;
        let guest_lacks = if is_root && place::needs_guest(place, &kernel_lacks) {
            guest_lacks(&request.plan, place, &place::guest_cache(place)?)
        } else {
            Vec::new()
        };
        Ok(Self {
            is_root,
            kernel_lacks,
            results: doctor::results_directory(results),
            guest_lacks,
        })
    }
}

/// Returns the requirements of a guest for `plan` that this machine lacks.
fn guest_lacks(plan: &Plan, place: &PlaceArgs, cache: &Path) -> Vec<GuestFinding> {
    let mut lacks = probe::lacking(cache);
    // The memory for this plan's guest is checked, not that for the smallest guest.
    lacks.retain(|finding| !matches!(finding, GuestFinding::NoMemory { .. }));
    lacks.extend(probe::lacking_memory(guest::memory(plan, place)));
    lacks
}
