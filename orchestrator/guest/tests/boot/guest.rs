//! Starting the example program that runs a command inside a guest.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Output, Stdio},
};

use lab_guest::{cache, probe};
use tempfile::TempDir;

/// The example program, in a directory of its own.
pub struct Guest {
    pub dir: TempDir,
}

/// A started one.
pub struct Started {
    pub child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Guest {
    /// A guest for the test `name`, or the reason there is none, printed.
    pub fn for_test(name: &str) -> Option<Self> {
        if let Some(finding) = probe::lacking(&cache::default_dir()).first() {
            eprintln!("skipped: {name}: {finding}");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        Some(Self { dir })
    }

    pub fn console(&self) -> PathBuf {
        self.dir.path().join("console.log")
    }

    /// The program with `options` and the command to run inside.
    pub fn command(&self, options: &[&str], command: &[&str]) -> Command {
        let mut program = Command::new(program());
        program
            .arg(self.console())
            .args(options)
            .args(command)
            .current_dir(self.dir.path());
        program
    }

    /// Runs to the end.
    pub fn run(&self, options: &[&str], command: &[&str]) -> Output {
        self.command(options, command).output().unwrap()
    }

    /// Starts, to be followed by its standard error.
    pub fn start(&self, options: &[&str], command: &[&str]) -> Started {
        let mut child = self
            .command(options, command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Started { child, stderr }
    }
}

impl Started {
    /// Reads standard error up to the line that contains `text`.
    pub fn wait_for(&mut self, text: &str) {
        let mut seen = String::new();
        loop {
            let start = seen.len();
            let count = self.stderr.read_line(&mut seen).unwrap();
            assert!(count > 0, "no `{text}` in:\n{seen}");
            if seen[start..].contains(text) {
                return;
            }
        }
    }

    /// The exit code and the rest of standard error.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }

    /// The emulator's process.
    pub fn machine(&self) -> u32 {
        let us = self.child.id();
        let children = format!("/proc/{us}/task/{us}/children");
        let children = fs::read_to_string(children).unwrap();
        children.trim().parse().unwrap()
    }
}

/// Returns true while a process runs; a zombie does not.
pub fn is_alive(process: u32) -> bool {
    let stat = procfs::process::Process::new(process.cast_signed()).and_then(|found| found.stat());
    stat.is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

/// Standard error of an ended program.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `cargo test` builds examples beside the tests.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).map(Path::to_owned).unwrap();
    profile.join("examples/guest")
}
