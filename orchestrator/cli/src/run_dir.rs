//! Directory of a run: created with the plan and the scenario, completed by the report.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_guest::inside;
use lab_plan::Plan;
use lab_recorder::{RunSetting, run_info};
use lab_records::{
    EngineInfo, Grade, Location, Provenance, Reason, RunDir, RunEnd, RunInfo, RunWriter,
    directory::{self, INPUTS_FILE, PLAN_FILE, RUN_FILE, SCENARIO_FILE},
};
use lab_reports::{Numbers, painted, words};
use lab_scenario::Files;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{
    args::Global,
    caller,
    failure::{During, Exit, Failure, Outcome},
    load,
    progress::Progress,
    terminal::{note, print, print_json, stdout_is_colored},
};

/// Creates a run directory for `plan` in `results`; returns its absolute path and the plan file's hash.
pub fn create(results: &Path, plan: &Plan, now: SystemTime) -> Result<(PathBuf, String), Failure> {
    let hash = plan_hash(plan);
    let make = format_args!("make the directory `{}`", results.display()).to_string();
    caller::create_dirs(results).during(make)?;
    let dir = lab_records::create_run_dir(results, now, &plan.name, &hash).during(format_args!(
        "make a run directory in `{}`",
        results.display()
    ))?;
    Ok((load::absolute(&dir)?, hash))
}

/// Points the symbolic link `latest`, which lies next to the run directory `dir`, to `dir`; no effect if `dir` has no
/// records.
pub fn make_latest(dir: &Path) -> Result<(), Failure> {
    let (Some(results), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Ok(());
    };
    if dir.join(RUN_FILE).is_file() {
        lab_records::point_latest(results, &name.to_string_lossy())
            .during("point `latest` at the run")?;
        caller::hand_over_alone(&results.join(directory::LATEST));
    }
    Ok(())
}

/// Starts the records for a run of `plan` in `dir`; `plan_hash` is the hash of the plan file there.
pub fn start_records(
    dir: &Path,
    (plan, plan_hash): (&Plan, &str),
    (setting, provenance): (&RunSetting, &Provenance),
    started: SystemTime,
) -> Result<RunWriter, Failure> {
    let info = RunInfo {
        provenance: provenance.clone(),
        ..run_info(plan, plan_hash, setting)
    };
    RunWriter::create_in(dir, started, &info).during("start the records")
}

/// Writes a scenario's text and the files that it names into the run directory `dir`.
pub fn write_scenario(dir: &Path, scenario: &str, files: &Files) -> Result<(), Failure> {
    directory::write_text(dir, SCENARIO_FILE, scenario).during("write the scenario")?;
    if !files.is_empty() {
        directory::write_texts(dir, INPUTS_FILE, files)
            .during("write the files that the scenario names")?;
    }
    Ok(())
}

/// Writes a plan into the run directory `dir`.
pub fn write_plan(dir: &Path, plan: &Plan) -> Result<(), Failure> {
    directory::write_with(dir, PLAN_FILE, |file| plan.write_text(file)).during("write the plan")
}

/// Returns the settings of a run by the kernel engine in this process, such as the kernel release.
pub fn kernel_setting() -> RunSetting {
    let (location, accel) = if inside::is_inside() {
        (Location::Guest, std::env::var(inside::ACCEL_VARIABLE).ok())
    } else {
        (Location::Here, None)
    };
    RunSetting {
        kernel_release: kernel_release(),
        location,
        clock: inside::clock(),
        accel,
        engine: EngineInfo::Kernel,
    }
}

/// Returns the release of this kernel, as printed by `uname -r`.
pub fn kernel_release() -> String {
    nix::sys::utsname::uname()
        .map(|name| name.release().to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Returns a hash of all parts of `plan` that influence a run.
pub fn identity(plan: Plan) -> String {
    plan_hash(&plan.inputs())
}

/// Returns the SHA-256 of the text of `plan.json` for a plan.
fn plan_hash(plan: &Plan) -> String {
    let mut hasher = Hasher(Sha256::new());
    plan.write_text(&mut hasher)
        .expect("a plan is plain data, and a hasher takes all bytes");
    digits(hasher.0)
}

/// Returns the SHA-256 of `bytes` in lower-case hexadecimal digits.
pub fn hash(bytes: impl AsRef<[u8]>) -> String {
    digits(Sha256::new_with_prefix(bytes))
}

fn digits(hasher: Sha256) -> String {
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hash of everything that is written to it.
struct Hasher(Sha256);

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the recorded end of the run in `dir`; `None` if the run has not ended.
pub fn end(dir: &Path) -> Option<RunEnd> {
    let run = RunDir::open(dir).ok()?;
    Some(run.outcome()?.end.clone())
}

/// Result of a run without a report, for `--json`.
#[derive(Serialize)]
struct Recorded<'a> {
    /// Path of the run directory.
    run: &'a Path,
    /// Exit code of the process.
    exit: u8,
    verdict: Grade,
    reasons: &'a [Reason],
}

/// Prints the verdict of the run in `dir`, which gets no report, and returns the exit code for it.
pub fn conclude_without_report(dir: &Path, json: bool) -> Outcome {
    caller::hand_over(dir);
    let run = RunDir::open(dir).map_err(|error| Failure::records(&error))?;
    let Some(outcome) = run.outcome() else {
        return Err(Failure::usage(format_args!(
            "the run in `{}` has not ended",
            dir.display()
        )));
    };
    let verdict = &outcome.verdict;
    let exit = Exit::of_run(verdict.grade);
    if json {
        print_json(&Recorded {
            run: dir,
            exit: exit.code(),
            verdict: verdict.grade,
            reasons: &verdict.reasons,
        });
    } else {
        print(&format!("verdict: {}", verdict.grade));
        print(&format!("run: {}", dir.display()));
        print("report: none (hint: `lcmp-lab report` with this run writes it)");
    }
    note_reasons(&verdict.reasons);
    Ok(exit)
}

/// Result of a run, for `--json`.
#[derive(Serialize)]
struct Concluded<'a> {
    /// Path of the run directory.
    run: &'a Path,
    /// Path of the report's page.
    report: &'a Path,
    /// Exit code of the process.
    exit: u8,
    #[serde(flatten)]
    numbers: Numbers<'a>,
}

/// Writes the report of the run in `dir`, prints its summary followed by the text that `cost` returns, and returns the
/// exit code for the run's verdict.
pub fn conclude(dir: &Path, global: &Global, cost: impl FnOnce() -> String) -> Outcome {
    let mut progress = Progress::new();
    progress.begin("report", 0);
    let report = lab_reports::render(dir).map_err(|error| Failure::report(&error))?;
    progress.finish();
    caller::hand_over(dir);
    let summary = &report.summary;
    let exit = Exit::of_run(summary.verdict);
    if global.json {
        print_json(&Concluded {
            run: dir,
            report: &report.html,
            exit: exit.code(),
            numbers: report.numbers(),
        });
    } else {
        let closing = report.closing.trim_end();
        if stdout_is_colored() {
            print(&painted(closing));
        } else {
            print(closing);
        }
        let cost = cost();
        if !cost.is_empty() {
            print(cost.trim_end());
        }
        print(report.headline().trim_end());
        print(&format!("verdict: {}", summary.verdict));
        print(&format!("report: {}", report.html.display()));
    }
    note_reasons(&summary.reasons);
    Ok(exit)
}

/// Prints the reasons not to trust a run on standard error.
fn note_reasons(reasons: &[Reason]) {
    for reason in reasons {
        note(&format!("{}: {}", reason.grade, words::reason(reason)));
    }
}
