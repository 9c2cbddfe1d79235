//! `up` on this kernel.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::{Instant, SystemTime},
};

use lab_guest::inside;
use lab_kernel::{
    Lab,
    lab::{Claim, LabError, LabErrorKind},
    lower::{HostPlacement, LowerOptions},
    run::{AgentLauncher, RunError, RunReport, Runner, measure_links},
};
use lab_plan::Plan;
use lab_records::{
    GuestCpu, MeasuredLink, Outcome as RunOutcome, Phase, RunEnd, RunWriter, UtcTime,
};
use tokio_util::sync::CancellationToken;

use super::{Request, make_run_dir};
use crate::{
    facts::{self, Setting},
    failure::{During, Exit, Failure, Outcome, with_causes},
    interrupt, load,
    progress::Progress,
};

/// Runs the lab here and gives back the run directory.
pub fn run(request: &Request<'_>) -> Result<PathBuf, Failure> {
    let now = SystemTime::now();
    let dir = make_run_dir(&request.global.results, &request.plan, now)?;
    Here::new(request, &dir, now, None).run()?;
    Ok(dir)
}

/// The guest's part: records are made in memory, where writing them does not disturb the clock, and
/// brought to `dir` between policies.
pub fn into(request: &Request<'_>, dir: &Path) -> Outcome {
    let stage = Path::new(STAGE);
    fs::create_dir_all(stage).during(format_args!("make `{STAGE}`"))?;
    let started = request
        .arguments
        .started_at
        .unwrap_or_else(|| UtcTime::new(SystemTime::now()));
    preload()?;
    let outcome = Here::new(request, stage, started.into(), Some(dir)).run()?;
    Ok(if outcome.verdict.clean {
        Exit::Pass
    } else {
        Exit::Inconclusive
    })
}

struct Here<'a> {
    request: &'a Request<'a>,
    /// Where records are written.
    dir: &'a Path,
    /// Where they are brought, if not left where they are written.
    kept_in: Option<&'a Path>,
    started: SystemTime,
    since: Instant,
    setting: Setting,
    cancel: CancellationToken,
}

impl<'a> Here<'a> {
    fn new(
        request: &'a Request<'a>,
        dir: &'a Path,
        started: SystemTime,
        kept_in: Option<&'a Path>,
    ) -> Self {
        Self {
            request,
            dir,
            kept_in,
            started,
            since: Instant::now(),
            setting: Setting::of_this_process(),
            cancel: CancellationToken::new(),
        }
    }

    fn run(&self) -> Result<RunOutcome, Failure> {
        interrupt::cancel_on_signal(&self.cancel).during("listen to signals")?;
        let request = self.request;
        let mut progress = Progress::new();
        // The lab's slot decides its addresses, so the plan is made for the slot it gets.
        let claim = Claim::take(&request.lab, &request.plan.name).map_err(environment)?;
        let plan = load::plan_loaded(&request.loaded, &request.arguments.scenario, claim.slot())?;
        let mut records = self.start_records(&plan)?;
        let mut lab = self.build(claim, &plan, &mut progress)?;
        progress.begin("links", 0);
        let measured = self.measure(&plan, &lab)?;
        let result = self.run_flows(&plan, &mut lab, &mut records, &mut progress);

        if result.is_ok() && request.arguments.keep {
            self.keep(lab, &progress)?;
        } else {
            progress.begin("teardown", 0);
            let left: Vec<String> = lab.down().iter().map(ToString::to_string).collect();
            if !left.is_empty() {
                return Err(Failure::environment(format_args!(
                    "the lab could not be taken down whole:\n  {}",
                    left.join("\n  ")
                )));
            }
        }
        let phases = progress.finish();
        self.finish(&plan, records, measured, phases, result)
    }

    fn start_records(&self, plan: &Plan) -> Result<RunWriter, Failure> {
        let text = facts::plan_text(plan);
        let info = facts::run_info(plan, &facts::hash(&text), &self.setting);
        let records = RunWriter::create_in(self.dir, self.started, &info);
        let records = records.during("start the records")?;
        records
            .write_scenario(&self.request.loaded.text)
            .during("keep the scenario")?;
        records.write_plan(&text).during("keep the plan")?;
        Ok(records)
    }

