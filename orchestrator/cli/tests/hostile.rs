//! Input made to block, mislead or exhaust the program: pipes and devices in place of files, damaged runs, signals and
//! full disks.

mod common;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use self::common::{Outcome, command_in, root};

/// A folder with a simulated run of the smallest scenario in `results/latest`.
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

    /// Runs the command, which must end by itself.
    #[track_caller]
    fn ends(&self, arguments: &[&str]) -> Outcome {
        let mut command = command_in(self.0.path(), arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let since = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if since.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("{arguments:?}: it waits");
            }
            thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output().unwrap().into()
    }

    /// Copies the run under another name, applies `change` to the copy, and returns its path.
    fn changed(&self, name: &str, change: impl FnOnce(&Path)) -> String {
        let (from, to) = (self.at("results/latest/."), self.at(name));
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

/// Verbs that read the whole run; `{}` stands for its path.
const READERS: [&[&str]; 5] = [
    &["report", "{}"],
    &["flow", "{}", "0"],
    &["compare", "{}", "results/latest", "-o", "out"],
    &["compare", "results/latest", "{}", "-o", "out"],
    &["fidelity", "{}", "results/latest", "-o", "out"],
];

fn of_run(words: &[&'static str], run: &str) -> Vec<String> {
    words.iter().map(|word| word.replace("{}", run)).collect()
}

#[test]
fn a_run_of_another_format_is_refused_with_what_helps() {
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
            let words = of_run(words, run);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
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
    let smoke = root().join("scenarios/smoke.yaml");
    let smoke = smoke.to_str().unwrap();
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
        for words in [&["bundle", path][..], &["runs", "tag", path, "kept"]] {
            let out = bench.ends(words);
            assert_eq!(out.exit, Some(2), "{words:?}: {out:?}");
        }
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
                let words = of_run(words, &run);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let out = bench.ends(&words);
                assert_eq!(out.exit, Some(2), "{file}: {words:?}: {out:?}");
                assert!(out.stderr.contains(file), "{file}: {words:?}: {out:?}");
            }
            let out = bench.ends(&["bundle", &run, "-o", "bundle"]);
            assert_eq!(out.exit, Some(2), "{file}: {out:?}");
            fs::remove_dir_all(bench.at(&run)).unwrap();
        }
    }
}

/// Function that damages the run at a path.
type Damage<'a> = &'a dyn Fn(&Path);

/// A run that cannot be read is wrong input for every verb: exit code 2.
#[test]
fn one_damage_has_one_exit_code() {
    let bench = Bench::new();
    let garbage = |file: &'static str| move |run: &Path| fs::write(run.join(file), "no").unwrap();
    let cut = |run: &Path| {
        let text = fs::read_to_string(run.join("flows.csv")).unwrap();
        fs::write(run.join("flows.csv"), text.replacen("\n0,", "\nx,", 1)).unwrap();
    };
    let long = |run: &Path| {
        let text = fs::read_to_string(run.join("flows.csv")).unwrap();
        let long = text.replacen("finished", &"x".repeat(3 << 20), 1);
        fs::write(run.join("flows.csv"), long).unwrap();
    };
    let other_policy = |run: &Path| {
        let text = fs::read_to_string(run.join("flows.csv")).unwrap();
        fs::write(run.join("flows.csv"), text.replacen(",ecmp,", ",wcmp,", 1)).unwrap();
    };
    let damages: [(&str, Damage<'_>); 7] = [
        ("run.json", &garbage("run.json")),
        ("plan.json", &garbage("plan.json")),
        ("flows.parquet", &garbage("flows.parquet")),
        ("flows.csv", &cut),
        ("flows.csv", &long),
        ("flows.csv", &other_policy),
        ("flows.csv", &|run| {
            fs::remove_file(run.join("flows.csv")).unwrap();
        }),
    ];
    for (file, damage) in damages {
        let run = bench.changed("damaged", damage);
        for words in READERS {
            let words = of_run(words, &run);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let out = bench.run(&words);
            assert_eq!(out.exit, Some(2), "{file}: {words:?}: {out:?}");
            assert!(out.stderr.contains(file), "{file}: {words:?}: {out:?}");
        }
        fs::remove_dir_all(bench.at(&run)).unwrap();
    }
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
    // A heading, three runs, two problems and the total.
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

/// The temporary folder of `verify` is removed however the process ends.
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
    // A full standard output ends the process early.
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

/// A file-size limit ends a run with a message, as a full disk does, and the rows written so far are kept.
#[test]
fn rows_that_have_no_room_end_a_run_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = root().join("scenarios/8dc.yaml");
    // In units of 1,024 bytes: first less than the plan needs, then enough for the plan but not for the decisions of
    // two policies.
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
            "it names the file: {out:?}"
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
        out.stderr.contains("free space on its file system"),
        "{out:?}"
    );
    assert!(
        out.stderr.contains("results/2"),
        "it names the file: {out:?}"
    );
}

/// Far longer than any of these commands takes, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
