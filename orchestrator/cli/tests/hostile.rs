//! Tests with input that could block, mislead or exhaust the program: pipes and devices instead of files, damaged runs,
//! signals, and full disks.

mod common;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use lab_bundle::{Origin, pack};
use lab_records::{HistoryRow, history};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use self::common::{Outcome, command_in, root};

/// Folder with a simulated run of the smallest scenario in `results/latest`.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        let smoke = root().join("scenarios/smoke.yaml");
        let out = bench.run(&["sim", smoke.to_str().unwrap(), "--policies", "ecmp,lcmp"]);
        assert_eq!(out.exit, Some(0), "{out:?}");
        bench
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        let output = command_in(self.0.path(), arguments).output();
        output.unwrap().into()
    }

    /// Runs a command, which must end by itself within [`PATIENCE`].
    #[track_caller]
    fn ends(&self, arguments: &[&str]) -> Outcome {
        let mut command = command_in(self.0.path(), arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let since = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if since.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("{arguments:?}: the command does not end");
            }
            thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output().unwrap().into()
    }

    /// Writes `suite.yaml`, whose case `smoke` has the scenario of the run.
    fn write_suite(&self) {
        let scenario = root().join("scenarios/smoke.yaml");
        let text = format!(
            "name: suite\ncases:\n  - {{ name: smoke, scenario: {}, expect: [unfinished == 0] }}\n",
            scenario.display()
        );
        fs::write(self.at("suite.yaml"), text).unwrap();
    }

    /// Packs a run into a bundle with a matching manifest; the rows are not checked.
    fn pack(&self, run: &str, name: &str) {
        let origin = Origin {
            run: "damaged".to_owned(),
            tool_version: "0.1.0".to_owned(),
            tool_commit: "0".repeat(40),
            started_at: 0,
        };
        let file = fs::File::create(self.at(name)).unwrap();
        pack(&self.at(run), origin, file).unwrap();
    }

    /// Copies the run under another name, applies `change` to the copy, and returns its path.
    fn changed(&self, name: &str, change: impl FnOnce(&Path)) -> String {
        let from = self.at("results/latest/.");
        let to = self.at(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(from).arg(&to);
        assert!(copy.status().unwrap().success());
        change(&to);
        name.to_owned()
    }
}

