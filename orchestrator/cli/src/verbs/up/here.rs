//! `up` on this kernel, and the part of `up` that runs inside a guest.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Instant, SystemTime},
};

use lab_guest::{inside, outbox::Outbox};
use lab_kernel::{
    Lab,
    exec::UndoError,
    lab::{LabError, LabErrorKind, Reservation},
    lower::{HostPlacement, LowerOptions},
    run::{AgentLauncher, RunError, RunReport, Runner},
};
use lab_plan::Plan;
use lab_recorder::RunSetting;
use lab_records::{
    Certification, CertifiedRow, Conduct, GuestCpu, LinkBounds, LiveChange, Outcome as RunOutcome,
    Phase, RunEnd, RunWriter, UtcTime, directory::RUN_FILE, draft,
};
use tokio_util::sync::CancellationToken;

use super::{
    appended,
    task::{GuestTask, Request, Task},
};
use crate::{
    args,
    caller::Handover,
    exec_log,
    failure::{During, Exit, Failure, Outcome},
    progress::Progress,
    run_dir, terminal,
};

/// Runs the lab on this kernel and returns the run directory.
pub fn run(request: &Request, results: &Path) -> Result<PathBuf, Failure> {
    let now = SystemTime::now();
    let (dir, plan_hash) = run_dir::create(results, &request.plan, now)?;
    let _handover = Handover::of(&dir);
    let plan = (&request.plan, plan_hash.as_str());
    let records = Records::Here { request, dir: &dir };
    LabRun::new(&request.task, plan, records, now).run()?;
    Ok(dir)
}

/// Runs the guest's part of `up`. Records are written to memory, because disk access would make the virtual clock jump.
/// Each row goes to the host through the outbox as it is written. All records are copied to `dir` before the first row
/// and after the last one.
pub fn run_in_guest(guest: &GuestTask, plan: &Plan, dir: &Path) -> Outcome {
    fs::create_dir_all(STAGED_RECORDS).during(format_args!("make `{STAGED_RECORDS}`"))?;
    preload()?;
    let outbox = Outbox::open().during("open the outbox that sends table rows to the host")?;
    let host = Host {
        dir,
        outbox: Arc::new(Mutex::new(outbox)),
    };
    let plan = (plan, guest.plan_hash.as_str());
    let run = LabRun::new(
        &guest.task,
        plan,
        Records::OfHost(host),
        guest.started_at.into(),
    );
    Ok(Exit::of_run(run.run()?.verdict.grade))
}

/// Run of a lab on this kernel.
struct LabRun<'a> {
    task: &'a Task,
    /// Plan for lab slot 0, whose addresses and names are changed to those of the lab's slot when the lab is created.
    plan: &'a Plan,
    plan_hash: &'a str,
    records: Records<'a>,
    started: SystemTime,
    since: Instant,
    setting: RunSetting,
    cancel: CancellationToken,
}

/// Destination of the records.
enum Records<'a> {
    /// Run directory `dir`, which this process writes itself.
    Here { request: &'a Request, dir: &'a Path },
    /// Directory in this guest's memory, from which the records are copied to the host.
    OfHost(Host<'a>),
}

impl Records<'_> {
    /// Returns the directory that this process writes records to.
    fn dir(&self) -> &Path {
        match self {
            Self::Here { dir, .. } => dir,
            Self::OfHost(_) => Path::new(STAGED_RECORDS),
        }
    }

    /// Completes the records before the first row: stores the inputs of the run or, in a guest, copies the run's facts
    /// to the host.
    fn begin(&self, records: &mut RunWriter) -> Result<(), Failure> {
        match self {
            Self::Here { request, dir } => {
                request.keep_inputs(dir)?;
                run_dir::make_latest(dir)
            }
            // If the guest is killed, the host still has these facts and the rows until then.
            Self::OfHost(host) => {
                host.copy(self.dir())
                    .during("copy the facts of the run to the host")?;
                host.follow(records);
                Ok(())
            }
        }
    }

    /// Copies the records to the host after the last row, if this is a guest.
    fn end(&self) -> Result<(), Failure> {
        match self {
            Self::Here { .. } => Ok(()),
            Self::OfHost(host) => host.copy(self.dir()).during("copy the records to the host"),
        }
    }
}

/// Access from a guest to its host's copy of the records.
struct Host<'a> {
    /// Run directory on the host. Copying there makes the virtual clock jump, so nothing is copied while flows run.
    dir: &'a Path,
    /// Outbox for appended rows; sending a row costs only a copy in memory.
    outbox: Arc<Mutex<Outbox>>,
}