    fn build(&self, claim: Claim, plan: &Plan, progress: &mut Progress) -> Result<Lab, Failure> {
        let options = LowerOptions {
            lab: self.request.lab.clone(),
            hosts: lab_kernel::doctor::probe_host_placement()
                .unwrap_or(HostPlacement::RootNamespace),
            clock: self.setting.clock,
            delay_lines: true,
            cpus: std::thread::available_parallelism()
                .map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX)),
        };
        progress.begin("build-up", 0);
        Lab::up(claim, plan, &options, &self.cancel, &mut |at| {
            progress.built(at);
        })
        .map_err(|error: LabError| match error.kind {
            LabErrorKind::Cancelled => interrupted(),
            _ => environment(error),
        })
    }

    fn measure(&self, plan: &Plan, lab: &Lab) -> Result<Vec<MeasuredLink>, Failure> {
        let namespace = |node| lab.netns_path(node).unwrap_or_default();
        let measured = measure_links(plan, namespace).during("measure the links")?;
        Ok(measured
            .iter()
            .map(|link| facts::measured_link(plan, link))
            .collect())
    }

    fn run_flows(
        &self,
        plan: &Plan,
        lab: &mut Lab,
        records: &mut RunWriter,
        progress: &mut Progress,
    ) -> Result<RunReport, Failure> {
        let program = std::env::current_exe().during("find this program")?;
        let is_inside = inside::is_inside();
        let agents = AgentLauncher {
            command: vec![program.into(), OsString::from("switchd")],
            socket_dir: lab.directory(),
            lab: self.request.lab.to_string(),
            programs: self.programs(),
        };
        // One thread: what happens first is seen first, in every run.
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
            checkpoint: &mut || self.bring_records(),
            settle: &mut || inside::settle().map(drop),
            host_waits: &|| match is_inside {
                true => inside::host_waits().unwrap_or(0),
                false => 0,
            },
            guest_cpu: &|| is_inside.then(guest_cpu).flatten(),
            cancel: self.cancel.clone(),
        };
        runtime.block_on(runner.run()).map_err(|error| match error {
            RunError::Cancelled => interrupted(),
            error => environment(error),
        })
    }

    /// Where a user's own switch programs are: beside the scenario.
    fn programs(&self) -> PathBuf {
        let scenario = &self.request.arguments.scenario.scenario;
        let beside = scenario.parent().map(Path::to_owned).unwrap_or_default();
        std::path::absolute(&beside).unwrap_or(beside)
    }

    fn keep(&self, lab: Lab, progress: &Progress) -> Result<(), Failure> {
        let name = &self.request.lab;
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
        measured_links: Vec<MeasuredLink>,
        phases: Vec<Phase>,
        result: Result<RunReport, Failure>,
    ) -> Result<RunOutcome, Failure> {
        let (report, failure) = match result {
            Ok(report) => (report, None),
            Err(failure) => (RunReport::default(), Some(failure)),
        };
        let dc_name = |dc: lab_units::DcId| plan.dcs[dc.index()].name.clone();
        let mut warnings = report.warnings(dc_name);
        warnings.extend(Self::visitors_warning());
        let end = RunEnd {
            // In a guest this is as good as it gets; the host puts its own time here.
            ended_at: UtcTime::new(self.started + self.since.elapsed()),
            phases,
            guest_cpu: report.guest_cpu,
            sim: None,
            late_launches: report.late_launches,
            measured_links,
            warnings,
            problems: failure
                .iter()
                .map(|failure| failure.message.clone())
                .collect(),
        };
        let (_, outcome) = records.finish(end).during("finish the records")?;
        self.bring_records()
            .during("bring the records to the host")?;
        match failure {
            Some(failure) => Err(failure),
            None => Ok(outcome),
        }
    }

    /// What a reader should know of commands that ran beside the flows.
    fn visitors_warning() -> Option<String> {
        let count = inside::commands_come_in().unwrap_or(0);
        (count > 0).then(|| {
            format!(
                "commands that `exec` ran in the guest before the flows had ended: {count}; they took \
                 time of its CPU, so do not compare this run's times with another's"
            )
        })
    }

    /// Copies the records to where they are kept. A file that is kept stays whole until the next copy
    /// of it is, so that what a run wrote before it ran out of space can be read.
    fn bring_records(&self) -> io::Result<()> {
        let Some(kept_in) = self.kept_in else {
            return Ok(());
        };
        for entry in fs::read_dir(self.dir)? {
            let entry = entry?;
            let draft = kept_in.join(DRAFT);
            let kept = fs::copy(entry.path(), &draft)
                .and_then(|_| fs::rename(&draft, kept_in.join(entry.file_name())));
            if kept.is_err() {
                // What was copied of it takes room that there is too little of.
                let _ = fs::remove_file(&draft);
            }
            kept?;
        }
        Ok(())
    }
}

/// Reads what flows will run from, so that no flow waits for the host's disk.
fn preload() -> Result<(), Failure> {
    let tools = lab_perftest::Tool::ALL.map(|tool| Path::new("/usr/bin").join(tool.name()));
    let providers =
        ["/etc/libibverbs.d", "/usr/lib/x86_64-linux-gnu/libibverbs"].map(PathBuf::from);
    let mut paths: Vec<PathBuf> = tools
        .into_iter()
        .chain(providers)
        .filter(|path| path.exists())
        .collect();
    paths.push(std::env::current_exe().during("find this program")?);
    inside::preload(&paths).during("read the programs of the run")?;
    Ok(())
}

fn guest_cpu() -> Option<GuestCpu> {
    let cpu = inside::cpu_usage().ok()?;
    Some(GuestCpu {
        busy_ns: cpu.busy_ns,
        available_ns: cpu.busy_ns.saturating_add(cpu.idle_ns),
    })
}

fn interrupted() -> Failure {
    Failure::environment("the run was interrupted; the lab was taken down")
}

fn environment(error: impl std::error::Error) -> Failure {
    Failure::environment(with_causes(&error))
}

/// A record while it is copied.
const DRAFT: &str = ".copy";

/// In the guest's memory.
const STAGE: &str = "/run/lcmp-lab-records";
