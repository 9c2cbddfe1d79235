//! Runs of the example program, which in turn runs a command inside a guest.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use lab_guest::{cache, probe};
use tempfile::TempDir;

/// Test fixture: temporary directory in which a test runs the example program.
pub struct Guest {
    pub dir: TempDir,
}

/// Example program that is running.
pub struct Started {
    pub child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Guest {
    /// Runs a test's body, or prints that the test is skipped and the reason why no guest can run.
    pub fn test(body: impl FnOnce(Self)) {
        if let Some(finding) = probe::lacking(&cache::default_dir()).first() {
            let test = thread::current().name().unwrap_or_default().to_owned();
            let name = test.rsplit("::").next().unwrap_or_default();
            return eprintln!("skipped: {name}: {finding}");
        }
        let dir = tempfile::tempdir().unwrap();
        body(Self { dir });
    }

    pub fn console(&self) -> PathBuf {
        self.dir.path().join("console.log")
    }

    /// Returns a command that runs the example program with `options`; the program runs `command` inside the guest.
    pub fn command(&self, options: &[&str], command: &[&str]) -> Command {
        let mut program = Command::new(program());
        program
            .arg(self.console())
            .args(options)
            .args(command)
            .current_dir(self.dir.path());
        program
    }

    /// Runs the example program to its end.
    pub fn run(&self, options: &[&str], command: &[&str]) -> Output {
        self.command(options, command).output().unwrap()
    }

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

    /// Waits for the program's end; returns the exit code and the rest of standard error.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }

    /// Waits for the program's end; returns the exit code, standard output and the rest of standard error.
    pub fn output(mut self) -> (Option<i32>, String, String) {
        let mut stdout = String::new();
        let mut stream = self.child.stdout.take().unwrap();
        stream.read_to_string(&mut stdout).unwrap();
        let (code, rest) = self.end();
        (code, stdout, rest)
    }

    /// Returns the process ID of QEMU.
    pub fn machine(&self) -> u32 {
        let us = self.child.id();
        let children = format!("/proc/{us}/task/{us}/children");
        let children = fs::read_to_string(children).unwrap();
        children.trim().parse().unwrap()
    }
}

/// Waits until a process has ended.
pub fn wait_for_end(process: u32) {
    let is_alive = || {
        let found = procfs::process::Process::new(process.cast_signed());
        let stat = found.and_then(|found| found.stat());
        stat.is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X'))
    };
    let since = Instant::now();
    while is_alive() {
        assert!(
            since.elapsed() < PATIENCE,
            "process {process} has not ended"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

/// Maximum time for which a test waits for a condition.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns the standard error of an ended program.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the path of the example program, which `cargo test` builds next to the tests.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).map(Path::to_owned).unwrap();
    profile.join("examples/guest")
}