impl Host<'_> {
    /// Sends every row that is appended to a table from now on.
    fn follow(&self, records: &mut RunWriter) {
        let outbox = self.outbox.clone();
        records.mirror_to(move |table, bytes| {
            lock(&outbox).send(&appended::message(table, bytes));
        });
    }

    /// Copies the records in `staged` to the host. Each file is replaced only by a complete copy, so that the records
    /// stay readable if the disk becomes full. `run.json`, which makes the directory a run, is copied last.
    fn copy(&self, staged: &Path) -> io::Result<()> {
        // Rows in the outbox must arrive first: the copied tables contain them, and they would be appended again.
        lock(&self.outbox).drain();
        let entries = fs::read_dir(staged)?.collect::<io::Result<Vec<_>>>()?;
        let (last, first): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .map(|entry| entry.file_name())
            .partition(|name| name == RUN_FILE);
        for name in first.iter().chain(&last) {
            let partial = self.dir.join(PARTIAL_COPY);
            let copied = fs::copy(staged.join(name), &partial)
                .and_then(|_| fs::rename(&partial, self.dir.join(name)));
            if copied.is_err() {
                // A partial copy must not take up space on a full disk.
                let _ = fs::remove_file(&partial);
            }
            copied?;
        }
        Ok(())
    }
}

