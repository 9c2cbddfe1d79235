//! A lab that must survive attacks on other labs and attempts by another user of this machine to damage it.

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::Path,
    process::{Command, Stdio},
};

use super::{
    alone,
    common::{NOBODY, Outcome, copy_program, skips_without_a_lab},
    lcmp_lab,
};

/// Lab that is kept in a guest while other labs are attacked.
pub struct Neighbour {
    results: tempfile::TempDir,
}

impl Neighbour {
    const LAB: &'static str = "campaign-kept";

    pub fn up() -> Self {
        let results = tempfile::tempdir().unwrap();
        let neighbour = Self { results };
        let words = ["up", "--guest", "--keep", "--policies", "ecmp"];
        let up = neighbour.run(&[&words[..], &["scenarios/smoke.yaml"]].concat());
        assert_eq!(up.exit, Some(0), "{up:?}");
        neighbour
    }

    fn run(&self, words: &[&str]) -> Outcome {
        lcmp_lab(Self::LAB, self.results.path(), words)
            .output()
            .unwrap()
            .into()
    }

    pub fn assert_unharmed(&self) {
        let out = self.run(&["exec", "dc1", "--", "echo", "here"]);
        assert_eq!(
            (out.exit, out.stdout.as_str()),
            (Some(0), "here\n"),
            "{out:?}"
        );
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.run(&["down", Self::LAB]);
    }
}

/// Shell commands that an unprivileged user tries, and that must fail. `$lab` is the lab's name, `$run` is its
/// directory, and the program is in the working directory.
const TRIES: &[&str] = &[
    "./lcmp-lab down $lab",
    "./lcmp-lab down --all",
    "./lcmp-lab down --forget $lab",
    "./lcmp-lab exec --lab $lab dc1 -- true",
    "./lcmp-lab tune --lab $lab dc1 alpha=2",
    "./lcmp-lab up smoke",
    "ls $run",
    "cat $run/journal",
    "echo '\"kept\"' >> $run/journal",
    "rm -rf $run/journal",
    "mv $run $run-mine",
    "mkdir /run/lcmp-lab/another",
    "ln -s /etc/passwd /run/lcmp-lab/another",
    // A user who can open a file can also lock it, which would block all others.
    "for file in /run/lcmp-lab/.lock $run/journal; do flock -n $file true && exit 0; done; exit 1",
    "for owner in $(pgrep -f lcmp-lab -u root) $(pgrep -f qemu-system); do kill $owner && exit 0; done; exit 1",
];

#[test]
fn another_user_of_the_machine_changes_nothing() {
    if skips_without_a_lab("another_user_of_the_machine_changes_nothing") {
        return;
    }
    let _alone = alone();
    let neighbour = Neighbour::up();
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    copy_program(folder.path());

    let before = state();
    for text in TRIES {
        let out = as_nobody(folder.path(), text);
        assert_ne!(out.exit, Some(0), "{text}: {out:?}");
        assert_eq!(state(), before, "{text}");
    }
    let out = as_nobody(folder.path(), "./lcmp-lab status");
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert!(out.stdout.contains("private"), "{out:?}");
    neighbour.assert_unharmed();
}

fn as_nobody(folder: &Path, text: &str) -> Outcome {
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", text])
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("lab", Neighbour::LAB)
        .env("run", Path::new("/run/lcmp-lab").join(Neighbour::LAB))
        .current_dir(folder)
        .stdin(Stdio::null())
        .uid(NOBODY)
        .gid(NOBODY);
    shell.output().unwrap().into()
}

/// Returns names, owners, modes and sizes of the files in the lab's directory under `/run`, including files that
/// another user has added.
fn state() -> Vec<String> {
    fn add(path: &Path, all: &mut Vec<String>) {
        let file = fs::symlink_metadata(path).unwrap();
        let uid = file.uid();
        let mode = file.mode();
        let size = file.size();
        all.push(format!("{} {uid} {mode:o} {size}", path.display()));
        if file.is_dir() {
            let mut entries: Vec<_> = fs::read_dir(path).unwrap().map(Result::unwrap).collect();
            entries.sort_by_key(fs::DirEntry::file_name);
            entries.iter().for_each(|entry| add(&entry.path(), all));
        }
    }
    let labs = Path::new("/run/lcmp-lab");
    let mut all = Vec::new();
    add(&labs.join(Neighbour::LAB), &mut all);
    let root = fs::symlink_metadata(labs).unwrap();
    all.push(format!("{} {:o}", root.uid(), root.mode()));
    all.push(format!(
        "{:?}",
        fs::symlink_metadata(labs.join("another")).ok()
    ));
    all
}
