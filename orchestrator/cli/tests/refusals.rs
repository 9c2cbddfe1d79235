//! Runs that cannot get to their end are refused before anything is made: no run directory, no lab.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::{
    mount::{MsFlags, mount, umount},
    unistd::geteuid,
};

fn scenario() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/smoke.yaml")
}

/// What `up --guest` says when it is refused with exit code 3.
#[track_caller]
fn refusal(lab: &str, results: &Path, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lcmp-lab"));
    command
        .args(["--lab", lab, "up", "--guest"])
        .arg(scenario())
        .arg("--results")
        .arg(results)
        .envs(environment.iter().copied())
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(output.stdout.is_empty(), "{:?}", output.stdout);
    assert!(!Path::new("/run/lcmp-lab").join(lab).exists(), "{said}");
    said
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

/// Whether a test can be more than refused for want of root.
fn as_root(test: &str) -> bool {
    let root = geteuid().is_root();
    if !root {
        eprintln!("skipped: {test}: it needs root");
    }
    root
}

#[test]
fn a_guest_without_its_machine_or_kernel_is_refused_with_what_mends_it() {
    if !as_root("a_guest_without_its_machine_or_kernel_is_refused_with_what_mends_it") {
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let nothing = empty.path().to_str().unwrap();
    let said = refusal("refused-guest", results.path(), &[("PATH", nothing)]);
    assert!(
        said.contains("`qemu-system-x86_64` is not installed (hint: sudo apt-get install qemu-"),
        "{said}"
    );
    let said = refusal(
        "refused-guest",
        results.path(),
        &[("LCMP_LAB_CACHE", nothing)],
    );
    assert!(
        said.contains("no kernel package is unpacked in")
            && said.contains("(hint: sudo lcmp-lab provision --guest)"),
        "{said}"
    );
    assert!(is_empty(results.path()));
}

#[test]
fn results_that_cannot_be_written_or_have_no_room_are_refused() {
    if !as_root("results_that_cannot_be_written_or_have_no_room_are_refused") {
        return;
    }
    let said = refusal("refused-results", Path::new("/proc/results"), &[]);
    assert!(said.starts_with("error: results: "), "{said}");

    let file = tempfile::NamedTempFile::new().unwrap();
    let said = refusal("refused-results", file.path(), &[]);
    assert!(said.contains("is not a directory"), "{said}");

    let directory = tempfile::tempdir().unwrap();
    let (kind, none) = (Some("tmpfs"), MsFlags::empty());
    mount(kind, directory.path(), kind, none, Some("size=1m")).unwrap();
    let said = refusal("refused-results", directory.path(), &[]);
    let left = is_empty(directory.path());
    umount(directory.path()).unwrap();
    assert!(
        said.contains("free for") && said.contains("(hint: "),
        "{said}"
    );
    assert!(left);
}
