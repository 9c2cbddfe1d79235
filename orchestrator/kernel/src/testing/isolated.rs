//! A machine of one's own for tests that change it.

use std::{
    env, io,
    process::{Command, ExitStatus},
    thread,
};

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    unistd::Uid,
};

/// Runs a test's body as if this machine were otherwise empty: in a process of its own, whose root
/// namespace is a fresh network namespace and whose `/run` is empty. What other labs and other tests
/// do meanwhile is not seen.
pub(crate) fn isolated(body: impl FnOnce()) {
    let test = running();
    if env::var(MARK).is_ok_and(|inside| inside == test) {
        return body();
    }
    if !Uid::effective().is_root() {
        return skipped("it needs root");
    }
    let status = run_again(&test, &[]).expect("the test can be started again");
    assert!(status.success(), "{test}: {status}");
}

/// Says that the running test is skipped, in the words that are counted and by the name it can be run
/// again by.
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are counted by what they print"
)]
pub(crate) fn skipped(reason: &str) {
    println!("skipped: {}: {reason}", running());
}

/// The running test's name, which its thread has.
fn running() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

fn run_again(test: &str, more: &[(&str, &str)]) -> io::Result<ExitStatus> {
    let mut command = Command::new(env::current_exe()?);
    command
        .args(["--exact", test, "--nocapture"])
        .env(MARK, test);
    command.envs(more.iter().copied());
    // The child is where the thread is that makes it.
    let work = || {
        unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)?;
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_PRIVATE | MsFlags::MS_REC, none)?;
        mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), none)?;
        mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none)?;
        command.status()
    };
    let status = thread::scope(|scope| scope.spawn(work).join());
    status.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

const MARK: &str = "LAB_KERNEL_ISOLATED";