fn make_pipe(path: &Path) {
    let _ = fs::remove_file(path);
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

/// Returns the bytes of a Parquet table of a history, with one row.
fn parquet_of_a_history(folder: &Path) -> Vec<u8> {
    let row = HistoryRow {
        suite: "suite".to_owned(),
        case: "smoke".to_owned(),
        gauge: "lcmp.p99".to_owned(),
        at: "2026-01-01T00:00:00.000Z".to_owned(),
        commit: "0".repeat(40),
        value: 1.5,
        run: "damaged".to_owned(),
    };
    history::append(folder, &[row]).unwrap();
    fs::read(folder.join("history.parquet")).unwrap()
}

/// Verbs that read a whole run, where `{}` stands for the path of the run.
const READERS: [&[&str]; 8] = [
    &["report", "{}"],
    &["flow", "{}", "0"],
    &["compare", "{}", "results/latest", "-o", "out"],
    &["compare", "results/latest", "{}", "-o", "out"],
    &["coverage", "{}"],
    &["fidelity", "{}", "results/latest", "-o", "out"],
    &["fidelity", "results/latest", "{}", "-o", "out"],
    &["bundle", "{}", "-o", "packed"],
];

fn of_run(words: &[&'static str], run: &str) -> Vec<String> {
    words.iter().map(|word| word.replace("{}", run)).collect()
}

#[test]
fn a_run_of_another_format_is_refused_with_a_hint() {
    let bench = Bench::new();
    let last = root().join("orchestrator/records/tests/records/formats/5");
    let old = bench.changed("old", |run| {
        for file in ["run.json", "plan.json"] {
            fs::copy(last.join(file), run.join(file)).unwrap();
        }
    });
    let newer = bench.changed("newer", |run| {
        let path = run.join("plan.json");
        let text = fs::read_to_string(&path).unwrap();
        let newer = text.replacen("\"format\": ", "\"format\": 99", 1);
        fs::write(&path, newer).unwrap();
    });
    for (run, file, hint) in [
        (&old, "run.json", "run its `scenario.yaml` again"),
        (&newer, "plan.json", "update lcmp-lab"),
    ] {
        let bundle: &[&str] = &["bundle", "{}", "-o", "bundle"];
        for words in READERS.into_iter().chain([bundle]) {
            let with_run = of_run(words, run);
            let words: Vec<&str> = with_run.iter().map(String::as_str).collect();
            let out = bench.ends(&words);
            assert_eq!(out.exit, Some(2), "{words:?}: {out:?}");
            for part in [file, "has format", hint] {
                assert!(out.stderr.contains(part), "{part}: {words:?}: {out:?}");
            }
        }
        assert!(!bench.at("bundle").exists());
    }
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let bench = Bench::new();
    make_pipe(&bench.at("pipe"));
    let path = root().join("scenarios/smoke.yaml");
    let smoke = path.to_str().unwrap();
    let special = [
        "pipe",
        "/dev/zero",
        "/proc/kmsg",
        "/proc/self/status",
        "results",
    ];
    for path in special {
        for words in [
            &["verify", path][..],
            &["check", path],
            &["plan", path],
            &["sim", path],
            &["import", path, smoke],
            &["import", smoke, path],
            &["sim", "--artifact", smoke, path],
            &["regress", path],
        ] {
            let out = bench.ends(words);
            assert_eq!(out.exit, Some(2), "{words:?}: {out:?}");
            let is_named = out.stderr.contains(&format!("`{path}`"));
            assert!(is_named, "{words:?}: {out:?}");
        }
    }
    for path in special {
        for words in READERS.map(|words| of_run(words, path)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let out = bench.ends(&words);
            assert_eq!(out.exit, Some(2), "{words:?}: {out:?}");
        }
        let out = bench.ends(&["runs", "tag", path, "kept"]);
        assert_eq!(out.exit, Some(2), "{path}: {out:?}");
    }
    for file in ["run.json", "plan.json", "flows.csv", "flows.parquet"] {
        for target in ["pipe", "/dev/zero", "/proc/self/status"] {
            let run = bench.changed("special", |run| {
                let path = run.join(file);
                let _ = fs::remove_file(&path);
                match target {
                    "pipe" => make_pipe(&path),
                    device => symlink(device, path).unwrap(),
                }
            });
            for words in READERS {
                let with_run = of_run(words, &run);
                let words: Vec<&str> = with_run.iter().map(String::as_str).collect();
                let out = bench.ends(&words);
                assert_eq!(out.exit, Some(2), "{file}: {words:?}: {out:?}");
                assert!(out.stderr.contains(file), "{file}: {words:?}: {out:?}");
            }
            fs::remove_dir_all(bench.at(&run)).unwrap();
        }
    }
}

/// Function that damages the run at the given path.
type Damage<'a> = &'a dyn Fn(&Path);

/// Returns the verbs that read `file` of a run, directly or from a bundle.
fn verbs_that_read(file: &str) -> &'static [&'static str] {
    match file {
        "run.json" | "plan.json" => &[
            "report", "flow", "compare", "coverage", "fidelity", "bundle", "verify", "regress",
            "plan",
        ],
        "links.csv" => &["report", "coverage", "fidelity", "bundle", "verify"],
        "decisions.csv" => &["report", "flow", "bundle", "verify"],
        "queues.csv" => &["report", "fidelity", "bundle", "verify"],
        _ => &[
            "report", "flow", "compare", "coverage", "fidelity", "bundle", "verify", "regress",
        ],
    }
}

/// Every verb that reads a missing or unreadable file of a run must treat it as invalid input: exit code 2, and a
/// message with the file's name.
#[test]
fn one_damage_has_one_exit_code() {
    let bench = Bench::new();
    bench.write_suite();
    let write = |file: &'static str, bytes: &'static [u8]| {
        move |run: &Path| fs::write(run.join(file), bytes).unwrap()
    };
    let missing = |file: &'static str| move |run: &Path| fs::remove_file(run.join(file)).unwrap();
    let half = |file: &'static str| {
        move |run: &Path| {
            let whole = fs::read(run.join(file)).unwrap();
            fs::write(run.join(file), &whole[..whole.len() / 2]).unwrap();
        }
    };
    let other = |file: &'static str, from: &'static str, to: &str| {
        let to = to.to_owned();
        move |run: &Path| {
            let text = fs::read_to_string(run.join(file)).unwrap();
            assert!(text.contains(from), "{file}: {text}");
            fs::write(run.join(file), text.replacen(from, &to, 1)).unwrap();
        }
    };
    // This is a readable Parquet table, but with the columns of another table.
    let table = parquet_of_a_history(&bench.at("history"));
    let cut = &table[..table.len() / 2];
    let long = "x".repeat(3 << 20);
    let other_columns = b"no\n1\n";
    let damages: [(&str, Damage<'_>); 21] = [
        ("run.json", &write("run.json", b"no")),
        ("run.json", &missing("run.json")),
        ("run.json", &half("run.json")),
        (
            "run.json",
            &other("run.json", "\"seed\": 2", "\"seed\": \"2\""),
        ),
        (
            "run.json",
            &other("run.json", "\"format\": ", "\"format\": 9"),
        ),
        ("plan.json", &write("plan.json", b"no")),
        ("plan.json", &half("plan.json")),
        ("flows.parquet", &write("flows.parquet", b"no")),
        ("flows.parquet", &|run| {
            fs::write(run.join("flows.parquet"), cut).unwrap();
        }),
        ("flows.parquet", &|run| {
            fs::write(run.join("flows.parquet"), &table).unwrap();
        }),
        ("flows.csv", &missing("flows.csv")),
        ("flows.csv", &write("flows.csv", other_columns)),
        ("flows.csv", &other("flows.csv", "\n0,", "\nx,")),
        ("flows.csv", &other("flows.csv", "finished", &long)),
        ("flows.csv", &other("flows.csv", ",ecmp,", ",wcmp,")),
        ("links.csv", &missing("links.csv")),
        ("links.csv", &write("links.csv", other_columns)),
        ("decisions.csv", &missing("decisions.csv")),
        ("decisions.csv", &write("decisions.csv", other_columns)),
        ("queues.csv", &missing("queues.csv")),
        ("queues.csv", &write("queues.csv", other_columns)),
    ];
    let more: [&[&str]; 3] = [
        &["regress", "suite.yaml", "--baseline", "baseline"],
        &["plan", "smoke", "--scale", "{}"],
        &["verify", "damaged.tar.zst"],
    ];
    for (file, damage) in damages {
        let run = bench.changed("baseline/damaged", damage);
        fs::write(bench.at(&run).join("tags.txt"), "case:suite/smoke\n").unwrap();
        bench.pack(&run, "damaged.tar.zst");
        let is_run = bench.at(&run).join("run.json").exists();
        for words in READERS.into_iter().chain(more) {
            // As a baseline, a folder without `run.json` is skipped.
            let reads = verbs_that_read(file).contains(&words[0]);
            if !reads || (words[0] == "regress" && !is_run) {
                continue;
            }
            let with_run = of_run(words, &run);
            let words: Vec<&str> = with_run.iter().map(String::as_str).collect();
            let out = bench.run(&words);
            assert_eq!(out.exit, Some(2), "{file}: {words:?}: {out:?}");
            assert!(out.stderr.contains(file), "{file}: {words:?}: {out:?}");
        }
        assert!(!bench.at("packed").exists(), "{file}");
        fs::remove_dir_all(bench.at(&run)).unwrap();
    }
}

/// If rows are lost after the end of a run, its report is invalid, and comparisons and analyses of it are inconclusive.
#[test]
fn lost_rows_have_one_exit_code() {
    let bench = Bench::new();
    bench.write_suite();
    for rows in [0, 3] {
        let run = bench.changed("baseline/damaged", |run| {
            let text = fs::read_to_string(run.join("flows.csv")).unwrap();
            let kept = text.split_inclusive('\n').take(rows + 1);
            fs::write(run.join("flows.csv"), kept.collect::<String>()).unwrap();
            fs::write(run.join("tags.txt"), "case:suite/smoke\n").unwrap();
        });
        for (words, exit) in [
            (&["report", "{}"][..], 5),
            (&["compare", "{}", "results/latest", "-o", "out"], 4),
            (&["compare", "results/latest", "{}", "-o", "out"], 4),
            (&["coverage", "{}"], 4),
            (&["fidelity", "{}", "results/latest", "-o", "out"], 4),
            (&["fidelity", "results/latest", "{}", "-o", "out"], 4),
            (
                &[
                    "regress",
                    "suite.yaml",
                    "--baseline",
                    "baseline",
                    "--results",
                    "new",
                ],
                4,
            ),
        ] {
            let with_run = of_run(words, &run);
            let words: Vec<&str> = with_run.iter().map(String::as_str).collect();
            let out = bench.run(&words);
            assert_eq!(out.exit, Some(exit), "{rows}: {words:?}: {out:?}");
        }
        fs::remove_dir_all(bench.at(&run)).unwrap();
    }
}

/// Directories named on the command line must be checked in full before any flow runs.
#[test]
fn a_damaged_directory_of_runs_is_wrong_input() {
    let bench = Bench::new();
    bench.write_suite();
    let tags = bench.changed("baseline/damaged", |run| {
        fs::write(run.join("tags.txt"), "no tag\n").unwrap();
    });
    fs::create_dir(bench.at("history")).unwrap();
    fs::write(bench.at("history/history.csv"), "no\n1\n").unwrap();
    for (words, file) in [
        (&["runs", "--results", "suite.yaml"][..], "suite.yaml"),
        (
            &["runs", "delete", "x", "--results", "suite.yaml"],
            "suite.yaml",
        ),
        (
            &["regress", "suite.yaml", "--baseline", "suite.yaml"],
            "suite.yaml",
        ),
        (
            &["regress", "suite.yaml", "--baseline", "baseline"],
            "tags.txt",
        ),
        (
            &["regress", "suite.yaml", "--history", "history"],
            "history.csv",
        ),
        (&["runs", "tag", &tags, "kept"], "tags.txt"),
    ] {
        let out = bench.run(&[words, &["--json"]].concat());
        assert_eq!(out.exit, Some(2), "{words:?}: {out:?}");
        assert!(out.stderr.contains(file), "{words:?}: {out:?}");
    }
    // The results contain only this test's run and `latest`, so no case of the suite has started.
    assert_eq!(fs::read_dir(bench.at("results")).unwrap().count(), 2);
}

#[test]
fn a_bad_run_is_a_line_of_the_list() {
    let bench = Bench::new();
    for (name, file, text) in [
        ("results/tags", "tags.txt", "x".repeat(70_000)),
        (
            "results/json",
            "run.json",
            format!("{{\"format\": \"{}\"", "y".repeat(70_000)),
        ),
    ] {
        bench.changed(name, |run| fs::write(run.join(file), text).unwrap());
    }
    let out = bench.run(&["runs"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    // The output consists of a heading, three runs, two problems and the total.
    assert_eq!(out.stdout.lines().count(), 7, "{}", out.stdout);
    let longest = out.stdout.lines().map(str::len).max().unwrap();
    assert!(longest < 1_000, "{longest}");
    assert_eq!(
        out.stdout.matches("unreadable: ").count(),
        2,
        "{}",
        out.stdout
    );
    let out = bench.run(&["runs", "tag", "tags", "kept"]);
    assert_eq!(out.exit, Some(2), "{out:?}");
}

/// `verify` must remove its temporary folder, however the process ends.
#[test]
fn verify_leaves_nothing_behind() {
    let bench = Bench::new();
    let out = bench.run(&["bundle", "results/latest", "-o", "run.tar.zst"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let whole = fs::read(bench.at("run.tar.zst")).unwrap();
    fs::write(bench.at("cut.tar.zst"), &whole[..whole.len() / 2]).unwrap();
    let temporary = bench.at("tmp");
    fs::create_dir(&temporary).unwrap();
    let is_empty = || fs::read_dir(&temporary).unwrap().next().is_none();
    let verify = |bundle: &str| {
        let mut command = command_in(bench.0.path(), &["verify", bundle]);
        command.env("TMPDIR", &temporary);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    for (bundle, exit) in [("run.tar.zst", 0), ("cut.tar.zst", 2)] {
        let out = Outcome::from(verify(bundle).output().unwrap());
        assert_eq!(out.exit, Some(exit), "{out:?}");
        assert!(is_empty(), "{bundle}");
    }
    // Standard output to a full device ends the process early.
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let status = verify("run.tar.zst").stdout(full).status().unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(is_empty());
    let mut killed = 0;
    for (at, signal) in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .cycle()
        .take(30)
        .enumerate()
    {
        let mut child = verify("run.tar.zst").spawn().unwrap();
        while is_empty() && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_micros(200));
        }
        thread::sleep(Duration::from_millis(10 * at as u64));
        let _ = kill(Pid::from_raw(child.id().cast_signed()), signal);
        let status = child.wait().unwrap();
        killed += u32::from(status.code().is_none());
        assert!(is_empty(), "signal {signal} after {} ms", 10 * at);
    }
    assert!(killed >= 5, "{killed} of 30 were still running");
}

/// A file-size limit must end a run with a message, as a full disk does, and keep the rows written so far.
#[test]
fn rows_that_have_no_room_end_a_run_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = root().join("scenarios/8dc.yaml");
    // The file-size limits are in units of 1,024 bytes: the first is too small for the plan, the second fits the plan
    // but not the decisions of two policies.
    let script = "ulimit -f \"$1\" && shift && exec \"$@\"";
    let mut kept = 0;
    for blocks in [60, 2_600] {
        let mut command = Command::new("bash");
        command
            .args(["-c", script, "bash", &blocks.to_string()])
            .arg(env!("CARGO_BIN_EXE_lcmp-lab"))
            .args(["sim", scenario.to_str().unwrap(), "--policies", "ecmp,lcmp"])
            .args(["--repetitions", "1", "--results", "results"])
            .current_dir(folder.path());
        let out = Outcome::from(command.output().unwrap());
        assert_eq!(out.exit, Some(5), "{blocks}: {out:?}");
        assert!(out.stderr.contains("`ulimit -f unlimited`"), "{out:?}");
        assert!(
            out.stderr.contains("results/2"),
            "the message does not name the file: {out:?}"
        );
        let newest = folder.path().join("results/latest/flows.csv");
        let rows = fs::read_to_string(newest).map_or(0, |text| text.lines().count());
        if rows > 1 {
            let out = Outcome::from(command_in(folder.path(), &["report"]).output().unwrap());
            assert!(matches!(out.exit, Some(4 | 5)), "{out:?}");
            assert!(out.stderr.contains("the run did not end"), "{out:?}");
            kept += 1;
        }
    }
    assert!(kept > 0, "no limit was met by rows");
}

#[test]
fn a_full_disk_ends_a_run_with_the_remedy() {
    let test = "a_full_disk_ends_a_run_with_the_remedy";
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("skipped: {test}: to mount a small file system needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    let scenario = root().join("scenarios/8dc.yaml");
    let script = "mount -t tmpfs -o size=6m none \"$1\" && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(env!("CARGO_BIN_EXE_lcmp-lab"))
        .args(["sim", scenario.to_str().unwrap(), "--policies", "ecmp,lcmp"])
        .args(["--repetitions", "1"])
        .arg("--results")
        .arg(folder.path().join("results"));
    let out = Outcome::from(command.output().unwrap());
    if out.exit == Some(32) || out.stderr.contains("unshare") {
        return eprintln!("skipped: {test}: {}", out.stderr);
    }
    assert_eq!(out.exit, Some(5), "{out:?}");
    assert!(
        out.stderr.contains("free space on the full file system"),
        "{out:?}"
    );
    assert!(
        out.stderr.contains("results/2"),
        "the message does not name the file: {out:?}"
    );
}

/// Time limit for a command, far above what any of them takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
