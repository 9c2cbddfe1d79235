//! The launcher of a clone: when it builds, whom it runs as, and where it can be called from. Cargo and
//! the program are scripts that say how they were called.

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

/// A clone with the real launcher, in a folder whose name has a space.
struct Clone {
    _folder: TempDir,
    /// The clone.
    path: PathBuf,
    /// Programs that stand for cargo, the linker and sudo.
    programs: PathBuf,
    /// Calls of cargo, a line each: user and words.
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
        for file in ["Cargo.toml", "Cargo.lock", SOURCE] {
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

    /// Returns the launcher with an environment of a path to programs alone.
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

    /// Returns the calls of cargo so far.
    fn calls(&self) -> usize {
        fs::read_to_string(&self.calls).unwrap().lines().count()
    }

    fn stamp(&self) -> PathBuf {
        self.path.join("target/release/lcmp-lab.built")
    }

    /// Makes all sources newer than the program.
    fn age_the_program(&self) {
        let stamp = File::options().write(true).open(self.stamp()).unwrap();
        stamp.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
}

/// Runs a launcher that must pass `words` on to the program.
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

/// Writes a program by another process: a program that this one has open for writing can be run by none of
/// its threads, nor by their children until they have become other programs.
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

    // Documents and tests are no part of the program.
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
    let (clone, other) = (Clone::new(), Clone::new());
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

#[test]
fn it_is_called_from_anywhere_in_any_environment() {
    let clone = Clone::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("lab");
    symlink(clone.path.join("lcmp-lab"), &link).unwrap();
    let words = ["sim", "x"];
    let path = clone.launcher(&words);
    let path = path.get_envs().find(|(name, _)| *name == "PATH").unwrap();
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

/// The user may not write into the clone: root's by another user, or one without the right.
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
