//! Tests of the program in unusual surroundings: without root or a home directory, in a folder whose name has a space,
//! without the repository, in another locale, and under sudo.

mod common;

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use self::common::{NOBODY, Outcome, copy_program};

/// Folder of user `nobody` with a copy of the program that all users can run.
struct NobodyFolder {
    folder: TempDir,
    path: PathBuf,
}

impl NobodyFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a place");
        fs::create_dir(&path).unwrap();
        for path in [folder.path(), &path] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        copy_program(&path);
        if is_root() {
            std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Self { folder, path }
    }

    /// Returns a command run by a shell in the folder, with umask 077 and an environment that contains only a locale.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", "umask 077 && exec ./lcmp-lab \"$@\"", "sh"])
            .args(words)
            .env_clear()
            .env("LC_ALL", "C")
            .env("COLUMNS", "80")
            .current_dir(&self.path)
            .stdin(Stdio::null());
        command
    }

    /// Runs a command as user `nobody`, or as this user if the process may not change users.
    fn run(&self, words: &[&str]) -> Outcome {
        let mut command = self.command(words);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().unwrap().into()
    }
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Returns the paths of all files in a directory and its subdirectories.
fn tree(path: &Path) -> Vec<PathBuf> {
    let mut paths = vec![path.to_owned()];
    if path.symlink_metadata().unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            paths.extend(tree(&entry.unwrap().path()));
        }
    }
    paths
}

#[test]
fn all_but_labs_works_without_root_home_or_files() {
    let place = NobodyFolder::new();
    for words in [
        &["check", "smoke"][..],
        &["plan", "scenarios/smoke.yaml"],
        &["graph", "8dc", "-o", "map.svg"],
        &["explain", "8dc", "--from", "dc1", "--to", "dc8"],
        &["account", "8dc"],
        &["scenarios"],
        &["scenarios", "--copy", "my scenarios"],
        &["sim", "my scenarios/smoke.yaml"],
        &["sim", "smoke"],
        &["status"],
        &["report"],
        &["flow", "results/latest", "0"],
        &["runs"],
        &["runs", "tag", "latest", "kept"],
        &["bundle", "results/latest", "-o", "run.tar.zst"],
        &["verify", "run.tar.zst", "--rerun"],
        &["completions", "bash"],
        &["man", "."],
        &["help", "up"],
    ] {
        let out = place.run(words);
        assert_eq!(out.exit, Some(0), "{words:?}: {out:?}");
    }
    let out = place.run(&["up", "smoke"]);
    assert_eq!(out.exit, Some(3), "{out:?}");
    assert!(out.stderr.contains("`lcmp-lab sim smoke`"), "{out:?}");
}

#[test]
fn what_is_built_in_is_named_where_it_replaces_a_file() {
    let place = NobodyFolder::new();
    let out = place.run(&["check", "scenarios/8dc.yaml"]);
    let note = "there is no file `scenarios/8dc.yaml`: using built-in:scenarios/8dc.yaml\n";
    assert!(out.stderr.starts_with(note), "{out:?}");
    let own = place.path.join("scenarios");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("8dc.yaml"), "name: [").unwrap();
    fs::set_permissions(own.join("8dc.yaml"), Permissions::from_mode(0o644)).unwrap();
    let out = place.run(&["check", "scenarios/8dc.yaml"]);
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(!out.stderr.contains("built-in"), "{out:?}");
}

/// After `sudo lcmp-lab up`, the user can read, tag and delete the results.
#[test]
fn what_root_writes_by_sudo_belongs_to_the_caller() {
    if !is_root() {
        eprintln!("skipped: what_root_writes_by_sudo_belongs_to_the_caller: this is not root");
        return;
    }
    let place = NobodyFolder::new();
    let by_sudo = |words: &[&str]| {
        let mut command = place.command(words);
        let id = NOBODY.to_string();
        command.env("SUDO_UID", &id).env("SUDO_GID", &id);
        let out = Outcome::from(command.output().unwrap());
        assert_eq!(out.exit, Some(0), "{words:?}: {out:?}");
    };
    for words in [
        &["sim", "smoke", "--results", "deep/results"][..],
        &["report", "deep/results/latest"],
        &["runs", "tag", "latest", "kept", "--results", "deep/results"],
        &["bundle", "deep/results/latest", "-o", "run.tar.zst"],
        &["verify", "run.tar.zst", "-o", "verified"],
        &[
            "compare",
            "deep/results/latest",
            "deep/results/latest",
            "-o",
            "compared",
        ],
        &["scenarios", "--copy", "mine"],
        &["graph", "smoke", "-o", "map.svg"],
        &["man", "man"],
    ] {
        by_sudo(words);
    }
    let of_root = |path: &PathBuf| path.symlink_metadata().unwrap().uid() == 0;
    let left: Vec<_> = tree(&place.path).into_iter().filter(of_root).collect();
    let program = place.path.join("lcmp-lab");
    assert_eq!(left, [program], "these belong to root");
    assert_eq!(
        place
            .run(&[
                "runs",
                "delete",
                "--all",
                "--yes",
                "--results",
                "deep/results"
            ])
            .exit,
        Some(0)
    );
}

