//! Tests of Ctrl-C on a terminal, at any time while `up` runs: no object of the lab must remain, the exit code must be
//! 4, and the rows written so far must be readable.
//!
//! The terminal is a real one, provided by `script`: its line discipline sends the signal to the whole foreground
//! process group, whereas `kill` would signal a single process.

mod common;

use std::{
    env, fs,
    io::{Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lab_records::{Grade, RunDir, directory::LATEST};
use tempfile::TempDir;

use self::common::{lcmp_lab, root, skips_without_a_lab};

/// Time at which Ctrl-C is typed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// Given time after the start of the program.
    After(Duration),
    /// First appearance of the given text in the output.
    Says(&'static str),
    /// Never: the program ends by itself.
    Never,
}

#[test]
fn a_ctrl_c_while_agents_start_or_after_the_flows_leaves_nothing() {
    let test = "a_ctrl_c_while_agents_start_or_after_the_flows_leaves_nothing";
    if skips(test) {
        return;
    }
    for (flags, moment) in [
        (KEPT, Moment::Says("ecmp agents")),
        (KEPT, Moment::Says("stays up")),
        (NOT_KEPT, Moment::Says("ecmp flows")),
    ] {
        let end = Attempt::new(flags).run(moment);
        assert_eq!(end.problems, [""; 0], "{flags:?} {moment:?}: {}", end.said);
        assert_eq!(end.exit, Some(4), "{flags:?} {moment:?}: {}", end.said);
    }
}

/// The environment variable `LCMP_LAB_MOMENTS` sets the number of moments at which Ctrl-C is typed (default 50), half
/// of them with `--keep`.
#[test]
#[ignore = "it takes half an hour"]
fn a_ctrl_c_at_any_moment_leaves_nothing() {
    if skips("a_ctrl_c_at_any_moment_leaves_nothing") {
        return;
    }
    let moments = env::var("LCMP_LAB_MOMENTS").map_or(50, |text| text.parse().unwrap());
    let mut failures = Vec::new();
    for flags in [NOT_KEPT, KEPT] {
        let whole = Attempt::new(flags).run(Moment::Never);
        assert_eq!(whole.exit, Some(0), "{}", whole.said);
        let count = moments / 2;
        for number in 0..count {
            let after = whole.took * (2 * number + 1) / (2 * count);
            let end = Attempt::new(flags).run(Moment::After(after));
            eprintln!(
                "{} after {:.2} s of {:.1}: exit {:?}, {} rows, {}",
                flags.join(" "),
                after.as_secs_f64(),
                whole.took.as_secs_f64(),
                end.exit,
                end.rows,
                end.problems.join("; ")
            );
            // Until the program handles signals, Ctrl-C kills it like any other program; it has not created anything by
            // then.
            let is_early = end.exit == Some(130) && end.said.replace("^C", "").trim().is_empty();
            let is_right = end.exit == Some(4) || is_early || !end.was_interrupted;
            if !is_right || !end.problems.is_empty() {
                let exit = end.exit;
                let problems = &end.problems;
                failures.push(format!(
                    "{flags:?} after {after:?}: exit {exit:?}, {problems:?}: {}",
                    end.said
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

const KEPT: &[&str] = &["--keep"];
const NOT_KEPT: &[&str] = &[];
const LAB: &str = "ctrl-c";

fn skips(test: &str) -> bool {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: {test}: `script` is not installed");
        return true;
    }
    skips_without_a_lab(test)
}

/// Run of the smallest scenario, started on a terminal.
struct Attempt {
    flags: &'static [&'static str],
    results: TempDir,
}

/// End of an [`Attempt`], with its output and the problems that it left.
struct End {
    exit: Option<i32>,
    /// Output on the terminal.
    said: String,
    /// Time from the start of the program to its end.
    took: Duration,
    /// True if Ctrl-C was typed before the program ended.
    was_interrupted: bool,
    /// Number of flows with a row in `flows.csv`.
    rows: usize,
    /// Problems found: left-over processes, namespaces and files, and records that cannot be read.
    problems: Vec<String>,
}

impl Attempt {
    fn new(flags: &'static [&'static str]) -> Self {
        let results = tempfile::tempdir().unwrap();
        Self { flags, results }
    }

    fn run(&self, moment: Moment) -> End {
        let began = Instant::now();
        let mut terminal = Terminal::start(&self.command());
        let was_interrupted = terminal.wait_for(moment, began);
        if was_interrupted {
            terminal.interrupt();
        }
        let (exit, said) = terminal.end();
        let took = began.elapsed();
        let (rows, mut problems) = self.records(was_interrupted);
        if !was_interrupted && self.flags == KEPT {
            let down = lcmp_lab(self.results.path(), &["down", LAB]);
            problems.extend((down.exit != Some(0)).then_some(down.stderr));
        }
        problems.extend(self.left());
        End {
            exit,
            said,
            took,
            was_interrupted,
            rows,
            problems,
        }
    }

    fn command(&self) -> String {
        let words = [
            "exec",
            env!("CARGO_BIN_EXE_lcmp-lab"),
            "--lab",
            LAB,
            "--results",
            self.results.path().to_str().unwrap(),
            "up",
        ];
        let scenario = ["scenarios/smoke.yaml"];
        [&words, self.flags, &scenario].concat().join(" ")
    }

    /// Returns the number of flows that have a row, and the problems with the run's records if there are any records.
    fn records(&self, was_interrupted: bool) -> (usize, Vec<String>) {
        let latest = self.results.path().join(LATEST);
        let Ok(run) = RunDir::open(&latest) else {
            return (0, Vec::new());
        };
        let rows = match run.flows() {
            Ok(flows) => flows.rows.len(),
            Err(error) => return (0, vec![error.to_string()]),
        };
        let ended = run.outcome().filter(|outcome| outcome.end.is_interrupted);
        let grade = ended.map(|outcome| outcome.verdict.grade);
        let is_right = grade.is_none_or(|grade| was_interrupted && grade == Grade::Doubtful);
        let wrong = (!is_right).then(|| format!("the run's verdict is {grade:?}"));
        (rows, wrong.into_iter().collect())
    }

    /// Lists the objects of the lab that are left on this machine.
    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let directory = Path::new("/run/lcmp-lab").join(LAB);
        left.extend(directory.exists().then(|| directory.display().to_string()));
        let namespaces = fs::read_dir("/run/netns").into_iter().flatten().flatten();
        let names = namespaces.map(|entry| entry.file_name().to_string_lossy().into_owned());
        left.extend(names.filter(|name| name.starts_with(&format!("lcmp-{LAB}-"))));
        // QEMU and the owner of a guest have the run directory in their command lines, agents the lab's name.
        let results = self.results.path().to_string_lossy().into_owned();
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains(&results) {
                left.push(format!("{}: {line}", process.file_name().to_string_lossy()));
            }
        }
        left
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        // A failed test must not leave its lab up.
        let _ = lcmp_lab(self.results.path(), &["down", LAB]);
    }
}

/// Program that runs on a terminal of its own.
struct Terminal {
    script: Child,
    said: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    fn start(command: &str) -> Self {
        let mut script = Command::new("script")
            .args(["--quiet", "--return", "--flush", "--command", command])
            .arg("/dev/null")
            .current_dir(root())
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::<Mutex<String>>::default();
        let mut output = script.stdout.take().unwrap();
        let to = Arc::clone(&said);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..count]);
                to.lock().unwrap().push_str(&text);
            }
        });
        Self {
            script,
            said,
            reader,
        }
    }

    /// Waits for `moment`; returns false if the program ended before it.
    fn wait_for(&mut self, moment: Moment, began: Instant) -> bool {
        loop {
            let is_here = match moment {
                Moment::After(time) => began.elapsed() >= time,
                Moment::Says(words) => self.said().contains(words),
                Moment::Never => false,
            };
            if self.script.try_wait().unwrap().is_some() || is_here {
                return is_here;
            }
            assert!(began.elapsed() < PATIENCE, "{moment:?}: {}", self.said());
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Types Ctrl-C on the terminal.
    fn interrupt(&mut self) {
        let keys = self.script.stdin.as_mut().unwrap();
        // A program that has just ended has closed its terminal, so the write may fail.
        let _ = keys.write_all(b"\x03").and_then(|()| keys.flush());
    }

    fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.clone()
    }

    /// Waits for the end of the program; returns its exit code and output.
    fn end(mut self) -> (Option<i32>, String) {
        let since = Instant::now();
        let status = loop {
            if let Some(status) = self.script.try_wait().unwrap() {
                break status;
            }
            assert!(
                since.elapsed() < PATIENCE,
                "it does not end: {}",
                self.said()
            );
            thread::sleep(Duration::from_millis(5));
        };
        self.reader.join().unwrap();
        let said = self.said.lock().unwrap().clone();
        (status.code(), said)
    }
}

/// Maximum duration of a run, and of its end after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(300);
