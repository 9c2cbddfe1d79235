//! Helpers of the command's tests.
#![allow(dead_code, reason = "no test uses all of them")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Outcome of a command.
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

/// Returns the command in `folder` with an empty environment, so that its output does not depend on the
/// terminal or the user.
pub fn command_in(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lcmp-lab"));
    command
        .args(arguments)
        .env_clear()
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

/// Runs the command in the root of the workspace, with run directories in `results`.
pub fn lcmp_lab(results: &Path, arguments: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_lcmp-lab"))
        .current_dir(root())
        .env("LCMP_LAB_RESULTS", results)
        .args(arguments)
        .output();
    output.unwrap().into()
}

/// Returns true, and prints that `test` is skipped, if no lab can run on this machine, neither on its
/// kernel nor in a guest.
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
