//! What tests of the command share.
#![allow(dead_code, reason = "no test takes all of it")]

use std::process::Output;

/// What a command said, and what it ended with.
#[derive(Debug)]
pub struct Said {
    pub exit: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            exit: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Why no lab can run on this machine, here or in a guest.
pub fn obstacle() -> Option<String> {
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
