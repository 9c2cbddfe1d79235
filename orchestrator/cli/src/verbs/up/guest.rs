//! `up` in a guest: the same command again, inside.

use std::{
    cell::RefCell,
    ffi::OsString,
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_guest::{
    GuestDoor, GuestError, GuestEvent, GuestOutcome, GuestRequest, Sinks, StayingGuest,
};
use lab_kernel::{LabName, doctor::Finding, journal, lab::Claim};
use lab_plan::Plan;
use lab_records::{Phase, UtcTime};
use lab_units::Bytes;

use super::{Request, make_run_dir};
use crate::{
    failure::{During, Exit, Failure, with_causes},
    load,
    output::note,
    progress::{Listener, Progress, about},
};

/// Says why the lab does not run on this kernel.
pub fn say_why(missing: &[Finding]) {
    let names: Vec<&str> = missing
        .iter()
        .map(|finding| finding.subject.as_str())
        .collect();
    if !names.is_empty() {
        note(&format!(
            "this kernel has no {}: running in a guest",
            names.join(", ")
        ));
    }
}

/// Boots a guest, runs the lab in it and gives back the run directory.
pub fn run(request: &Request<'_>) -> Result<PathBuf, Failure> {
    let prepared = Prepared::new(request)?;
    let (outcome, phases) = prepared.follow(&mut io::stdout(), lab_guest::run)?;
    prepared.dir_after(&outcome, phases)
}

/// Boots a guest and runs the lab in it; `then` goes on with the guest and the run directory, where
/// the lab inside was left up.
pub fn run_and_stay(
    request: &Request<'_>,
    then: impl FnOnce(StayingGuest<'_>, &Path) -> Result<(), GuestError>,
) -> Result<PathBuf, Failure> {
    let prepared = Prepared::new(request)?;
    // Standard output is the caller's.
    let ((outcome, guest), phases) = prepared.follow(&mut io::stderr(), lab_guest::run_and_stay)?;
    let dir = prepared.dir_after(&outcome, phases)?;
    if KEPT_CODES.contains(&outcome.exit_code) {
        then(guest, &dir).map_err(guest_failure)?;
    }
    Ok(dir)
}

/// The socket by which `exec` reaches a lab in a guest. It is in the lab's directory and so goes with
/// the lab, however its owner ends.
pub fn door(lab: &LabName) -> PathBuf {
    journal::directory(lab).join("exec.sock")
}

/// Everything before the guest boots.
struct Prepared {
    /// Nothing of the lab is made on this kernel, but its name is taken.
    _claim: Claim,
    dir: PathBuf,
    guest: GuestRequest,
}

impl Prepared {
    fn new(request: &Request<'_>) -> Result<Self, Failure> {
        let now = SystemTime::now();
        let claim = Claim::take_for_guest(&request.lab, &request.plan)
            .map_err(|error| Failure::environment(with_causes(&error)))?;
        let dir = make_run_dir(&request.global.results, &request.plan, now)?;
        let guest = guest_request(request, &dir, now)?;
        Ok(Self {
            _claim: claim,
            dir,
            guest,
        })
    }

    /// Has `run` run the guest, and tells what it says. How long the lab's phases took is known here.
    fn follow<'a, T>(
        &'a self,
        stdout: &mut dyn Write,
        run: impl FnOnce(&'a GuestRequest, &mut Sinks<'_>) -> Result<T, GuestError>,
    ) -> Result<(T, Vec<Phase>), Failure> {
        let progress = RefCell::new(Progress::new());
        let mut stderr = Listener::new(&progress);
        let mut sinks = Sinks {
            stdout,
            stderr: &mut stderr,
            events: &mut |event| tell(&progress.borrow(), &event),
        };
        let ran = run(&self.guest, &mut sinks);
        drop(stderr);
        let phases = progress.borrow_mut().finish();
        Ok((ran.map_err(guest_failure)?, phases))
    }

    /// The run directory, if the lab inside has left records, with the times that only this side knows.
    fn dir_after(&self, outcome: &GuestOutcome, phases: Vec<Phase>) -> Result<PathBuf, Failure> {
        if self.dir.join(lab_records::directory::RUN_FILE).exists() {
            lab_records::stamp(&self.dir, UtcTime::new(SystemTime::now()), phases)
                .during("write the times of the run's phases")?;
            return Ok(self.dir.clone());
        }
        let code = outcome.exit_code;
        Err(Failure {
            exit: Exit::Environment,
            message: format!(
                "the lab in the guest ended with exit code {code} before it had records \
                 (its console: {})",
                console_log(&self.dir).display()
            ),
        })
    }
}

fn guest_failure(error: GuestError) -> Failure {
    Failure {
        exit: Exit::of_guest(error.exit_code()),
        message: with_causes(&error),
    }
}

fn guest_request(
    request: &Request<'_>,
    dir: &Path,
    now: SystemTime,
) -> Result<GuestRequest, Failure> {
    let console = console_log(dir);
    let cwd = std::env::current_dir().during("find the working directory")?;
    let mut guest = GuestRequest::new(command(request, dir, now)?, &cwd, &console)
        .during("find this program")?;
    guest.clock = request.arguments.clock;
    guest.seed = request.plan.seed;
    guest.memory = memory(&request.plan);
    guest.writable = vec![dir.to_owned()];
    for name in PASSED_ON {
        guest.env.extend(
            std::env::var(name)
                .ok()
                .map(|value| (name.to_owned(), value)),
        );
    }
    let program = std::env::current_exe().during("find this program")?;
    let words = ["exec", "--lab", request.lab.as_str()];
    guest.door = Some(GuestDoor {
        socket: door(&request.lab),
        prefix: [program.into()]
            .into_iter()
            .chain(words.map(OsString::from))
            .collect(),
    });
    Ok(guest)
}

/// What a guest for `plan` may touch.
pub fn memory(plan: &Plan) -> Bytes {
    lab_guest::memory_for(plan.estimate.memory_bytes)
}

fn tell(progress: &Progress, event: &GuestEvent) {
    match event {
        GuestEvent::TryingKvm => progress.say("     guest  trying KVM"),
        GuestEvent::Booting {
            engine,
            clock,
            kernel,
        } => progress.say(&format!(
            "     guest  Linux {kernel} under {}, {} clock",
            engine.name(),
            clock.name()
        )),
        GuestEvent::Ready { boot_wall } => {
            progress.say(&format!("     guest  up in {}", about(*boot_wall)));
        }
        GuestEvent::CommandCameIn { words } => {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            progress.say(&format!("      exec  {}", words.join(" ")));
        }
        GuestEvent::Forwarded { .. } | GuestEvent::Ended { .. } => {}
    }
}

/// The command inside: this program, the same scenario, records into the run directory.
fn command(request: &Request<'_>, dir: &Path, now: SystemTime) -> Result<Vec<OsString>, Failure> {
    let mut command = again(request)?;
    let mut option = |name: &str, value: OsString| command.extend([OsString::from(name), value]);
    option("--into", dir.into());
    option("--started-at", UtcTime::new(now).to_string().into());
    if request.arguments.keep {
        command.push("--keep".into());
    }
    Ok(command)
}

/// The words of the same request to another process of this program.
pub fn again(request: &Request<'_>) -> Result<Vec<OsString>, Failure> {
    let program = std::env::current_exe().during("find this program")?;
    let arguments = &request.arguments;
    let scenario = load::absolute(&arguments.scenario.scenario)?;
    let mut command: Vec<OsString> = vec![program.into(), "up".into(), scenario.into()];
    let mut option = |name: &str, value: OsString| command.extend([OsString::from(name), value]);
    option("--lab", request.lab.to_string().into());
    option("--log", request.global.log.clone().into());
    option("--seed", request.plan.seed.to_string().into());
    if !arguments.scenario.policies.is_empty() {
        option("--policies", arguments.scenario.policies.join(",").into());
    }
    Ok(command)
}

/// Where the guest's console goes.
pub fn console_log(dir: &Path) -> PathBuf {
    dir.join("console.log")
}

/// What the command inside may know of this process's environment.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "TERM", "LANG"];

/// Exit codes of an `up` inside that has left its lab up.
const KEPT_CODES: [u8; 2] = [Exit::Pass.code(), Exit::Inconclusive.code()];