fn lock(outbox: &Mutex<Outbox>) -> MutexGuard<'_, Outbox> {
    outbox.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> LabRun<'a> {
    fn new(
        task: &'a Task,
        (plan, plan_hash): (&'a Plan, &'a str),
        records: Records<'a>,
        started: SystemTime,
    ) -> Self {
        Self {
            task,
            plan,
            plan_hash,
            records,
            started,
            since: Instant::now(),
            setting: run_dir::kernel_setting(),
            cancel: CancellationToken::new(),
        }
    }

    fn run(&self) -> Result<RunOutcome, Failure> {
        terminal::cancel_on_signal(&self.cancel).during("listen to signals")?;
        let task = self.task;
        let dir = self.records.dir();
        let mut progress = Progress::new();
        let reservation = Reservation::acquire(&task.lab, &self.plan.name).map_err(environment)?;
        reservation.record_run(dir).during("record the lab's run")?;
        let mut records = run_dir::start_records(
            dir,
            (self.plan, self.plan_hash),
            (&self.setting, &task.provenance),
            self.started,
        )?;
        self.records.begin(&mut records)?;
        let plan = self.plan.clone().in_slot(reservation.slot());
        let mut lab = self.build(reservation, &plan, &mut progress)?;
        progress.begin("links", 0);
        let certificate = self.certify(&mut lab)?;
        records
            .append(&certificate)
            .during("write the certificate")?;
        let links = Certification::of(&certificate);
        self.hold(&certificate, &links)?;
        progress.expect(u64::from(plan.repetitions) * plan.policies.len() as u64);
        let result = self.run_flows(&plan, &mut lab, &mut records, &mut progress);
        let commands = exec_log::read(&task.lab);
        let state = lab.state();

        let ended = if result.is_ok() && task.keep {
            self.keep(lab, &progress)
        } else {
            progress.begin("teardown", 0);
            take_down(lab)
        };
        let phases = progress.finish();
        for (name, text) in state {
            if let Err(error) = draft::replace(&dir.join(name), text.as_bytes()) {
                terminal::note(&format!("warning: cannot write `{name}`: {error}"));
            }
        }
        let ending = Ending::of(result, ended);
        self.finish(&plan, records, (links, commands), phases, ending)
    }

    fn build(
        &self,
        reservation: Reservation,
        plan: &Plan,
        progress: &mut Progress,
    ) -> Result<Lab, Failure> {
        // The pacer is shared by all hosts, so it needs them in the root namespace.
        let hosts = match plan.transport.cc.in_lab() {
            Some(_) => HostPlacement::RootNamespace,
            None => {
                lab_kernel::doctor::probe_host_placement().unwrap_or(HostPlacement::RootNamespace)
            }
        };
        let options = LowerOptions {
            lab: self.task.lab.clone(),
            hosts,
            clock: self.setting.clock,
            delay_lines: true,
            cpus: u32::try_from(args::threads(None)).unwrap_or(u32::MAX),
        };
        progress.begin("build-up", 0);
        Lab::up(reservation, plan, &options, &self.cancel, &mut |at| {
            progress.built(at);
        })
        .map_err(|error: LabError| match error.kind {
            LabErrorKind::Cancelled => interrupted(),
            _ => environment(error),
        })
    }

    /// Measures the rate, delay and buffer of every link, and returns the rows of `certificate.csv`.
    fn certify(&self, lab: &mut Lab) -> Result<Vec<CertifiedRow>, Failure> {
        let bounds = LinkBounds::of(self.setting.location, self.setting.clock);
        lab.certify(&bounds, &self.cancel)
            .map_err(|kind| match kind {
                LabErrorKind::Cancelled => interrupted(),
                kind => environment(kind),
            })
    }

    /// Fails if a link's measured rate, delay or buffer is out of its bounds, unless the user accepts that with
    /// `--uncertified`.
    fn hold(&self, certificate: &[CertifiedRow], links: &Certification) -> Result<(), Failure> {
        let out: Vec<String> = certificate
            .iter()
            .filter_map(|row| {
                let problem = row.problem.as_ref()?;
                let link = &row.link;
                let from = &row.from;
                let to = &row.to;
                Some(format!("link `{link}`, {from} → {to}: {problem}"))
            })
            .collect();
        if out.is_empty() {
            return Ok(());
        }
        let shown = out.iter().take(MAX_LINKS);
        let more = out.len().saturating_sub(MAX_LINKS);
        let mut text = format!(
            "{} of {} link directions have measured values out of bounds:",
            links.out_of_bounds, links.directions
        );
        text.extend(shown.map(|line| format!("\n  {line}")));
        if more > 0 {
            text += &format!("\n  and {more} more");
        }
        if self.task.uncertified {
            terminal::note(&format!(
                "warning: the lab does not match the scenario: {text}"
            ));
            return Ok(());
        }
        Err(Failure::environment(format_args!(
            "the lab does not match the scenario: {text}\n(hint: `--uncertified` runs it anyway; the run is then at best \
             doubtful)"
        )))
    }

    fn run_flows(
        &self,
        plan: &Plan,
        lab: &mut Lab,
        records: &mut RunWriter,
        progress: &mut Progress,
    ) -> Result<RunReport, Failure> {
        let program = env::current_exe().during("find this program")?;
        let is_inside = inside::is_inside();
        let agents = AgentLauncher {
            command: vec![program.into(), OsString::from("switchd")],
            socket_dir: lab.directory(),
            lab: self.task.lab.to_string(),
            programs: self.task.objects.clone(),
        };
        let mut recording = self.recording()?;
        // With a single thread, events are handled in the same order in every run.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .during("start the runtime")?;
        let mut runner = Runner {
            plan,
            lab,
            agents,
            records,
            events: &mut |event| progress.show(event),
            inputs: recording.as_mut().map(|file| file as &mut dyn Write),
            host_waits: &|| {
                if is_inside {
                    inside::host_waits().unwrap_or(0)
                } else {
                    0
                }
            },
            guest_cpu: &|| is_inside.then(guest_cpu).flatten(),
            cancel: self.cancel.clone(),
        };
        let report = runtime
            .block_on(runner.run())
            .map_err(|error| match error {
                RunError::Cancelled => interrupted(),
                error => environment(error),
            })?;
        if let Some(file) = &mut recording {
            file.flush().during("record the run's inputs")?;
        }
        Ok(report)
    }

    /// Creates the file for recorded inputs if [`RECORDING_VARIABLE`] is set; otherwise returns `None`.
    fn recording(&self) -> Result<Option<BufWriter<File>>, Failure> {
        if env::var_os(RECORDING_VARIABLE).is_none() {
            return Ok(None);
        }
        let path = self.records.dir().join(RECORDING_FILE);
        let file = File::create_new(&path).during(format_args!("make `{}`", path.display()))?;
        Ok(Some(BufWriter::new(file)))
    }

    fn keep(&self, lab: Lab, progress: &Progress) -> Result<(), Failure> {
        let name = &self.task.lab;
        lab.keep().during(format_args!("keep lab `{name}`"))?;
        progress.say(&format!(
            "lab `{name}` stays up (`lcmp-lab exec --lab {name} NODE -- CMD`, \
             `lcmp-lab down {name}`)"
        ));
        Ok(())
    }

    fn finish(
        &self,
        plan: &Plan,
        records: RunWriter,
        (links, commands): (Certification, Vec<LiveChange>),
        phases: Vec<Phase>,
        ending: Ending,
    ) -> Result<RunOutcome, Failure> {
        // In a guest, this is the guest's time, which the host replaces by its own.
        let ended_at = UtcTime::new(self.started + self.since.elapsed());
        let evidence = lab_recorder::evidence(plan, records.dir()).during("read the records")?;
        let end = ending.report.end(ended_at, evidence);
        let end = RunEnd {
            phases,
            conduct: Conduct {
                links: Some(links),
                ..end.conduct
            },
            problems: ending.problems,
            is_interrupted: ending
                .failure
                .as_ref()
                .is_some_and(|failure| failure.exit == Exit::Inconclusive),
            changes: end.changes.into_iter().chain(commands).collect(),
            ..end
        };
        let finished = records.finish(end).during("finish the records");
        let copied = self.records.end();
        // If there was no space for rows, there is none for the outcome either.
        if let Some(failure) = ending.failure {
            return Err(failure);
        }
        let (_, outcome) = finished?;
        copied.map(|()| outcome)
    }
}

