//! `up` in a guest: the host boots a guest, which runs the lab of the plan in the run directory.

use std::{
    cell::RefCell,
    ffi::OsString,
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_guest::{ExecConfig, GuestError, GuestEvent, GuestRequest, Signals, Sinks, StayingGuest};
use lab_kernel::{LabName, journal, lab::Reservation};
use lab_plan::Plan;
use lab_records::{ChangeKind, LiveChange, Phase, RunDir, UtcTime};
use lab_units::Bytes;

use super::{
    appended::CopiedTables,
    here::{RECORDING_VARIABLE, interrupted},
    task::{GuestTask, Request},
};
use crate::{
    args::{Global, PlaceArgs},
    caller::Handover,
    failure::{During, Exit, Failure, with_causes},
    place,
    progress::{GuestStderr, Progress, about},
    run_dir, terminal,
};

/// Boots a guest, runs the lab in it and returns the run directory.
pub fn run(request: &Request, global: &Global) -> Result<PathBuf, Failure> {
    let (signals, prepared) = Prepared::new(request, global)?;
    let (code, observed) = prepared.run(&mut io::stdout(), |guest, sinks| {
        lab_guest::run(guest, signals, sinks)
    })?;
    prepared.finish(code, observed)
}

/// Boots a guest and runs the lab in it. If the lab is kept, calls `then` with the guest and the run directory. After
/// an interruption the guest is ended, whether or not it has a lab.
pub fn run_and_stay(
    request: &Request,
    global: &Global,
    then: impl FnOnce(StayingGuest<'_>, &Path) -> Result<(), GuestError>,
) -> Result<PathBuf, Failure> {
    let (signals, prepared) = Prepared::new(request, global)?;
    // Standard output is reserved for the result of the run, which the caller reads.
    let ((code, guest), observed) = prepared.run(&mut io::stderr(), |guest, sinks| {
        lab_guest::run_and_stay(guest, signals, sinks)
    })?;
    let dir = prepared.finish(code, observed)?;
    if KEPT_CODES.contains(&code) && !terminal::is_interrupted() && !prepared.was_interrupted() {
        then(guest, &dir).map_err(guest_failure)?;
    }
    Ok(dir)
}

/// Returns the path of the exec socket of a lab in a guest. The socket lies in the lab's directory, so the directory's
/// removal removes the socket even if the lab's owner was killed.
pub fn exec_socket(lab: &LabName) -> PathBuf {
    journal::directory(lab).join("exec.sock")
}

/// Boots a guest with `run`, passes on its standard output and outbox, and shows its progress. Returns the result with
/// what the host observed.
pub fn show_guest<'a, T>(
    guest: &'a GuestRequest,
    (stdout, outbox): (&mut dyn Write, &mut dyn Write),
    run: impl FnOnce(&'a GuestRequest, &mut Sinks<'_>) -> Result<T, GuestError>,
) -> Result<(T, Observed), Failure> {
    let progress = RefCell::new(Progress::new());
    let mut stderr = GuestStderr::new(&progress);
    let mut changes = Vec::new();
    let mut sinks = Sinks {
        stdout,
        stderr: &mut stderr,
        outbox,
        events: &mut |event| {
            changes.extend(exec_change(&event));
            show(&progress.borrow(), &event);
        },
    };
    let ended = run(guest, &mut sinks);
    drop(stderr);
    let phases = progress.borrow_mut().finish();
    Ok((ended.map_err(guest_failure)?, Observed { phases, changes }))
}

/// Returns the environment variables of this process that commands in a guest inherit.
pub fn passed_environment() -> Vec<(String, String)> {
    let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    PASSED_VARIABLES.iter().filter_map(variable).collect()
}

/// Reservation, run directory and boot request of a guest that has not been booted.
struct Prepared {
    /// Reservation of the lab's name on the host. No object of the lab exists on this kernel.
    _reservation: Reservation,
    dir: PathBuf,
    _handover: Handover,
    guest: GuestRequest,
}

/// Facts of a run that only the host knows.
pub struct Observed {
    /// Phases of the lab with their durations by the host's clock.
    pub phases: Vec<Phase>,
    /// Commands that `exec` ran in the guest.
    changes: Vec<LiveChange>,
}

impl Prepared {
    /// Prepares a run, and returns the signal queue, which must exist before the first object of the run.
    fn new(request: &Request, global: &Global) -> Result<(Signals, Self), Failure> {
        let signals = Signals::listen().during("listen to signals")?;
        if terminal::is_interrupted() {
            return Err(interrupted());
        }
        let now = SystemTime::now();
        let reservation = Reservation::acquire_for_guest(&request.task.lab, &request.plan)
            .map_err(|error| Failure::environment(with_causes(&error)))?;
        let (dir, plan_hash) = run_dir::create(&global.results, &request.plan, now)?;
        let handover = Handover::of(&dir);
        reservation
            .record_run(&dir)
            .during("record the lab's run")?;
        request.keep_inputs(&dir)?;
        GuestTask::new(&request.task, plan_hash, now).write(&dir)?;
        let guest = guest_request(request, &dir, &global.log)?;
        let prepared = Self {
            _reservation: reservation,
            _handover: handover,
            dir,
            guest,
        };
        Ok((signals, prepared))
    }

    /// Boots the guest with `run`, stores its rows, shows its progress, and returns the result with what the host
    /// observed.
    fn run<'a, T>(
        &'a self,
        stdout: &mut dyn Write,
        run: impl FnOnce(&'a GuestRequest, &mut Sinks<'_>) -> Result<T, GuestError>,
    ) -> Result<(T, Observed), Failure> {
        let mut tables = CopiedTables::new(&self.dir);
        let ended = show_guest(&self.guest, (stdout, &mut tables), run);
        GuestTask::remove(&self.dir);
        ended.map_err(|failure| match self.flows() {
            0 => failure,
            flows => Failure {
                message: format!(
                    "{}\n(the rows of {flows} flows are kept: `lcmp-lab report {}`)",
                    failure.message,
                    self.dir.display()
                ),
                ..failure
            },
        })
    }

    /// Returns the number of rows in `flows.csv`, 0 if it cannot be read.
    fn flows(&self) -> usize {
        let flows = RunDir::open(&self.dir).and_then(|run| run.flows());
        flows.map_or(0, |flows| flows.rows.len())
    }

    /// Returns true if the run has ended, or at least one flow has.
    fn has_results(&self) -> bool {
        RunDir::open(&self.dir).is_ok_and(|run| run.outcome().is_some()) || self.flows() > 0
    }

    /// Returns true if the records state that the run was interrupted.
    fn was_interrupted(&self) -> bool {
        let run = RunDir::open(&self.dir);
        run.is_ok_and(|run| run.outcome().is_some_and(|it| it.end.is_interrupted))
    }

    /// Writes the host's times into the records and returns the run directory.
    ///
    /// # Errors
    /// If the lab ended before the first result.
    fn finish(&self, code: u8, observed: Observed) -> Result<PathBuf, Failure> {
        if self.has_results() {
            let now = UtcTime::new(SystemTime::now());
            lab_records::parquet_table::remove_copied(&self.dir)
                .during("remove what Parquet replaces")?;
            lab_records::stamp(&self.dir, now, observed.phases, observed.changes)
                .during("record the durations of the run's phases")?;
            run_dir::make_latest(&self.dir)?;
            return Ok(self.dir.clone());
        }
        let console = console_log(&self.dir);
        let message = format_args!(
            "the lab in the guest ended with exit code {code} before it had results (console log: {})",
            console.display()
        );
        Err(Failure::guest(code, message))
    }
}

