//! Tests of the launcher in a clone: when it builds, which user it builds as, where it can be called from, and how it
//! reports tests. Scripts replace cargo, the program and the guest, and print how they were called.

mod common;

use std::{
    fs::{self, File, Permissions},
    io::Write,
    os::unix::{fs::PermissionsExt, fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use tempfile::TempDir;

use self::common::{NOBODY, Outcome, root};

/// Clone that contains the real launcher, in a folder with a space in its name.
struct Clone {
    _folder: TempDir,
    /// Path of the clone.
    path: PathBuf,
    /// Path of the scripts that replace cargo, the linker and sudo.
    programs: PathBuf,
    /// Path of the log of calls to cargo, one per line: user and arguments.
    calls: PathBuf,
}

impl Clone {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        allow(folder.path(), 0o755);
        let path = folder.path().join("a clone");
        let programs = folder.path().join("bin");
        let calls = folder.path().join("calls");
        fs::create_dir_all(path.join("orchestrator/cli/src")).unwrap();
        for other in ["agents", "perftest-wrappers", "reports", "vagrant"] {
            fs::create_dir(path.join(other)).unwrap();
        }
        for file in ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", SOURCE] {
            fs::write(path.join(file), "").unwrap();
        }
        script(&path.join("vagrant/provision.sh"), "exit 0");
        let launcher = fs::read_to_string(root().join("lcmp-lab")).unwrap();
        install(&launcher, &path.join("lcmp-lab"));
        fs::create_dir(&programs).unwrap();
        fs::write(&calls, "").unwrap();
        allow(&calls, 0o666);
        let calls_text = calls.display();
        script(
            &programs.join("cargo"),
            &format!(
                "echo \"$(id -u) $*\" >>'{calls_text}'\n\
                 program=$CARGO_TARGET_DIR/release/lcmp-lab\n\
                 printf '#!/bin/sh\\necho \"ran $*\"\\n' >\"$program\"\n\
                 chmod 755 \"$program\"\n\
                 echo Finished >&2"
            ),
        );
        script(&programs.join("cc"), "exit 0");
        script(&programs.join("sudo"), "shift\nexec \"$@\"");
        Self {
            _folder: folder,
            path,
            programs,
            calls,
        }
    }

    /// Returns a command that calls the launcher with an environment that contains only `PATH`.
    fn launcher(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.path.join("lcmp-lab"));
        let path = format!("{}:/usr/bin:/bin:/usr/sbin:/sbin", self.programs.display());
        command
            .args(words)
            .env_clear()
            .env("PATH", path)
            .stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> Outcome {
        ran(&mut self.launcher(words), words)
    }

    /// Returns the number of calls to cargo so far.
    fn calls(&self) -> usize {
        fs::read_to_string(&self.calls).unwrap().lines().count()
    }

    fn stamp(&self) -> PathBuf {
        self.path.join("target/release/lcmp-lab.built")
    }

    /// Makes all sources newer than the program, so that the launcher must build.
    fn age_the_program(&self) {
        let stamp = File::options().write(true).open(self.stamp()).unwrap();
        stamp.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
}

/// Calls the launcher, which must run the program with the arguments `words`.
#[track_caller]
fn ran(command: &mut Command, words: &[&str]) -> Outcome {
    let outcome = Outcome::from(command.output().unwrap());
    let expected = format!("ran {}\n", words.join(" "));
    assert_eq!(
        (outcome.exit, &outcome.stdout),
        (Some(0), &expected),
        "{outcome:?}"
    );
    outcome
}

fn script(path: &Path, text: &str) {
    install(&format!("#!/bin/bash\n{text}\n"), path);
}

/// Writes a program with a separate process. If this process had the file open for writing, neither its threads nor
/// children that have not called `exec` yet could run the program.
fn install(text: &str, path: &Path) {
    let mut command = Command::new("install");
    command.args(["-m", "755", "/dev/stdin"]).arg(path);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

const SOURCE: &str = "orchestrator/cli/src/main.rs";

#[test]
fn it_builds_when_a_source_is_newer_and_is_silent_otherwise() {
    let clone = Clone::new();
    let first = clone.run(&["plan", "scenarios/a b.yaml"]);
    assert!(first.stderr.contains("Finished"), "{first:?}");
    for words in [&["plan", "x"][..], &["up", "x"], &["sim", "x"]] {
        assert_eq!(clone.run(words).stderr, "", "{words:?}");
    }
    assert_eq!(clone.calls(), 1);

    clone.age_the_program();
    clone.run(&["check", "x"]);
    clone.run(&["check", "x"]);
    assert_eq!(clone.calls(), 2);

    // Changes in documents and tests need no build, because they are not part of the program.
    fs::create_dir(clone.path.join("orchestrator/cli/tests")).unwrap();
    for other in ["reports/README.md", "orchestrator/cli/tests/cli.rs"] {
        let file = File::create(clone.path.join(other)).unwrap();
        let later = SystemTime::now() + Duration::from_secs(3_600);
        file.set_modified(later).unwrap();
    }
    clone.run(&["check", "x"]);
    assert_eq!(clone.calls(), 2);
}

#[test]
fn a_program_of_another_clone_in_the_same_directory_is_built_again() {
    let clone = Clone::new();
    let other = Clone::new();
    for (clone, calls) in [(&clone, 1), (&other, 1), (&other, 1), (&clone, 2)] {
        let mut command = clone.launcher(&["plan", "x"]);
        command.env("CARGO_TARGET_DIR", other.path.join("target"));
        ran(&mut command, &["plan", "x"]);
        assert_eq!(clone.calls(), calls);
    }
}

#[test]
fn what_looks_or_cleans_up_needs_no_cargo_once_there_is_a_program() {
    let clone = Clone::new();
    let verbs = [
        "status", "exec", "tune", "down", "doctor", "report", "flow", "runs", "compare",
        "fidelity", "bundle", "help", "--help",
    ];
    clone.run(&["status"]);
    assert_eq!(clone.calls(), 1, "there was no program");
    clone.age_the_program();
    script(&clone.programs.join("cargo"), "echo called >&2; exit 1");
    for verb in verbs {
        assert_eq!(clone.run(&[verb]).stderr, "", "{verb}");
    }
    let with_flags = ["--lab", "up", "--results", "a b", "down", "--json"];
    assert_eq!(clone.run(&with_flags).stderr, "");
    let out = Outcome::from(clone.launcher(&["plan", "x"]).output().unwrap());
    assert_eq!((out.exit, out.stderr.as_str()), (Some(1), "called\n"));
}

/// `build` and `test` are verbs of the launcher, not of the program.
#[test]
fn help_for_building_and_testing_is_shown_without_doing_either() {
    let clone = Clone::new();
    for words in [
        &["test", "--help"][..],
        &["test", "--slow", "-h"],
        &["build", "--help"],
    ] {
        let out = Outcome::from(clone.launcher(words).output().unwrap());
        assert_eq!((out.exit, out.stderr.as_str()), (Some(0), ""), "{words:?}");
        assert!(
            out.stdout.starts_with("Runs lcmp-lab from a clone: "),
            "{out:?}"
        );
        assert!(out.stdout.contains("\n  ./lcmp-lab test "), "{out:?}");
        assert!(out.stdout.ends_with("is not a terminal.\n"), "{out:?}");
    }
    assert_eq!(clone.calls(), 0);
}

#[test]
fn it_is_called_from_anywhere_in_any_environment() {
    let clone = Clone::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("lab");
    symlink(clone.path.join("lcmp-lab"), &link).unwrap();
    let words = ["sim", "x"];
    let launcher = clone.launcher(&words);
    let mut variables = launcher.get_envs();
    let path = variables.find(|(name, _)| *name == "PATH").unwrap();
    let mut linked = Command::new(&link);
    linked.args(words).env_clear().env("PATH", path.1.unwrap());
    let umask = "umask 077 && exec \"$0\" \"$@\"";
    let mut private = Command::new("bash");
    private
        .args(["-c", umask])
        .arg(clone.path.join("lcmp-lab"))
        .args(words)
        .env_clear()
        .env("PATH", path.1.unwrap());
    for command in [&mut private, &mut linked] {
        command
            .current_dir(elsewhere.path())
            .env("LC_ALL", "C")
            .env("COLUMNS", "80")
            .env("CDPATH", "/")
            .stdin(Stdio::null());
        ran(command, &words);
    }
    assert_eq!(clone.calls(), 1);
    assert!(clone.stamp().is_file());
}

/// A user who cannot write to the clone, because it belongs to root or is read-only, gets a build in a cache directory.
#[test]
fn a_clone_that_cannot_be_written_to_is_built_in_the_users_cache() {
    let clone = Clone::new();
    let home = tempfile::tempdir().unwrap();
    allow(home.path(), 0o777);
    allow(&clone.path, 0o555);
    for _ in 0..2 {
        let mut command = clone.launcher(&["plan", "x"]);
        command.env("HOME", home.path()).current_dir(home.path());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        ran(&mut command, &["plan", "x"]);
    }
    allow(&clone.path, 0o755);
    assert_eq!(clone.calls(), 1);
    assert!(home.path().join(".cache/lcmp-lab").is_dir());
    assert!(!clone.path.join("target").exists());
}

#[test]
fn root_by_sudo_builds_as_the_user() {
    if !is_root() {
        eprintln!("skipped: root_by_sudo_builds_as_the_user: this is not root");
        return;
    }
    let clone = Clone::new();
    let owner = (Some(NOBODY), Some(NOBODY));
    std::os::unix::fs::chown(&clone.path, owner.0, owner.1).unwrap();
    let mut command = clone.launcher(&["up", "x"]);
    command.env("SUDO_UID", NOBODY.to_string());
    command.env("SUDO_GID", NOBODY.to_string());
    ran(&mut command, &["up", "x"]);
    let calls = fs::read_to_string(&clone.calls).unwrap();
    assert!(calls.starts_with(&format!("{NOBODY} build")), "{calls}");
}

/// Log of cargo for five tests, of which one is skipped, two lack modules, and one starts another test in a separate
/// process.
const NATIVE: &str = "
     Running unittests src/lib.rs (target/release/deps/lab_kernel-0123456789abcdef)

running 5 tests
skipped: lab::a: veth is missing
test lab::a ... ok
test lab::b ... skipped: lab::b: rdma_rxe is missing
ok
test lab::c ... ok
skipped: d: clang-14 is another
skipped: d: so is clang-15
test d ... ok

running 1 test
test e ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.01s

test e ... ok

test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s

   Doc-tests lab_units

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s

test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
";

/// Log of the guest for the two tests that lacked modules: one failed, and the other needs more than modules.
const GUEST: &str = "
running 2 tests
test lab::a ... FAILED
test lab::b ... skipped: lab::b: it needs two CPUs
ok

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.10s
";

const BOTH_PASSED: &str = "
running 2 tests
test lab::a ... ok
test lab::b ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.10s
";

const NONE_RAN: &str = "
running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.00s
";

/// Calls a shell function of the launcher; its arguments are files that contain `texts`, followed by `words`.
fn function(name: &str, texts: &[&str], words: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("bash");
    command
        .args(["-c", "source \"$1\" && shift && \"$@\"", "test"])
        .arg(root().join("lcmp-lab"))
        .arg(name)
        .current_dir(folder.path());
    for (number, text) in texts.iter().enumerate() {
        let file = folder.path().join(number.to_string());
        fs::write(&file, text).unwrap();
        command.arg(number.to_string());
    }
    command.args(words).output().unwrap().into()
}

#[test]
fn each_test_is_counted_once_by_what_became_of_it_in_the_end() {
    let libraries = "bans ok\nskipped: advisories: there is no copy\n";
    // c, e and five documentation tests pass, a fails, and b, d and the advisories are skipped.
    let out = function("report", &[NATIVE, GUEST, libraries], &[]);
    let expected = "skipped: d: clang-14 is another\n\
                    skipped: lab::b: it needs two CPUs\n\
                    skipped: advisories: there is no copy\n\
                    7 passed, 1 failed, 3 skipped\n";
    assert_eq!((out.exit, out.stdout.as_str()), (Some(0), expected));

    // Without a guest, a, b and d count as skipped.
    let out = function("report", &[NATIVE, "", ""], &[]);
    let last = out.stdout.lines().last();
    assert_eq!(last, Some("7 passed, 0 failed, 3 skipped"), "{out:?}");
    assert!(out.stdout.contains("skipped: lab::a: veth is missing\n"));
}

#[test]
fn a_guest_that_ran_fewer_tests_than_it_was_asked_to_is_an_error() {
    assert_eq!(function("guest_ran_all", &[GUEST], &["2"]).exit, Some(0));
    for log in [NONE_RAN, ""] {
        let out = function("guest_ran_all", &[log], &["2"]);
        assert_eq!(out.exit, Some(1), "{out:?}");
        assert!(out.stderr.contains("the guest ran 0 of 2 tests"), "{out:?}");
    }
}

#[test]
fn a_skip_that_no_line_of_the_list_allows_is_an_error() {
    let list = "# Why.\n\nd: clang-14 *\nlab::b: it needs two CPUs\n";
    let refuse = |report: &str| function("refuse_skips", &[list, report], &[]);
    for allowed in [
        "",
        "skipped: d: clang-14 is another\n1 passed, 0 failed, 1 skipped\n",
    ] {
        let out = refuse(allowed);
        assert_eq!((out.exit, out.stderr.as_str()), (Some(0), ""));
    }
    for one_more in [
        "skipped: d: there is no clang",
        "skipped: e: clang-14 is another",
        "skipped: lab::b: it needs two CPUs\nskipped: lab::bb: it needs two CPUs",
    ] {
        let out = refuse(one_more);
        assert_eq!(out.exit, Some(1), "{one_more}");
        let line = one_more.lines().last().unwrap();
        let named = line.strip_prefix("skipped: ").unwrap();
        assert!(out.stderr.contains(named), "{out:?}");
        assert_eq!(out.stderr.lines().count(), 1, "{out:?}");
    }
}

/// Runs all tests with a guest that prints `log`; `None` if no guest can run.
fn strict_run(guest: Option<&str>) -> Outcome {
    let clone = Clone::new();
    fs::create_dir_all(clone.path.join("orchestrator/kernel")).unwrap();
    fs::create_dir(clone.path.join(".ci")).unwrap();
    script(&clone.path.join(".ci/dependencies"), "echo licences ok");
    fs::write(clone.path.join(".ci/skips"), "d: clang-14 *\n").unwrap();
    fs::write(clone.path.join("native"), NATIVE).unwrap();
    fs::write(clone.path.join("guest"), guest.unwrap_or_default()).unwrap();
    let built = clone.path.join("target/release");
    fs::create_dir_all(built.join("examples")).unwrap();
    fs::create_dir(built.join("deps")).unwrap();
    fs::write(built.join("deps/lab_kernel-0123456789abcdef"), "").unwrap();
    script(
        &clone.programs.join("cargo"),
        "case $* in *--no-run* | fmt*) ;; test*) cat native ;; esac",
    );
    let needs = if guest.is_some() { 0 } else { 3 };
    script(
        &built.join("examples/guest"),
        &format!("[ \"$1\" != needs ] || exit {needs}\ncat ../../guest"),
    );
    let mut command = clone.launcher(&["test", "--yes", "--strict"]);
    command.output().unwrap().into()
}

#[test]
fn a_strict_run_passes_if_all_that_was_asked_for_ran() {
    let out = strict_run(Some(BOTH_PASSED));
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert!(
        out.stdout.ends_with("9 passed, 0 failed, 1 skipped\n"),
        "{out:?}"
    );
}

#[test]
fn a_strict_run_without_a_guest_or_with_an_idle_one_fails() {
    let none = strict_run(None);
    assert_eq!(none.exit, Some(1), "{none:?}");
    let idle = strict_run(Some(NONE_RAN));
    assert_eq!(idle.exit, Some(1), "{idle:?}");
    assert!(idle.stderr.contains("ran 0 of 2 tests"), "{idle:?}");
    for out in [none, idle] {
        let last = out.stdout.lines().last();
        assert_eq!(last, Some("7 passed, 0 failed, 3 skipped"), "{out:?}");
        let unlisted = "a skip that .ci/skips does not allow: lab::a: veth is missing";
        assert!(out.stderr.contains(unlisted), "{out:?}");
    }
}

/// Returns each line of Rust in the workspace that contains `text`, with the eight lines that follow it.
fn sources_with(text: &str) -> String {
    let mut command = Command::new("grep");
    command.args(["-rhF", "-A", "8", "--include=*.rs", text]);
    command.args(["orchestrator", "agents", "perftest-wrappers", "reports"]);
    let found = command.current_dir(root()).output().unwrap();
    String::from_utf8(found.stdout).unwrap()
}

#[test]
fn skips_that_ci_allows_are_of_tests_that_there_are() {
    let list = fs::read_to_string(root().join(".ci/skips")).unwrap();
    let dependencies = fs::read_to_string(root().join(".ci/dependencies")).unwrap();
    let allowed = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in allowed {
        let (name, _) = line.split_once(": ").expect("a name and a reason");
        let test = name.rsplit("::").next().unwrap();
        let is_test = !sources_with(&format!("fn {test}(")).is_empty();
        let is_check = dependencies.contains(&format!("skipped: {line}"));
        assert!(is_test || is_check, "{line}");
    }
}

/// A test is ignored by default for one of two reasons: it is slow, and `--slow` must run it; or it is a process that
/// other tests start, and `--slow` must leave it out.
#[test]
fn slow_runs_leave_out_the_processes_that_tests_start() {
    let launcher = fs::read_to_string(root().join("lcmp-lab")).unwrap();
    let words: Vec<&str> = launcher.split_whitespace().collect();
    let is_left_out = |name: &str| {
        let ends = |word: &str| word.rsplit("::").next() == Some(name);
        let mut pairs = words.windows(2);
        pairs.any(|pair| pair[0] == "--skip" && ends(pair[1]))
    };
    let sources = sources_with("#[ignore = \"entry point of a process that tests start\"]");
    let functions = sources.lines().filter_map(|line| line.strip_prefix("fn "));
    let names: Vec<&str> = functions
        .filter_map(|line| line.strip_suffix("() {"))
        .collect();
    assert!(names.contains(&"owner"), "{names:?}");
    for name in names {
        assert!(is_left_out(name), "{name}");
    }
}

#[test]
fn libraries_that_cannot_be_checked_are_a_named_skip() {
    let mut command = Command::new(root().join(".ci/dependencies"));
    command.env_clear().env("PATH", "/usr/bin:/bin");
    let out = Outcome::from(command.output().unwrap());
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert_eq!(
        out.stdout,
        "skipped: dependencies: cargo-deny is not installed\n"
    );
}

/// The minimum Rust version that the crates declare must be the toolchain of the clone, because no other version is
/// tested.
#[test]
fn the_clones_toolchain_is_the_oldest_that_the_crates_claim() {
    let quoted = |file: &str, key: &str| {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
        value.unwrap().trim_end_matches('"').to_owned()
    };
    let oldest = quoted("Cargo.toml", "rust-version");
    let channel = quoted("rust-toolchain.toml", "channel");
    assert_eq!(channel, format!("{oldest}.0"));
}
