//! Helpers shared by the tests of the command.
#![allow(dead_code, reason = "no test uses all helpers")]

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

/// Exit code and output of a command that has ended.
#[derive(Debug)]
pub struct Outcome {
    pub exit: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            exit: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().unwrap()
}

/// Copies the program into `folder` with a separate process: a program that a thread of this process has open for
/// writing cannot be run.
pub fn copy_program(folder: &Path) {
    let mut copy = Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_lcmp-lab")).arg(folder);
    assert!(copy.status().unwrap().success());
}

/// ID of the user and of the group `nobody`.
pub const NOBODY: u32 = 65_534;

/// Returns a command that runs the program's copy in `folder` with an empty environment, so that the output depends on
/// neither the terminal nor the user.
pub fn command_in(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lcmp-lab"));
    command
        .args(arguments)
        .env_clear()
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

/// Returns the program that `LCMP_LAB_PROGRAM` names, for tests that need a release build; this build by default.
pub fn release_program() -> OsString {
    let named = std::env::var_os("LCMP_LAB_PROGRAM");
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_lcmp-lab").into())
}

/// Pseudo-random numbers from a fixed seed.
pub struct Random(pub u64);

impl Random {
    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// Runs `lcmp-lab` with `arguments` in the workspace's root; run directories are created in `results`.
pub fn lcmp_lab(results: &Path, arguments: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_lcmp-lab"))
        .current_dir(root())
        .env("LCMP_LAB_RESULTS", results)
        .args(arguments)
        .output();
    output.unwrap().into()
}

/// Two datacenters with one link between them, so that every policy has the same results.
pub const PAIR: &str = "\
name: pair
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 2 }]
  links: [{ between: [dc1, dc2], rate: 1 Gbit, delay: 1 ms }]
traffic:
  - workload: { sizes: sizes.csv, pairs: [{ from: dc1, to: dc2 }], load: 0.2, duration: 1 s, load_base: busiest-link }
policies: [ecmp, lcmp]
";

/// Creates a folder with `scenario`, [`PAIR`] or a variant, as `pair.yaml`, and its flows of 100 kB.
pub fn pair_folder(scenario: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pair.yaml"), scenario).unwrap();
    let sizes = "bytes,percent\n100000,0\n100001,100\n";
    fs::write(folder.path().join("sizes.csv"), sizes).unwrap();
    folder
}

/// Returns the texts of the files in `folder` by their names.
pub fn texts_in(folder: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    files
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name, fs::read_to_string(file.path()).unwrap())
        })
        .collect()
}

/// Writes `long.yaml` into `folder`: the smallest scenario, with flows that last minutes.
pub fn write_long_scenario(folder: &Path) {
    let scenarios = root().join("scenarios");
    let smoke = fs::read_to_string(scenarios.join("smoke.yaml")).unwrap();
    let long = smoke
        .replace("load: 0.06", "load: 0.5")
        .replace("duration: 3.6 ms", "duration: 60 s");
    fs::write(folder.join("long.yaml"), long).unwrap();
    fs::create_dir_all(folder.join("workloads")).unwrap();
    fs::copy(
        scenarios.join("workloads/bulk.csv"),
        folder.join("workloads/bulk.csv"),
    )
    .unwrap();
}

/// Runs `command` and interrupts it once a run in `results` has rows for five flows; returns its outcome and the run
/// directory.
pub fn interrupt_at_flows(command: Command, results: &Path) -> (Outcome, PathBuf) {
    let has_flows = |run: &PathBuf| {
        let flows = fs::read_to_string(run.join("flows.csv")).unwrap_or_default();
        flows.lines().count() > 5
    };
    // A run that has ended has its rows in another file.
    let found = OnceCell::new();
    let out = interrupt_when(command, || {
        let mut runs = fs::read_dir(results).into_iter().flatten().flatten();
        let run = runs.find_map(|entry| Some(entry.path()).filter(has_flows));
        run.is_some_and(|run| found.set(run).is_ok())
    });
    (out, found.into_inner().unwrap())
}

/// Runs `command` and interrupts it once `is_time` returns true; returns its outcome.
pub fn interrupt_when(mut command: Command, is_time: impl Fn() -> bool) -> Outcome {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let since = Instant::now();
    while !is_time() {
        assert!(
            since.elapsed() < Duration::from_secs(300),
            "nothing to interrupt"
        );
        thread::sleep(Duration::from_millis(10));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    child.wait_with_output().unwrap().into()
}

/// Returns true if no lab can run on this machine, neither on its kernel nor in a guest, and prints that `test` is
/// skipped.
pub fn skips_without_a_lab(test: &str) -> bool {
    let obstacle = obstacle();
    if let Some(obstacle) = &obstacle {
        eprintln!("skipped: {test}: {obstacle}");
    }
    obstacle.is_some()
}

fn obstacle() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("a lab needs root".to_owned());
    }
    let missing_here = lab_kernel::doctor::missing_here();
    if missing_here.is_empty() {
        return None;
    }
    let lacking = lab_guest::probe::lacking(&lab_guest::cache::default_dir());
    let lacks: Vec<String> = lacking.iter().map(ToString::to_string).collect();
    (!lacks.is_empty()).then(|| lacks.join("; "))
}