/// Returns the record of a command that `exec` runs in the guest; `None` for other events.
fn exec_change(event: &GuestEvent) -> Option<LiveChange> {
    let GuestEvent::ExecStarted { words } = event else {
        return None;
    };
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    Some(LiveChange {
        kind: ChangeKind::Exec,
        policy: None,
        repetition: None,
        time_ns: None,
        at: Some(UtcTime::new(SystemTime::now())),
        text: words.join(" "),
    })
}

fn guest_failure(error: GuestError) -> Failure {
    match &error {
        GuestError::Outbox { .. } => Failure::of(&error).of_run(),
        _ => Failure::guest(error.exit_code(), with_causes(&error)),
    }
}

fn guest_request(request: &Request, dir: &Path, log: &str) -> Result<GuestRequest, Failure> {
    let console = console_log(dir);
    let cwd = std::env::current_dir().during("find the working directory")?;
    let program = std::env::current_exe().during("find this program")?;
    let command: Vec<OsString> = vec![
        program.clone().into(),
        "up-in-guest".into(),
        dir.into(),
        "--log".into(),
        log.into(),
    ];
    let mut guest = GuestRequest::new(command, &cwd, &console).during("find this program")?;
    guest.clock = request.place.clock;
    guest.cache = place::guest_cache(&request.place)?;
    guest.seed = request.plan.seed;
    guest.memory = memory(&request.plan, &request.place);
    guest.writable = vec![dir.to_owned()];
    guest.env = passed_environment();
    let lab = &request.task.lab;
    let words = ["exec", "--lab", lab.as_str()];
    guest.exec = Some(ExecConfig {
        socket: exec_socket(lab),
        prefix: [program.into()]
            .into_iter()
            .chain(words.map(OsString::from))
            .collect(),
    });
    Ok(guest)
}

/// Returns the memory of the guest that runs `plan`: what the user asks for, or what the plan needs.
pub fn memory(plan: &Plan, place: &PlaceArgs) -> Bytes {
    place
        .guest_memory
        .unwrap_or_else(|| lab_guest::memory_for(plan.estimate.memory_bytes))
}

fn show(progress: &Progress, event: &GuestEvent) {
    match event {
        GuestEvent::TryingKvm => progress.say("     guest  trying KVM"),
        GuestEvent::Booting {
            accelerator,
            clock,
            kernel,
        } => progress.say(&format!(
            "     guest  Linux {kernel} under {}, {} clock",
            accelerator.name(),
            clock.name()
        )),
        GuestEvent::Ready { boot_wall, .. } => {
            progress.say(&format!("     guest  up in {}", about(*boot_wall)));
        }
        GuestEvent::ExecStarted { words } => {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            progress.say(&format!("      exec  {}", words.join(" ")));
        }
    }
}

/// Returns the path of the guest's console log in the run directory `dir`.
pub fn console_log(dir: &Path) -> PathBuf {
    dir.join("console.log")
}

/// Names of the environment variables that commands in a guest inherit.
const PASSED_VARIABLES: [&str; 5] = ["PATH", "HOME", "TERM", "LANG", RECORDING_VARIABLE];

/// Exit codes of the guest's part of `up` that mean that the lab was kept.
const KEPT_CODES: [u8; 3] = [
    Exit::Pass.code(),
    Exit::Inconclusive.code(),
    Exit::Invalid.code(),
];
