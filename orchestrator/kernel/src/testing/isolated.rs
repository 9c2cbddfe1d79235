//! Isolated machine for tests that change machine state.

use std::{
    env, fs, io,
    process::{Command, ExitStatus},
    thread,
};

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    unistd::Uid,
};

use crate::exec::netns;

/// Runs a test's body on an otherwise empty machine: in a process of its own with a new root namespace and an empty
/// `/run`. The body sees no other labs or tests.
pub(crate) fn isolated(body: impl FnOnce()) {
    let test = running();
    if env::var(MARK).is_ok_and(|inside| inside == test) {
        body();
        let proof = env::var_os(PROOF).expect("the process that started this one sets the path");
        return fs::write(proof, &test).expect("the file can be written");
    }
    if !Uid::effective().is_root() {
        return skipped("it needs root");
    }
    let (status, ended) = run_again(&test).expect("the test can be started again");
    assert!(status.success(), "{test}: {status}");
    assert_eq!(ended, test, "the isolated process did not run the test");
}

/// Prints that the running test is skipped. The launcher of the tests counts lines of this form, and reruns the tests
/// that they name.
#[expect(
    clippy::print_stdout,
    reason = "the launcher counts skipped tests by this line"
)]
pub(crate) fn skipped(reason: &str) {
    println!("skipped: {}: {reason}", running());
}

/// Returns the name of the running test, which is the name of its thread.
fn running() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// Runs a test in a separate process. Returns the exit status, and the name of the test whose body completed. The name
/// is empty if the test harness ran no test, which the harness itself reports as success.
fn run_again(test: &str) -> io::Result<(ExitStatus, String)> {
    let proof = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(env::current_exe()?);
    command
        .args(["--exact", test, "--nocapture"])
        .env(MARK, test)
        .env(PROOF, proof.path());
    // A child process inherits the namespaces of the thread that starts it.
    let status = netns::on_thread(|| {
        unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)?;
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_PRIVATE | MsFlags::MS_REC, none)?;
        mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), none)?;
        mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none)?;
        command.status()
    })?;
    Ok((status, fs::read_to_string(proof.path())?))
}

/// Environment variable with the name of the test that the separate process must run.
const MARK: &str = "LAB_KERNEL_ISOLATED";
/// Environment variable with the path of the file to which the separate process writes the name of the test whose body
/// completed.
const PROOF: &str = "LAB_KERNEL_ISOLATED_PROOF";

#[test]
fn a_process_that_ran_no_test_has_no_proof_of_it() {
    if !Uid::effective().is_root() {
        return skipped("it needs root");
    }
    let (status, ended) = run_again("no::such::test").unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(ended, "");
}