/// Links in a run directory are read and written with the rights of the user who owns it.
#[test]
fn a_report_by_root_of_anothers_run_has_no_more_rights_than_its_owner() {
    let test = "a_report_by_root_of_anothers_run_has_no_more_rights_than_its_owner";
    if !is_root() {
        return eprintln!("skipped: {test}: this is not root");
    }
    let place = NobodyFolder::new();
    let out = place.run(&["sim", "smoke"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let by_root = || Outcome::from(place.command(&["report"]).output().unwrap());
    let run = fs::canonicalize(place.path.join("results/latest")).unwrap();
    assert_eq!(by_root().exit, Some(0));
    let of_root = |path: &PathBuf| path.symlink_metadata().unwrap().uid() == 0;
    assert!(!tree(&run).iter().any(of_root));

    let secret = place.folder.path().join("secret");
    let links = run.join("links.csv");
    fs::copy(&links, &secret).unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(&links).unwrap();
    std::os::unix::fs::symlink(&secret, &links).unwrap();
    let out = by_root();
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(out.stderr.contains("it is a symbolic link"), "{out:?}");
}

/// A user puts a link at every path in a run that root opens. Root must neither show nor change the target of a link.
#[test]
fn no_file_of_anothers_run_leads_root_elsewhere() {
    let test = "no_file_of_anothers_run_leads_root_elsewhere";
    if !is_root() {
        return eprintln!("skipped: {test}: this is not root");
    }
    let place = NobodyFolder::new();
    let out = place.run(&["sim", "smoke", "--policies", "ecmp,lcmp"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let run = fs::canonicalize(place.path.join("results/latest")).unwrap();
    let secret = place.folder.path().join("secret");
    fs::write(&secret, SECRET).unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let entries = fs::read_dir(&run).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let more = [
        "tags.txt",
        "flows.parquet",
        "inputs.json",
        "programs.json",
        "compare",
        "console.log",
    ];
    names.extend(more.map(str::to_owned));
    let drafts: Vec<String> = names.iter().map(|name| format!(".{name}.draft")).collect();
    for name in names.into_iter().chain(drafts) {
        let path = run.join(&name);
        let aside = place.folder.path().join("aside");
        let is_moved = fs::rename(&path, &aside).is_ok();
        std::os::unix::fs::symlink(&secret, &path).unwrap();
        std::os::unix::fs::lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        for words in [
            &["runs"][..],
            &["runs", "tag", "latest", "kept"],
            &["report"],
            &["flow", "results/latest", "0"],
            &["compare", "results/latest", "results/latest"],
            &["bundle", "results/latest", "-o", "/dev/null"],
        ] {
            let output = place.command(words).output().unwrap();
            for shown in [&output.stdout, &output.stderr] {
                let shown = String::from_utf8_lossy(shown);
                assert!(!shown.contains(SECRET), "{name}: {words:?}: {shown}");
            }
            assert_eq!(
                fs::read_to_string(&secret).unwrap(),
                SECRET,
                "{name}: {words:?}"
            );
            let found = secret.symlink_metadata().unwrap();
            let rights = (found.uid(), found.mode() & 0o777);
            assert_eq!(rights, (0, 0o600), "{name}: {words:?}");
        }
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            drop(fs::remove_file(&path));
        }
        if is_moved {
            fs::rename(&aside, &path).unwrap();
        }
    }
}

/// A user puts a link at every path that root uses in that user's folder. Root must not change the target of a link.
#[test]
fn no_path_that_root_names_leads_through_anothers_link() {
    let test = "no_path_that_root_names_leads_through_anothers_link";
    if !is_root() {
        return eprintln!("skipped: {test}: this is not root");
    }
    let place = NobodyFolder::new();
    let out = place.run(&["sim", "smoke"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let bundle = ["bundle", "results/latest", "-o", "run.tar.zst"];
    assert_eq!(place.run(&bundle).exit, Some(0));
    let smoke = common::root().join("scenarios/smoke.yaml");
    let suite = format!(
        "name: suite\ncases:\n  - {{ name: smoke, scenario: {}, expect: [unfinished == 0] }}\n",
        smoke.display()
    );
    fs::write(place.path.join("suite.yaml"), suite).unwrap();
    let secret = place.folder.path().join("secret");
    let private = place.folder.path().join("private");
    fs::write(&secret, SECRET).unwrap();
    fs::create_dir(&private).unwrap();
    let run = "results/latest";
    for (planted, target, words) in [
        ("map.svg", &secret, &["graph", "smoke", "-o", "map.svg"][..]),
        (
            "new.tar.zst",
            &secret,
            &["bundle", run, "-o", "new.tar.zst"],
        ),
        (
            "junit.xml",
            &secret,
            &["regress", "suite.yaml", "--junit", "junit.xml"],
        ),
        (
            "suite.md",
            &secret,
            &["regress", "suite.yaml", "--markdown", "suite.md"],
        ),
        ("pages/lcmp-lab.1", &secret, &["man", "pages"]),
        ("link", &private, &["graph", "smoke", "-o", "link/map.svg"]),
        ("link", &private, &["bundle", run, "-o", "link/run.tar.zst"]),
        (
            "link",
            &private,
            &["regress", "suite.yaml", "--history", "link"],
        ),
        (
            "link",
            &private,
            &["regress", "suite.yaml", "--history", "link/below"],
        ),
        ("link", &private, &["man", "link"]),
        ("link", &private, &["scenarios", "--copy", "link/mine"]),
        ("link", &private, &["compare", run, run, "-o", "link"]),
        ("link", &private, &["compare", run, run, "-o", "link/below"]),
        (
            "link",
            &private,
            &["fidelity", run, run, "-o", "link/below"],
        ),
        (
            "link",
            &private,
            &["verify", "run.tar.zst", "-o", "link/below"],
        ),
        ("link", &private, &["sim", "smoke", "--results", "link"]),
        (
            "link",
            &private,
            &["sim", "smoke", "--results", "link/below"],
        ),
        // With no run of either engine, `reproduce` would write a page that only states the reasons.
        (
            "link",
            &private,
            &["reproduce", "fig1", "--engine", "kernel", "-o", "link"],
        ),
        (
            "results/reproduction",
            &private,
            &["reproduce", "fig1", "--engine", "kernel"],
        ),
    ] {
        let path = place.path.join(planted);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &path).unwrap();
        std::os::unix::fs::lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        let out = Outcome::from(place.command(words).output().unwrap());
        assert!(matches!(out.exit, Some(2 | 3)), "{words:?}: {out:?}");
        assert!(path.is_symlink(), "{words:?}: {out:?}");
        assert_eq!(fs::read_to_string(&secret).unwrap(), SECRET, "{words:?}");
        assert_eq!(fs::read_dir(&private).unwrap().count(), 0, "{words:?}");
        fs::remove_file(&path).unwrap();
    }
}

/// A link is followed if it belongs to the user who names the path on the command line, also under sudo.
#[test]
fn a_path_may_lead_through_links_of_the_person_who_names_it() {
    let place = NobodyFolder::new();
    if !is_root() {
        let test = "a_path_may_lead_through_links_of_the_person_who_names_it";
        return eprintln!("skipped: {test}: this is not root");
    }
    let disk = place.path.join("disk");
    fs::create_dir(&disk).unwrap();
    std::os::unix::fs::chown(&disk, Some(NOBODY), Some(NOBODY)).unwrap();
    for (link, target) in [("link", "disk"), ("map.svg", "disk/map.svg")] {
        let link = place.path.join(link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let by_nobody = |words: &[&str]| place.run(words);
    let by_sudo = |words: &[&str]| {
        let id = NOBODY.to_string();
        let mut command = place.command(words);
        command.env("SUDO_UID", &id).env("SUDO_GID", &id);
        Outcome::from(command.output().unwrap())
    };
    for words in [
        &["graph", "smoke", "-o", "map.svg"][..],
        &["man", "link"],
        &["sim", "smoke", "--results", "link/results"],
        &["bundle", "link/results/latest", "-o", "link/run.tar.zst"],
    ] {
        for run in [&by_nobody as &dyn Fn(&[&str]) -> Outcome, &by_sudo] {
            let out = run(words);
            assert_eq!(out.exit, Some(0), "{words:?}: {out:?}");
            // A bundle is removed first, because it is never overwritten.
            let _ = fs::remove_file(disk.join("run.tar.zst"));
        }
    }
    assert!(disk.join("map.svg").is_file() && disk.join("lcmp-lab.1").is_file());
    // Existing files keep their owners: the overwritten file, and other files in its folder.
    let kept = place.path.join("kept.svg");
    fs::write(&kept, "").unwrap();
    assert_eq!(by_sudo(&["graph", "smoke", "-o", "kept.svg"]).exit, Some(0));
    assert_eq!(by_sudo(&["man", "."]).exit, Some(0));
    assert!(fs::read(&kept).unwrap().starts_with(b"<svg"));
    assert_eq!(kept.metadata().unwrap().uid(), 0);
    let page = place.path.join("lcmp-lab.1");
    assert_eq!(page.metadata().unwrap().uid(), NOBODY);
}

/// Contents of a file that only root may read.
const SECRET: &str = "root:$6$of-root-alone";

/// No lab can run, on this kernel or in a guest, if the user namespace of root maps no other users, or if libibverbs
/// lacks the driver of SoftRoCE.
#[test]
fn doctor_fails_where_no_lab_can_run() {
    let test = "doctor_fails_where_no_lab_can_run";
    let place = NobodyFolder::new();
    let doctor = "./lcmp-lab doctor";
    let hidden = format!("mount -t tmpfs none /etc/libibverbs.d && {doctor}");
    for (flags, script, finding) in [
        (
            &["--user", "--map-root-user"][..],
            doctor,
            "fail  guest user: this user namespace does not map user 65479",
        ),
        (
            &["--mount"],
            &hidden,
            "fail  libibverbs: no driver for SoftRoCE in `/etc/libibverbs.d`",
        ),
    ] {
        let mut command = Command::new("unshare");
        command.args(flags).args(["sh", "-c", script]);
        let out = Outcome::from(command.current_dir(&place.path).output().unwrap());
        if out.stderr.contains("unshare failed") || !Path::new("/etc/libibverbs.d").exists() {
            eprintln!("skipped: {test}: {flags:?}: {}", out.stderr.trim());
            continue;
        }
        assert_eq!(out.exit, Some(3), "{flags:?}: {out:?}");
        assert!(out.stdout.contains(finding), "{flags:?}: {out:?}");
        assert!(
            out.stdout.contains("labs cannot run on this machine"),
            "{out:?}"
        );
    }
}

/// Runs each script of `vagrant/` in an environment that has only the tools that it needs to find its own folder.
#[test]
fn scripts_name_the_tools_that_are_missing() {
    let programs = tempfile::tempdir().unwrap();
    for program in ["env", "bash", "dirname", "realpath"] {
        let found = ["/usr/bin", "/bin"]
            .map(|folder| Path::new(folder).join(program))
            .into_iter()
            .find(|path| path.exists())
            .unwrap();
        std::os::unix::fs::symlink(found, programs.path().join(program)).unwrap();
    }
    let package = programs.path().join("lcmp-lab.deb");
    fs::write(&package, "").unwrap();
    for (script, tool, remedy) in [
        (
            "package.sh",
            "cargo-deb",
            "cargo install --locked cargo-deb",
        ),
        (
            "try-package.sh",
            "mmdebstrap",
            "sudo apt-get install mmdebstrap",
        ),
    ] {
        let mut command = Command::new(common::root().join("vagrant").join(script));
        command
            .arg(&package)
            .env_clear()
            .env("PATH", programs.path());
        let out = Outcome::from(command.output().unwrap());
        let expected = format!("error: {tool} is not installed (hint: {remedy})\n");
        assert_eq!((out.exit, out.stderr), (Some(3), expected), "{script}");
    }
}
