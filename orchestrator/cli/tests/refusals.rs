//! Tests that runs are refused before a run directory or lab is created.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use lab_guest::cache::Kernel;
use nix::{
    mount::{MsFlags, mount, umount},
    unistd::geteuid,
};

fn scenario() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/smoke.yaml")
}

/// Runs `up --guest`, which must be refused with exit code 3, and returns its message.
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
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(output.stdout.is_empty(), "{:?}", output.stdout);
    assert!(!Path::new("/run/lcmp-lab").join(lab).exists(), "{message}");
    message
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

/// Returns true if the test does not run as root, and prints that `test` is skipped.
fn skips_without_root(test: &str) -> bool {
    let is_root = geteuid().is_root();
    if !is_root {
        eprintln!("skipped: {test}: it needs root");
    }
    !is_root
}

#[test]
fn a_guest_without_emulator_or_kernel_is_refused_with_the_remedy() {
    if skips_without_root("a_guest_without_emulator_or_kernel_is_refused_with_the_remedy") {
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let nothing = empty.path().to_str().unwrap();
    let message = refusal("refused-guest", results.path(), &[("PATH", nothing)]);
    assert!(
        message.contains("`qemu-system-x86_64` is not installed (hint: sudo apt-get install qemu-"),
        "{message}"
    );
    assert!(is_empty(results.path()));
    if let Ok(kernel) = Kernel::find(empty.path()) {
        let release = kernel.release;
        eprintln!(
            "skipped: a_guest_without_emulator_or_kernel_is_refused_with_the_remedy: {release} is installed"
        );
        return;
    }
    let message = refusal(
        "refused-guest",
        results.path(),
        &[("LCMP_LAB_CACHE", nothing)],
    );
    assert!(
        message.contains("no kernel package is unpacked in")
            && message.contains("(hint: sudo lcmp-lab provision --guest)"),
        "{message}"
    );
    assert!(is_empty(results.path()));
}

#[test]
fn results_that_cannot_be_written_or_have_no_room_are_refused() {
    if skips_without_root("results_that_cannot_be_written_or_have_no_room_are_refused") {
        return;
    }
    let message = refusal("refused-results", Path::new("/proc/results"), &[]);
    assert!(message.starts_with("error: results: "), "{message}");

    let file = tempfile::NamedTempFile::new().unwrap();
    let message = refusal("refused-results", file.path(), &[]);
    assert!(message.contains("is not a directory"), "{message}");

    let directory = tempfile::tempdir().unwrap();
    let kind = Some("tmpfs");
    let none = MsFlags::empty();
    mount(kind, directory.path(), kind, none, Some("size=1m")).unwrap();
    let message = refusal("refused-results", directory.path(), &[]);
    let left = is_empty(directory.path());
    umount(directory.path()).unwrap();
    assert!(
        message.contains("free for") && message.contains("(hint: "),
        "{message}"
    );
    assert!(left);
}