/// Result of a run and its lab's removal.
struct Ending {
    report: RunReport,
    /// Problems of the run, followed by those of its lab.
    problems: Vec<String>,
    /// Failure with all problems as its message and the first one's exit code; `None` if there is no problem.
    failure: Option<Failure>,
}

impl Ending {
    /// Combines the results of the run and of the lab's removal. Objects that could not be removed do not hide the
    /// run's problems.
    fn of(run: Result<RunReport, Failure>, lab: Result<(), Failure>) -> Self {
        let (report, of_run) = match run {
            Ok(report) => (report, None),
            Err(failure) => (RunReport::default(), Some(failure)),
        };
        let failures: Vec<Failure> = of_run.into_iter().chain(lab.err()).collect();
        let problems: Vec<String> = failures.iter().map(|it| it.message.clone()).collect();
        let first = failures.into_iter().next();
        let failure = first.map(|first| Failure {
            message: problems.join("\n"),
            ..first
        });
        Self {
            report,
            problems,
            failure,
        }
    }
}

/// Takes a lab down and fails if objects are left.
fn take_down(lab: Lab) -> Result<(), Failure> {
    all_removed(&lab.down())
}

/// Fails if objects are left after a lab's removal; the message names them.
pub fn all_removed(left: &[UndoError]) -> Result<(), Failure> {
    let left: Vec<String> = left.iter().map(ToString::to_string).collect();
    if left.is_empty() {
        return Ok(());
    }
    Err(Failure::environment(format_args!(
        "some objects of the lab could not be removed:\n  {}",
        left.join("\n  ")
    )))
}

/// Reads the programs of the run into the guest's page cache, so that no flow waits for the host's disk.
pub fn preload() -> Result<(), Failure> {
    let tools = lab_units::Tool::PERFTEST.map(|tool| Path::new("/usr/bin").join(tool.name()));
    let providers =
        ["/etc/libibverbs.d", "/usr/lib/x86_64-linux-gnu/libibverbs"].map(PathBuf::from);
    let mut paths: Vec<PathBuf> = tools
        .into_iter()
        .chain(providers)
        .filter(|path| path.exists())
        .collect();
    paths.push(env::current_exe().during("find this program")?);
    inside::preload(&paths).during("read the run's programs into the page cache")?;
    Ok(())
}

/// Returns the CPU time of this kernel since boot; `None` if it cannot be read.
pub fn guest_cpu() -> Option<GuestCpu> {
    let cpu = inside::cpu_usage().ok()?;
    Some(GuestCpu {
        busy_ns: cpu.busy_ns,
        available_ns: cpu.busy_ns.saturating_add(cpu.idle_ns),
    })
}

fn environment(error: impl std::error::Error + 'static) -> Failure {
    Failure::of(&error)
}

/// Maximum number of links that an error lists.
const MAX_LINKS: usize = 5;

/// Name of an incomplete copy of a record file.
const PARTIAL_COPY: &str = ".copy";

/// Environment variable that makes `up` record the inputs of a run next to its rows, for the tests of `lab-kernel`.
pub(super) const RECORDING_VARIABLE: &str = "LCMP_LAB_RECORDING";

/// File in a run directory with the recorded inputs, one JSON object per line.
const RECORDING_FILE: &str = "recording.jsonl";

/// Directory of the records in the guest, on a file system in memory.
const STAGED_RECORDS: &str = "/run/lcmp-lab-records";

/// Returns the failure of a run that a signal interrupted.
pub(super) fn interrupted() -> Failure {
    Failure::interrupted("the run was interrupted; the lab was taken down")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left() -> Result<(), Failure> {
        Err(Failure::environment("`rxe0` is left"))
    }

    #[test]
    fn an_object_that_stays_is_a_problem_of_a_run_that_keeps_its_report() {
        let mut report = RunReport::default();
        report.late_launches = 3;
        let ending = Ending::of(Ok(report), left());
        assert_eq!(ending.report.late_launches, 3);
        assert_eq!(ending.problems, ["`rxe0` is left"]);
        let failure = ending.failure.expect("an object is left");
        assert_eq!(failure.exit.code(), 3);
        assert_eq!(failure.message, "`rxe0` is left");
    }

    #[test]
    fn the_error_of_a_run_comes_before_that_of_its_lab() {
        let ending = Ending::of(Err(interrupted()), left());
        assert_eq!(ending.problems.len(), 2);
        let failure = ending.failure.expect("the run was interrupted");
        assert_eq!(failure.exit.code(), 4);
        let interrupted = interrupted().message;
        assert_eq!(failure.message, format!("{interrupted}\n`rxe0` is left"));
        assert!(
            Ending::of(Ok(RunReport::default()), Ok(()))
                .failure
                .is_none()
        );
    }
}
